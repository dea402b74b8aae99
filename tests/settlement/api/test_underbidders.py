"""Offers of a whole sale to its underbidders, over HTTP and on pages: seen first, done once, with what is left out and why."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.bidding.api.answers import faults, refusal
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling
from tests.site.visitor import Visitor

SOON = timedelta(days=7)


class PassedLots(Settling):
    """A live sale that has ended. Lots 1 to 3 were passed below their reserves, 4 without a bid, and 5 is sold."""

    def __init__(self, house: House) -> None:
        super().__init__(house, 5)
        self.ada, self.bob = self.bidder(), self.bidder()
        for label, reserve, estimate in (("1", "15", "18"), ("2", "12", "11"), ("3", "11", None)):
            terms = {"reservePrice": reserve, "estimateFrom": estimate}
            self.manager.json("PATCH", f"/sales/{self.gid}/lots/{label}", json=terms)
        for paddle in (self.ada, self.bob, self.ada):
            self.sale.act("call")
            self.sale.act("bid", amount="10", paddle=paddle)
            self.sale.act("pass")
        self.sale.act("call")
        self.sale.act("pass")
        self.sell(self.bob)
        self.sale.act("end")

    def preview(self, otherwise: str = "reserve") -> Any:
        """Return what would be offered."""
        path = f"/sales/{self.gid}/underbidder-offers/preview"
        return self.manager.json("POST", path, json={"otherwise": otherwise})

    def offer(self, tag: str, otherwise: str = "reserve", key: str = "", until: timedelta = SOON) -> Any:
        """Offer what was seen, and return the answer."""
        ends = (datetime.now().astimezone() + until).isoformat()
        body = {"otherwise": otherwise, "until": self.ends if key else ends, "planTag": tag}
        headers = {"Idempotency-Key": key} if key else {}
        return self.manager.post(f"/sales/{self.gid}/underbidder-offers", json=body, headers=headers)

    ends = (datetime.now().astimezone() + SOON).isoformat()
    """One instant for requests that are repeated."""

    def offers(self) -> list[tuple[str, int, str]]:
        """Return the offers of the sale: lot, paddle and price."""
        found = self.manager.json("GET", f"/sales/{self.gid}/offers")["offers"]
        return sorted((one["label"], one["paddle"], one["offerPrice"]) for one in found)


@pytest.fixture
def passed(house: House) -> PassedLots:
    """A sale after its evening."""
    return PassedLots(house)


def planned(found: Any) -> list[tuple[str, int, str]]:
    """Return what a plan offers: lot, paddle and price."""
    return [(one["label"], one["paddle"], one["offerPrice"]) for one in found["plannedOffers"]]


def test_every_passed_lot_is_offered_to_its_underbidder_once(passed: PassedLots) -> None:
    """At the reserve, as their bids are below it; what is seen is done, however often it is sent."""
    seen = passed.preview()
    expected = [("1", passed.ada, "15.000"), ("2", passed.bob, "12.000"), ("3", passed.ada, "11.000")]
    assert expected == planned(seen)
    assert [("4", "no_bid")] == [(one["label"], one["why"]) for one in seen["leftOutLots"]]
    assert [] == passed.offers(), "nothing is done by looking"
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: passed.offer(seen["planTag"], key=f"all-{passed.gid}"), range(4))]
    assert {201} == {one.status_code for one in answers} and 1 == len({one.text for one in answers})
    assert (expected, seen) == (passed.offers(), answers[0].json())
    again = passed.preview()
    assert [] == planned(again)
    assert [*[("1", "lot_offered"), ("2", "lot_offered"), ("3", "lot_offered")], ("4", "no_bid")] == [
        (one["label"], one["why"]) for one in again["leftOutLots"]
    ]
    assert [] == passed.faults()


@pytest.mark.databases("sqlite")
def test_the_lower_estimate_is_the_price_if_staff_choose_it(passed: PassedLots) -> None:
    """For lots below their reserve alone, and never less than that."""
    expected = [("1", passed.ada, "18.000"), ("2", passed.bob, "12.000"), ("3", passed.ada, "11.000")]
    assert expected == planned(passed.preview("estimate"))


@pytest.mark.databases("sqlite")
def test_only_what_was_seen_is_offered(passed: PassedLots) -> None:
    """A lot that was offered or put away since then, or another choice of the price: all of it is refused, and nothing done."""
    seen = passed.preview()
    assert (409, "plan_changed") == refusal(passed.offer(seen["planTag"], "estimate"))
    passed.manager.json("POST", f"/sales/{passed.gid}/lots/2/return")
    assert (409, "plan_changed") == refusal(passed.offer(seen["planTag"]))
    assert [] == passed.offers()
    now = passed.preview()
    assert [("2", "lot_gone"), ("4", "no_bid")] == [(one["label"], one["why"]) for one in now["leftOutLots"]]
    assert 400 == passed.offer(now["planTag"], until=timedelta(days=61)).status_code
    assert 400 == passed.offer(now["planTag"], until=-SOON).status_code
    assert {"planTag": ["plan_tag"]} == faults(passed.offer("x"))
    assert [] == passed.offers()
    assert 201 == passed.offer(now["planTag"]).status_code
    assert ["1", "3"] == [label for label, _, _ in passed.offers()]
    path = f"/sales/{passed.gid}/underbidder-offers/preview"
    assert (403, "missing_right") == refusal(passed.cashier.post(path, json={"otherwise": "reserve"}))
    assert (404, "unknown_sale") == refusal(
        passed.manager.post("/sales/nosale/underbidder-offers/preview", json={"otherwise": "reserve"})
    )
    assert 400 == passed.manager.post(path, json={}).status_code


@pytest.mark.databases("sqlite")
def test_a_manager_offers_all_on_the_page(passed: PassedLots) -> None:
    """The button shows what would be offered and what is left out, and the second one does just that."""
    visitor = Visitor(passed.house, passed.manager)
    path = f"/admin/desk/{passed.gid}/offers"
    page = visitor.page(path)
    wrong = visitor.sent(page, f"{path}/underbidders", days="0")
    assert "true" == wrong.one("input", id="all-days")["aria-invalid"]
    shown = visitor.sent(page, f"{path}/underbidders", otherwise="estimate", days="5")
    assert "Offer these 3 lots for 5 days" in shown.main and "€18" in shown.main
    assert "Nobody has bid." in shown.main and [] == passed.offers()
    done = visitor.sent(shown, f"{path}/underbidders")
    assert "Done." in done.main and 3 == len(passed.offers())
    assert "changed since then" in visitor.sent(shown, f"{path}/underbidders", key="k" * 24).main
