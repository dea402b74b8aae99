"""The page of what can be printed of a sale, and its files."""

import pytest

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House, User
from tests.sales.api.evening import with_lots
from tests.sales.paper import reader, text_of
from tests.site.visitor import Visitor


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def test_each_sees_what_their_right_lets_them_print(house: House, staff: User) -> None:
    """A cataloguer prints labels and no run sheet, a clerk the other way round, a member nothing."""
    gid = with_lots(staff, 1)
    path = f"/admin/sales/{gid}/paper"
    cataloguer = Visitor(house, house.staff(Role.CATALOGUER)).page(path).main
    clerk = Visitor(house, house.staff(Role.CLERK)).page(path).main
    assert (True, False) == ("Print the labels" in cataloguer, "Print the run sheet" in cataloguer)
    assert (False, True) == ("Print the labels" in clerk, "Print the run sheet" in clerk)
    assert 403 == Visitor(house, house.user()).http.get(path).status_code
    assert 303 == Visitor(house).http.get(path).status_code


def test_labels_are_noted_as_printed_if_nothing_has_changed_since(house: House, staff: User) -> None:
    """The button notes the labels of the page; if a lot has changed since it was shown, it notes nothing and says so."""
    gid = with_lots(staff, 2)
    path = f"/admin/sales/{gid}/paper"
    editor = Visitor(house, staff)
    page = editor.page(path)
    assert "2 labels show something else" in page.main
    staff.json("PATCH", f"/sales/{gid}/lots/1", json={"name": "Changed"})
    answer = editor.send(page, f"{path}/printed")
    assert "Lots have changed in the meantime" in editor.page(answer.headers["location"].split("#")[0]).main
    answer = editor.send(editor.page(path), f"{path}/printed")
    assert "noted as printed" in editor.page(answer.headers["location"].split("#")[0]).main
    assert "0 labels" in editor.page(path).main


def test_files_are_in_the_language_of_the_reader(house: House, staff: User) -> None:
    """Staff get them by their session, everybody the catalogue; bad fields are said on the page, empty ones are none."""
    gid = with_lots(staff, 1)
    editor, path = Visitor(house, staff), f"/admin/sales/{gid}/paper"
    german = editor.http.get(f"{path}/run-sheet.pdf?zone=Europe/Berlin&lots=", headers={"Accept-Language": "de"})
    assert "Mindestpreis" in text_of(reader(german))
    assert 404 == Visitor(house).http.get(f"/catalogues/{gid}/paper/catalogue.pdf").status_code
    staff.json("POST", f"/sales/{gid}/publish")
    assert f"/catalogues/{gid}/paper/catalogue.pdf" in Visitor(house).page(f"/catalogues/{gid}").links
    assert "Lot 1" in text_of(reader(Visitor(house).http.get(f"/catalogues/{gid}/paper/catalogue.pdf")))
    assert 303 == Visitor(house).http.get(f"/catalogues/{gid}/paper/run-sheet.pdf").status_code
    wrong = editor.http.get(f"{path}/labels.pdf?lots=3-1")
    assert (400, True) == (wrong.status_code, "3" in wrong.text)
    assert 404 == editor.http.get(f"{path}/nothing.pdf").status_code


def test_a_card_of_another_paddle_is_said(house: House, staff: User) -> None:
    """The code of a bid card leads to the reader's registration, which says if the card is somebody else's.

    From there it is one link to the live sale, until that is over.
    """
    gid = with_lots(staff, 1, registration="open", names="paddles", kind="live")
    staff.json("POST", f"/sales/{gid}/publish")
    bidder = house.user("card.bidder")
    paddle = bidder.json("PUT", f"/sales/{gid}/registration")["paddle"]
    visitor = Visitor(house, bidder)
    assert "not yours" not in visitor.page(f"/mine/sales/{gid}?paddle={paddle}").main
    assert f"This card is that of paddle {paddle + 1}" in visitor.page(f"/mine/sales/{gid}?paddle={paddle + 1}").main
    away = Visitor(house).http.get(f"/mine/sales/{gid}?paddle={paddle}")
    assert "paddle" in away.headers["location"]
    link = f'href="/sales/{gid}/live"'
    assert link in visitor.http.get(f"/mine/sales/{gid}?paddle={paddle}").text
    staff.json("POST", f"/sales/{gid}/cancel", json={"reason": "The hall is closed."})
    assert link not in visitor.http.get(f"/mine/sales/{gid}").text
