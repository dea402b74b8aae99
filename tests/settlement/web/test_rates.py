"""Rate cards on pages, without scripts: made, changed, tried out, chosen."""

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House, User
from tests.sales.api.evening import with_lots
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


def card_named(manager: User, name: str) -> str:
    """Return the gid of the rate card with this name."""
    [gid] = [one["card"] for one in manager.json("GET", "/rate-cards")["rateCards"] if one["cardName"] == name]
    return str(gid)


def test_a_manager_makes_tries_and_chooses_a_card(house: House) -> None:
    """A name makes a card; its terms are typed; a price shows each line; the card is chosen for a sale."""
    manager = house.staff(Role.MANAGER)
    visitor, gid = Visitor(house, manager), with_lots(manager, 1)
    page = visitor.sent(visitor.page("/admin/rates"), "/admin/rates", name="Evening <b>")
    path = f"/admin/rates/{card_named(manager, 'Evening <b>')}"
    assert "Evening <b>" in page.main
    terms = {
        "premium": "0: 25\n1,000: 20 %", "premium-cumulative": "on", "commission": "0: 15", "commission-minimum": "5",
        "surcharge-online": "3", "country": "DE", "taxScheme": "standard", "goods": "art", "resaleRight": "buyer",
    }  # fmt: skip
    page = visitor.sent(page, f"{path}/terms", **terms)
    assert "version 2" in page.main
    assert "0.00: 25 % 1000.00: 20 %" == page.one("textarea", id="premium").text
    page = visitor.page(f"{path}?price=3%2C000&channel=floor")
    assert all(part in page.main for part in ("€650.00", "€3,905.50", "Total"))
    page = visitor.page(f"{path}?price=much")
    assert "true" == page.one("input", id="price")["aria-invalid"]
    card = card_named(manager, "Evening <b>")
    page = visitor.sent(visitor.page("/admin/rates"), "/admin/rates/choice", card=card, sale=gid)
    assert "Done." in page.main
    assert {"card": card} == manager.json("GET", f"/sales/{gid}/rates")
    page = visitor.sent(page, "/admin/rates/choice", card=card, sale=gid, lot="99")
    assert "no lot with this number" in page.main
    page = visitor.sent(page, "/admin/rates/choice", card="", sale=gid, consignor="!")
    assert "no consignor with this code" in page.main


def test_what_was_typed_stays_beside_its_fault(house: House) -> None:
    """Terms that cannot be read are marked, and the form keeps them; a taken name is refused in words."""
    manager = house.staff(Role.MANAGER)
    visitor = Visitor(house, manager)
    page = visitor.sent(visitor.page("/admin/rates"), "/admin/rates", name="Twice")
    path = f"/admin/rates/{card_named(manager, 'Twice')}"
    page = visitor.sent(page, f"{path}/terms", premium="a quarter", insurance="101", entryFee="much", country="DE")
    assert "a quarter" == page.one("textarea", id="premium").text
    assert ["true"] * 3 == [
        page.one(tag, id=name)["aria-invalid"]
        for tag, name in (("textarea", "premium"), ("input", "insurance"), ("input", "entryFee"))
    ]
    page = visitor.sent(page, f"{path}/terms", **{"surcharge-online": "101", "surcharge-floor": "much"}, country="DE")
    for name, typed in (("surcharge-online", "101"), ("surcharge-floor", "much")):
        field = page.one("input", id=name)
        assert ["true", typed, f"{name}-help"] == [field[one] for one in ("aria-invalid", "value", "aria-describedby")]
        assert page.one("small", id=f"{name}-help").text
    page = visitor.sent(visitor.page("/admin/rates"), "/admin/rates", name="Twice")
    assert "Another rate card has this name." in page.main
    assert 404 == visitor.http.get("/admin/rates/nowhere").status_code


def test_a_card_can_be_read_in_german(house: House) -> None:
    """The page says lines, countries and goods in the language of its reader, and reads its amounts."""
    manager = house.staff(Role.MANAGER)
    visitor = Visitor(house, manager)
    visitor.http.headers["Accept-Language"] = "de"
    page = visitor.sent(visitor.page("/admin/rates"), "/admin/rates", name="Abend")
    path = f"/admin/rates/{card_named(manager, 'Abend')}"
    page = visitor.sent(page, f"{path}/terms", premium="0: 25,5", country="DE", taxScheme="margin")
    assert "0,00: 25,5 %" == page.one("textarea", id="premium").text
    shown = visitor.page(f"{path}?price=1.000").main
    assert "Zuschlag" in shown and "Aufgeld" in shown and "Gebrauchtgegenstände/Sonderregelung" in shown
