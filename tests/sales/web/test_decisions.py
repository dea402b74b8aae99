"""A seller decides on a bid below the reserve, on a page without scripts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House, User
from tests.sales.live_sale import LiveSale
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")
PATH = "/mine/decisions"


class ConditionalSale:
    """A live sale whose first lot, of a consignor with an account, was sold conditionally for 10."""

    def __init__(self, house: House) -> None:
        self.sale = LiveSale(house, 2, increment="1")
        self.kay = house.newcomer()
        code = self.kay.name.removeprefix("newcomer.")
        self.sale.staff.json("POST", "/consignors", json={"code": code, "name": "Kay", "username": self.kay.name})
        self.sale.staff.json("PATCH", f"/sales/{self.sale.gid}/lots/1", json={"consignor": code})
        self.gid = self.sale.lots[0]
        self.sell("10")

    def sell(self, amount: str) -> None:
        """Sell the lot conditionally."""
        self.sale.act("call", label="1")
        self.bidder = self.sale.bidder()
        assert self.bidder.bid(self.gid, amount=amount).is_success
        self.sale.act("sell_conditionally")

    def lot(self) -> Any:
        """The lot as anybody sees it."""
        return self.kay.json("GET", f"/auctions/{self.gid}")

    @property
    def action(self) -> str:
        """Where the form is sent."""
        return f"{PATH}/{self.gid}"


@pytest.mark.parametrize(("do", "outcome"), [("accept", "sold"), ("decline", "reserve_not_met")])
def test_a_consignor_decides(house: House, do: str, outcome: str) -> None:
    """The page names the lot and the price; one button decides, and a form that is sent twice changes nothing."""
    asked = ConditionalSale(house)
    visitor = Visitor(house, asked.kay)
    page = visitor.page(PATH)
    assert "The highest bid is €10.00." in page.main
    for _ in range(2):
        answer = visitor.send(page, asked.action, do)
        assert (303, f"/lots/{asked.gid}") == (answer.status_code, answer.headers["location"])
    assert outcome == asked.lot()["outcome"]
    assert "No lot waits for your decision." in visitor.page(PATH).main
    events = [
        json.loads(line)["event"]["type"] for line in asked.kay.get(f"/auctions/{asked.gid}/ledger").text.splitlines()
    ]
    assert ["auction.closed", "auction.decided"] == events[-2:]


def test_a_decision_is_on_the_price_that_was_seen(house: House) -> None:
    """If the lot was reopened and sold conditionally for more, the page says so and asks about the new price."""
    asked = ConditionalSale(house)
    visitor = Visitor(house, asked.kay)
    page = visitor.page(PATH)
    asked.sale.staff.json(
        "POST", f"/sales/{asked.sale.gid}/block", json={"act": "reopen", "label": "1", "reason": "A late bid."}
    )
    asked.sell("11")
    shown = visitor.sent(page, asked.action, "accept")
    assert (409, "conditional") == (shown.status, asked.lot()["outcome"])
    assert "Nothing was done; look again." in shown.one("p", role="alert").text
    assert "The highest bid is €11.00." in shown.main
    assert 303 == visitor.send(shown, asked.action, "accept").status_code
    assert ("sold", "11.000") == tuple(asked.lot()[name] for name in ("outcome", "currentBid"))


def test_nobody_decides_for_another(house: House) -> None:
    """Bidders, others and staff without the right get the answer of an unknown lot, and no lot is listed for them."""
    asked = ConditionalSale(house)
    page = Visitor(house, asked.kay).page(PATH)
    seen = page.all("input", name="seen")[0]["value"]
    for user in (asked.bidder, house.newcomer(), house.staff(Role.CLERK), asked.sale.staff):
        visitor = Visitor(house, user)
        assert "No lot waits for your decision." in visitor.page(PATH).main
        answer = visitor.http.post(
            asked.action, data={"do": "accept", "seen": seen}, headers={"X-Requested-With": "tests"}
        )
        assert 404 == answer.status_code
    for path, data in ((f"{PATH}/nowhere", {"do": "accept"}), (asked.action, {"do": "maybe"})):
        answer = Visitor(house, asked.kay).http.post(path, data=data, headers={"X-Requested-With": "tests"})
        assert answer.status_code in (400, 404)
    assert "conditional" == asked.lot()["outcome"]


def test_who_is_logged_out_comes_back(house: House) -> None:
    """The page leads to the form to log in, and from there back."""
    visitor = Visitor(house)
    assert f"/login?next={PATH}" == visitor.http.get(PATH).headers["location"]
    answer = visitor.http.post(f"{PATH}/x", data={"do": "accept"}, headers={"X-Requested-With": "tests"})
    assert f"/login?next={PATH}" == answer.headers["location"]


def test_a_lot_that_is_hidden_waits_for_the_house(house: House) -> None:
    """While staff hide the lot it is not listed, and a form from before changes nothing and says why."""
    asked = ConditionalSale(house)
    visitor = Visitor(house, asked.kay)
    page = visitor.page(PATH)
    asked.sale.staff.json("PUT", f"/auctions/{asked.gid}/hiding", json={"reason": "Is it a fake?"})
    assert "No lot waits for your decision." in visitor.page(PATH).main
    shown = visitor.sent(page, asked.action, "accept")
    assert (410, "conditional") == (shown.status, asked.sale.staff.json("GET", f"/auctions/{asked.gid}")["outcome"])


def test_without_a_consignor_the_author_decides(house: House) -> None:
    """A lot that nobody with an account has brought is its author's, whose page of the lot leads to the decision."""
    sale = LiveSale(house, 1)
    bidder: User = sale.bidder()
    sale.act("call")
    bidder.bid(sale.lots[0], amount="10")
    sale.act("sell_conditionally")
    visitor = Visitor(house, sale.staff)
    assert f"{PATH}#{sale.lots[0]}" in visitor.page(f"/lots/{sale.lots[0]}").links
    assert 303 == visitor.send(visitor.page(PATH), f"{PATH}/{sale.lots[0]}", "decline").status_code
