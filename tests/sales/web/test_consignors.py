"""The page of consignors in the back office."""

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House
from tests.sales.api.evening import with_lots
from tests.site.visitor import Visitor

PATH = "/admin/consignors"


def test_a_consignor_is_added_and_changed(sqlite_house: House) -> None:
    """A code in small letters is taken in capitals; a code that is there and an unknown account are refused in words."""
    cataloguer, seller = sqlite_house.staff(Role.CATALOGUER), sqlite_house.newcomer()
    visitor = Visitor(sqlite_house, cataloguer)
    code = f"K{seller.name}"[:20].upper().replace("_", "-")
    added = visitor.send(visitor.page(PATH), PATH, code=code.lower(), name="Ada", contact="0171 1")
    assert 303 == added.status_code
    assert f"Saved: {code}." in visitor.page(added.headers["location"]).main
    again = visitor.send(visitor.page(PATH), PATH, code=code, name="Ben")
    assert (409, True) == (again.status_code, "Ben" in again.text)
    no_account = visitor.send(visitor.page(PATH), f"{PATH}/{code}", name="Ada", username="nobody.of.this.name")
    assert 404 == no_account.status_code
    changed = visitor.send(visitor.page(PATH), f"{PATH}/{code}", name="Ada L.", username=seller.name)
    assert 303 == changed.status_code
    [now] = [one for one in cataloguer.json("GET", "/consignors")["consignors"] if one["code"] == code]
    assert ("Ada L.", "0171 1", seller.name) == (now["name"], now["contact"], now["username"])
    token = next(one["value"] for one in visitor.page(PATH).elements if one.attributes.get("name") == "csrfToken")
    assert 404 == visitor.http.post(f"{PATH}/nobody", data={"csrfToken": token, "name": "Ada"}).status_code
    assert 400 == visitor.send(visitor.page(PATH), PATH, code="a b", name="").status_code


def test_others_do_not_see_consignors(sqlite_house: House) -> None:
    """It takes the right to catalogue, which clerks have not."""
    assert 403 == Visitor(sqlite_house, sqlite_house.staff(Role.CLERK)).http.get(PATH).status_code


def test_an_import_leads_to_the_page(sqlite_house: House) -> None:
    """A code that the house does not know is named in the reader's language, with a link to where it is added."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 1)
    visitor = Visitor(sqlite_house, staff, **{"Accept-Language": "de"})
    page = visitor.page(f"/admin/sales/{gid}/import")
    sheet = b"Los;Titel;Startpreis;Einlieferer\n2;Uhr;10;NOBODY\n3;Vase;10;\n"
    token = next(one["value"] for one in page.elements if one.attributes.get("name") == "csrfToken")
    files = {"catalogue": ("lots.csv", sheet)}
    answer = visitor.http.post(f"/admin/sales/{gid}/import?do=check", data={"csrfToken": token}, files=files)
    assert "Einen Einlieferer mit diesem Kürzel gibt es hier nicht." in answer.text
    assert "Vase" in answer.text
    assert f'href="{PATH}"' in answer.text
