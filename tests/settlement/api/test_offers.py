"""After-sale offers over HTTP and on pages: an unsold lot is offered to one person, and sold only by their yes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from saleroom.settlement.storage.offer_tables import offers
from tests.bidding.api.answers import faults, refusal
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House
from tests.notices.api.test_choices import give_address
from tests.settlement.api.test_desk import Settling
from tests.site.visitor import Visitor


class Offering:
    """A live sale of two lots that was passed and has ended, and a bidder with a paddle."""

    def __init__(self, house: House) -> None:
        self.settling = Settling(house, 2)
        self.gid = self.settling.gid
        self.user = self.settling.sale.bidder()
        self.paddle = self.user.json("GET", f"/sales/{self.gid}/registration")["paddle"]
        lot = f"/sales/{self.gid}/lots/1"
        self.settling.manager.json("PATCH", lot, json={"reservePrice": "15"})
        self.settling.sale.act("call")
        self.settling.sale.act("bid", amount="10", paddle=self.paddle)
        self.settling.sale.act("pass")
        self.other, self.owner = self.settling.sale.bidder(), self.settling.sale.bidder()
        self.settling.sell(self.other.json("GET", f"/sales/{self.gid}/registration")["paddle"])
        self.settling.sale.act("end")

    def offer(self, label: str = "1", price: str = "20", **said: Any) -> Any:
        """Offer a lot, and return the answer."""
        until = (datetime.now().astimezone() + timedelta(days=7)).isoformat()
        body = {"paddle": self.paddle, "offerPrice": price, "until": until, **said}
        body = {name: value for name, value in body.items() if value is not None}
        return self.settling.manager.post(f"/sales/{self.gid}/lots/{label}/offers", json=body)

    def made(self, price: str = "20") -> str:
        """Offer the first lot, and return the gid of the offer."""
        return str(self.offer(price=price).json()["offers"][0]["offer"])

    def answer(self, gid: str, *, accepted: bool, **headers: str) -> Any:
        """Answer an offer as the bidder, and return the answer."""
        return self.user.post(f"/offers/{gid}/answer", json={"accepted": accepted}, headers=headers)

    def states(self) -> list[str]:
        """Return the states of all offers of the sale."""
        found = self.settling.manager.json("GET", f"/sales/{self.gid}/offers")
        return [one["offerState"] for one in found["offers"]]


@pytest.fixture
def offering(house: House) -> Offering:
    """A sale with a lot to offer."""
    return Offering(house)


@pytest.mark.databases("sqlite")
def test_an_offer_is_accepted_and_owed(offering: Offering) -> None:
    """It is as a hammer price: owed with premium and tax, on the invoice, and in the log; sent twice is once."""
    found = offering.settling.manager.json("GET", f"/sales/{offering.gid}/offers")
    assert [("1", "10.000", offering.paddle)] == [
        (one["label"], one["highestBid"], one["paddle"]) for one in found["lotsToOffer"]
    ]
    gid = offering.made()
    [own] = offering.user.json("GET", "/me/offers")["offers"]
    assert ("1", "20.000", "open") == (own["label"], own["offerPrice"], own["offerState"])
    assert "29.750" == own["offerTotal"]
    assert [None] == [
        one["offerTotal"] for one in offering.settling.manager.json("GET", f"/sales/{offering.gid}/offers")["offers"]
    ]
    assert "0.000" == offering.settling.desk(offering.paddle)["owed"]
    key = {"Idempotency-Key": "the-answer-to-the-offer"}
    done = offering.answer(gid, accepted=True, **key)
    assert done.json() == offering.answer(gid, accepted=True, **key).json()
    assert [None] == [one["offerTotal"] for one in done.json()["offers"]]
    assert ["accepted"] == offering.states()
    assert ("29.750", ["1"]) == (
        offering.settling.desk(offering.paddle)["owed"],
        [lot["label"] for lot in offering.settling.desk(offering.paddle)["settledLots"]],
    )
    order = {"documentKind": "invoice", "paddle": offering.paddle}
    invoice = offering.settling.cashier.json("POST", f"/sales/{offering.gid}/documents", json=order)
    assert "29.750" == invoice["total"]
    lot = offering.settling.manager.json("GET", f"/auctions/{own['lotGid']}")
    assert ("closed", "20.000") == (lot["status"], lot["currentBid"])
    assert (409, "offer_ended") == refusal(offering.answer(gid, accepted=False))
    assert (409, "lot_sold") == refusal(offering.offer())
    assert [] == offering.settling.faults()
    offering.settling.accounts()


@pytest.mark.databases("sqlite")
def test_an_offer_says_what_a_member_would_pay_in_all(offering: Offering) -> None:
    """The total of an offer is what is owed once it is accepted, also by other terms and for a member."""
    manager = offering.settling.manager
    [card] = [one for one in manager.json("GET", "/rate-cards")["rateCards"] if one["cardName"] == offering.gid]
    terms = {name: card[name] for name in ("premium", "commission", "country", "goods")}
    terms |= {"memberPremium": {"tiers": [{"above": "0", "percent": "7"}]}, "taxScheme": "margin"}
    terms |= {"surcharges": {"online": "3", "floor": "1"}}
    manager.json("PUT", f"/rate-cards/{card['card']}", json=terms)
    gid = offering.made("1234.50")
    [for_all] = offering.user.json("GET", "/me/offers")["offers"]
    manager.json("PUT", f"/members/{offering.user.name}", json={"isMember": True})
    [own] = offering.user.json("GET", "/me/offers")["offers"]
    assert ("1555.480", "1333.270") == (for_all["offerTotal"], own["offerTotal"])
    offering.answer(gid, accepted=True)
    assert own["offerTotal"] == offering.settling.desk(offering.paddle)["owed"]


def test_an_offer_ends(offering: Offering) -> None:
    """It is declined, withdrawn, or its time is over: then nobody buys by it, and the lot can be offered again."""
    gid = offering.made()
    assert (409, "lot_offered") == refusal(offering.offer(price="30"))
    assert offering.answer(gid, accepted=False).is_success
    gid = offering.made("25")
    assert offering.settling.manager.post(f"/offers/{gid}/withdrawal").is_success
    assert (409, "offer_ended") == refusal(offering.answer(gid, accepted=True))
    gid = offering.made("15")
    past = {"until": datetime.now().astimezone() - timedelta(seconds=1)}
    offering.settling.house.write(lambda tx: tx.execute(offers.update().where(offers.c.gid == gid).values(past)))
    assert (409, "offer_ended") == refusal(offering.answer(gid, accepted=True))
    assert ["expired", "withdrawn", "declined"] == offering.states()
    assert "0.000" == offering.settling.desk(offering.paddle)["owed"]
    assert offering.offer().is_success


@pytest.mark.databases("sqlite")
def test_what_cannot_be_offered_is_refused(offering: Offering) -> None:
    """A sold lot, an unknown paddle, too little, too long, a cashier, and somebody else's offer: nothing changes."""
    assert (409, "lot_sold") == refusal(offering.offer("2"))
    assert (409, "unknown_paddle") == refusal(offering.offer(paddle=9999))
    assert 409 == offering.offer(price="1").status_code
    late = (datetime.now().astimezone() + timedelta(days=61)).isoformat()
    assert {"until"} == faults(offering.offer(until=late)).keys()
    body = {"paddle": offering.paddle, "offerPrice": "20", "until": late}
    cashier = offering.settling.cashier.post(f"/sales/{offering.gid}/lots/1/offers", json=body)
    assert (403, "missing_right") == refusal(cashier)
    gid = offering.made()
    other = offering.settling.sale.house.newcomer()
    assert (404, "unknown_offer") == refusal(other.post(f"/offers/{gid}/answer", json={"accepted": True}))
    assert ["open"] == offering.states()


def test_an_offer_is_accepted_once(offering: Offering) -> None:
    """Eight at a time: the lot is sold once, and owed once."""
    gid = offering.made()
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: offering.answer(gid, accepted=True).status_code, range(8))]
    assert [200, *[409] * 7] == sorted(answers)
    assert "29.750" == offering.settling.desk(offering.paddle)["owed"]
    assert [] == offering.settling.faults()


@pytest.mark.databases("sqlite")
def test_an_offer_to_all_is_for_the_first_who_accepts(offering: Offering) -> None:
    """All with a paddle see it and hear of it, but the consignor; one of them buys; the others read that somebody has."""
    settling = offering.settling
    other = offering.other
    for user in (offering.user, other):
        give_address(settling.house, user)
    pending = settling.house.newcomer()
    made = offering.offer(paddle=None, toAll=True)
    assert 201 == made.status_code, made.text
    gid = made.json()["offers"][0]["offer"]
    assert (True, None, "open") == tuple(made.json()["offers"][0][name] for name in ("toAll", "paddle", "offerState"))
    assert (409, "lot_offered") == refusal(offering.offer())
    assert [gid] == [one["offer"] for one in other.json("GET", "/me/offers")["offers"]]
    assert [] == pending.json("GET", "/me/offers")["offers"]
    assert (404, "unknown_offer") == refusal(pending.post(f"/offers/{gid}/answer", json={"accepted": True}))
    assert other.post(f"/offers/{gid}/answer", json={"accepted": False}).is_success
    assert ["open"] == offering.states(), "others may still accept it"
    answer = {"json": {"accepted": True}}
    with ThreadPoolExecutor(6) as pool:
        asked = [offering.user, other] * 3
        answers = [*pool.map(lambda user: user.post(f"/offers/{gid}/answer", **answer).status_code, asked)]
    assert 1 == sum(status == 200 for status in answers) and {200, 409} == {*answers}
    seen = {user.name: user.json("GET", "/me/offers")["offers"][0]["offerState"] for user in (offering.user, other)}
    assert ["accepted", "taken"] == sorted(seen.values())
    loser = next(user for user in (offering.user, other) if seen[user.name] == "taken")
    assert (None, "") == tuple(
        loser.json("GET", "/me/offers")["offers"][0][name] for name in ("paddle", "personName")
    ), "nobody learns who has bought"
    owed = [settling.desk(user.name)["owed"] for user in (offering.user, other)]
    assert sorted(owed) in (["14.880", "29.750"], ["0.000", "44.630"]), "beside the lot that the other has bought"
    assert [] == settling.faults()
    settling.accounts()


@pytest.mark.databases("sqlite")
def test_an_offer_is_for_one_or_for_all(offering: Offering) -> None:
    """Neither is a slip, and so are both. The one who brought the lot is not among all."""
    assert {"paddle"} == faults(offering.offer(paddle=None)).keys()
    assert {"paddle"} == faults(offering.offer(toAll=True)).keys()
    manager, owner = offering.settling.manager, offering.owner
    manager.json("PATCH", f"/consignors/{offering.settling.code}", json={"username": owner.name})
    assert offering.offer(paddle=None, toAll=True).is_success

    gid = offering.user.json("GET", "/me/offers")["offers"][0]["offer"]
    assert [] == owner.json("GET", "/me/offers")["offers"]
    assert (404, "unknown_offer") == refusal(owner.post(f"/offers/{gid}/answer", json={"accepted": True}))


@pytest.mark.databases("sqlite")
def test_the_page_offers_to_all(house: House) -> None:
    """By a box that is ticked; who may buy has no button to decline for all."""
    offering = Offering(house)
    path = f"/admin/desk/{offering.gid}/offers"
    manager, person = Visitor(house, offering.settling.manager), Visitor(house, offering.user)
    done = manager.sent(manager.page(path), f"{path}/new", offerPrice="20", paddle="", toAll="on")
    assert "To all" in done.main and "open" in done.main
    page = person.page("/mine/offers")
    assert "the first one who accepts buys it" in page.main and "Yes, decline" not in page.main


@pytest.mark.databases("sqlite")
def test_the_pages_of_offers(house: House) -> None:
    """Without scripts: staff offer and withdraw, the person declines one and buys by the next."""
    offering = Offering(house)
    path = f"/admin/desk/{offering.gid}/offers"
    manager, person = Visitor(house, offering.settling.manager), Visitor(house, offering.user)
    page = manager.page(path)
    refused = manager.sent(page, f"{path}/new", offerPrice="much", days="99")
    assert "true" == refused.one("input", name="offerPrice")["aria-invalid"]
    done = manager.sent(refused, f"{path}/new", offerPrice="20", days="7")
    assert "Done." in done.main and "No lot can be offered now." in done.main
    assert "withdrawn" in manager.sent(done, f"{path}/withdrawal").main
    manager.sent(manager.page(path), f"{path}/new", offerPrice="20")
    gid = offering.user.json("GET", "/me/offers")["offers"][0]["offer"]
    shown = person.page("/mine/offers")
    assert "€20.00: €29.75 in all" in shown.main and "You buy the lot for €29.75 in all" in shown.main
    bought = person.sent(shown, f"/mine/offers/{gid}", "accept")
    assert "The lot is yours." in bought.main and "accepted" in bought.main
    assert "29.750" == offering.settling.desk(offering.paddle)["owed"]


@pytest.mark.databases("sqlite")
def test_a_form_that_is_gone_meanwhile_says_what_is_wrong(house: House) -> None:
    """Another tab has offered the lot, so that its form has no place on the page for the faults of this one."""
    offering = Offering(house)
    path = f"/admin/desk/{offering.gid}/offers"
    manager = Visitor(house, offering.settling.manager)
    old = manager.page(path)
    offering.made()
    refused = manager.sent(old, f"{path}/new", offerPrice="much")
    assert "Enter an amount" in refused.one("p", role="alert").text
    assert ["open"] == offering.states()
