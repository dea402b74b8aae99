"""The book in the back office, without scripts: a line and Enter."""

from __future__ import annotations

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House, User
from tests.sales.live_sale import LiveSale
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


@pytest.fixture
def clerk(house: House) -> User:
    """Somebody with the letters on the desk."""
    return house.staff(Role.CLERK)


def test_a_clerk_enters_changes_and_takes_back(house: House, clerk: User) -> None:
    """The page says what each line did; what cannot be is said beside the field, and the line stays to be mended."""
    live = LiveSale(house)
    clerk.json("POST", f"/sales/{live.gid}/participants", json={"personName": "Zoë <b>", "paddle": 12})
    path, visitor = f"/admin/sales/{live.gid}/book", Visitor(house, clerk)
    page = visitor.page(path)
    assert "Nobody has left a bid yet." in page.main and "autofocus" in page.one("input", id="line").attributes
    page = visitor.sent(page, path, line="12 1 1,500")
    assert "Entered: paddle 12 leads on lot 1 with up to €1,500.00." in page.main and "Zoë <b>" in page.main
    page = visitor.sent(page, path, line=" #012  01  900 ")
    assert "Entered: paddle 12 leads on lot 1 with up to €900.00." in page.main
    for text, fault in (
        ("12 1", "Enter paddle, lot and amount"),
        ("12 1 1.500,00", "1,500.00"),
        ("12 1 1.500", "1.500 may mean €1.50 or €1,500.00. Write 1.50 or 1500.00."),
        ("12 1A2 50", "up to six digits"),
        ("13 1 50", "Nobody has the paddle 13"),
        ("12 99 50", "There is no lot with this number"),
        ("0 1 50", "Enter paddle, lot and amount"),
        ("9" * 80, "Enter paddle, lot and amount"),
        ("12 2 -", "The book has no absentee bid of this paddle"),
    ):
        page = visitor.sent(page, path, line=text)
        assert "true" == page.one("input", id="line")["aria-invalid"] and text == page.one("input", id="line")["value"]
        assert fault in page.main, text
    page = visitor.sent(visitor.page(path), path, line="12 1 -")
    assert "Taken back: paddle 12 on lot 1." in page.main
    assert house.anyone.json("GET", f"/auctions/{live.lots[0]}")["currentBidder"] is None


def test_the_page_is_german_and_private(house: House, clerk: User) -> None:
    """Amounts and words are German; no cache keeps the page, strangers log in, and members are refused."""
    live = LiveSale(house)
    clerk.json("POST", f"/sales/{live.gid}/participants", json={"personName": "Zoë", "paddle": 12})
    path, visitor = f"/admin/sales/{live.gid}/book", Visitor(house, clerk)
    visitor.http.headers["Accept-Language"] = "de"
    page = visitor.sent(visitor.page(path), path, line="12 1 1.500,50")
    assert "1.500,50" in page.main and "Vorgebote" in page.main
    assert "no-store" in visitor.http.get(path).headers["cache-control"]
    assert f"/login?next={path}" == Visitor(house).http.get(path).headers["location"]
    assert 403 == Visitor(house, house.newcomer()).http.get(path).status_code
    assert 404 == visitor.http.get("/admin/sales/nowhere/book").status_code
