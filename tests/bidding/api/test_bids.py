"""Bids over HTTP: the examples of the rules, every refusal with its facts, and what other users see."""

from functools import partial
from typing import Any, NamedTuple

import httpx
import pytest

from tests.bidding.api.answers import after, faults, instant, refusal
from tests.bidding.api.records import records
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, User

pytestmark = pytest.mark.databases("sqlite")


def standing(answer: httpx.Response) -> tuple[Any, ...]:
    """Return the amount of an accepted bid, the price, the leader, and whether that is the bidder."""
    assert 201 == answer.status_code, answer.text
    body = answer.json()
    auction = body["auction"]
    bid = None if body["bid"] is None else body["bid"]["amount"]
    return bid, auction["currentBid"], auction["currentBidder"], body["leading"]


def history(user: User, gid: str) -> list[str]:
    """Return an auction's bids, oldest first, as `bob 10.000` or `bob 10.000 automatic`."""
    rows = user.json("GET", f"/auctions/{gid}/bids")["bids"]
    return [f"{row['bidder']} {row['amount']}" + " automatic" * row["automatic"] for row in reversed(rows)]


def test_the_answer_to_a_bid(house: House) -> None:
    """An accepted bid is 201 with the bid, the auction as everyone sees it now, and whether the bidder leads."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(reservePrice="10.5")
    answer = bob.bid(gid, amount="10.25")
    body = answer.json()
    assert (201, ["bid", "auction", "leading", "receipt"], True) == (answer.status_code, list(body), body["leading"])
    assert ["amount", "bidder", "receivedAt", "placedAt", "automatic", "sequence"] == list(body["bid"])
    assert ("10.250", "bob", False) == tuple(body["bid"][name] for name in ("amount", "bidder", "automatic"))
    assert instant(body["bid"]["placedAt"]) == instant(body["auction"]["currentBidAt"])
    assert body["auction"] == house.anyone.json("GET", f"/auctions/{gid}")
    assert ("11.250", 1, 2) == tuple(body["auction"][name] for name in ("minimumBid", "bidCount", "version"))


def test_a_literal_amount_is_shown_as_it_is(house: House) -> None:
    """An amount alone becomes the price, even if less would do (rule 4a and 4b)."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction()
    assert ("10.000", "10.000", "bob", True) == standing(bob.bid(gid, amount=10))
    assert ("50.000", "50.000", "cy.", True) == standing(cy.bid(gid, amount=50))
    assert ("51.000", "51.000", "bob", True) == standing(bob.bid(gid, amount=51))
    assert ["bob 10.000", "cy. 50.000", "bob 51.000"] == history(cy, gid)


@pytest.mark.databases("sqlite", "postgresql")
def test_the_house_bids_up_to_a_maximum(house: House) -> None:
    """A maximum bids as little as needed: the starting price first, then one step above the rival (rules 4a to 4c)."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction()
    assert ("10.000", "10.000", "bob", True) == standing(bob.bid(gid, maximum=20))
    assert ("15.000", "16.000", "bob", False) == standing(cy.bid(gid, maximum=15))
    assert ("21.000", "21.000", "cy.", True) == standing(cy.bid(gid, maximum=30))
    assert ("30.000", "30.000", "cy.", False) == standing(bob.bid(gid, maximum=30))
    first = ["bob 10.000", "cy. 15.000", "bob 16.000 automatic", "bob 20.000 automatic"]
    assert [*first, "cy. 21.000", "cy. 30.000 automatic", "bob 30.000"] == history(ada, gid)


def test_one_may_be_outbid_by_less_than_a_step(house: House) -> None:
    """If the new maximum is less than a step above the old, the price is the new maximum (rule 4b)."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction(increment=5)
    bob.bid(gid, maximum=20)
    assert ("20.001", "20.001", "cy.", True) == standing(cy.bid(gid, maximum="20.001"))


def test_an_amount_with_a_maximum(house: House) -> None:
    """With both, the price is at least the amount, and the maximum is the limit."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction()
    assert ("12.000", "12.000", "bob", True) == standing(bob.bid(gid, amount=12, maximum=20))
    assert ("40.000", "40.000", "cy.", True) == standing(cy.bid(gid, amount=40, maximum=50))
    assert ("45.000", "46.000", "cy.", False) == standing(bob.bid(gid, amount=42, maximum=45))


def test_raising_ones_own_maximum_is_nobody_elses_business(house: House) -> None:
    """The leader's higher maximum is 201 with `bid` null: no row, no new version, no new tag (rule 2)."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    bob.bid(gid, maximum=20)
    before = ada.get(f"/auctions/{gid}")
    assert (None, "10.000", "bob", True) == standing(bob.bid(gid, maximum=99))
    now = ada.get(f"/auctions/{gid}")
    assert (before.content, before.headers["etag"]) == (now.content, now.headers["etag"])
    assert 1 == len(history(ada, gid))
    assert "99.000" == str(records(house, gid).auction.maximum)


def test_a_maximum_that_reaches_the_reserve_lifts_the_price_to_it(house: House) -> None:
    """As soon as the leader's maximum reaches the reserve, the price is the reserve, after a bid or a raise (rule 5)."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(reservePrice=30)
    assert ("10.000", "10.000", "bob", True) == standing(bob.bid(gid, maximum=29))
    assert (None, "30.000", "bob", True) == standing(bob.bid(gid, maximum=31))
    assert ada.json("GET", f"/auctions/{gid}")["reserveMet"] is True
    other = ada.auction(reservePrice=30)
    assert ("30.000", "30.000", "bob", True) == standing(bob.bid(other, maximum=30))


def test_a_late_bid_moves_the_end(clocked_house: House, clock: FakeClock) -> None:
    """Within the window a bid moves the end to the bid plus the extension, but not past the cap; a raise does not (rule 6)."""
    ada, bob, cy = clocked_house.user("ada"), clocked_house.user("bob"), clocked_house.user("cy.")
    now = ada.json("GET", "/me")["createdAt"]
    end = after(now, seconds=100)
    gid = ada.auction(endsAt=end, softClose={"window": 30, "extension": 60, "cap": after(end, seconds=100)})
    assert end == bob.bid(gid, 10).json()["auction"]["endsAt"]
    clock.advance(70)
    assert after(end, seconds=30) == cy.bid(gid, maximum=20).json()["auction"]["endsAt"]
    clock.advance(59)
    assert after(end, seconds=30) == cy.bid(gid, maximum=30).json()["auction"]["endsAt"]
    assert after(end, seconds=89) == bob.bid(gid, 12).json()["auction"]["endsAt"]
    clock.advance(59)
    assert after(end, seconds=100) == bob.bid(gid, 31).json()["auction"]["endsAt"]
    assert "auction.extended" == records(clocked_house, gid).types[-1]


def test_no_bid_is_too_late_by_less_than_a_microsecond(clocked_house: House, clock: FakeClock) -> None:
    """A bid is accepted until the last microsecond before the end and refused from then on, closer or not (rule 1)."""
    ada, bob, cy = clocked_house.user("ada"), clocked_house.user("bob"), clocked_house.user("cy.")
    now = ada.json("GET", "/me")["createdAt"]
    start, end = after(now, seconds=60), after(now, seconds=3600)
    gid = ada.auction(startsAt=start, endsAt=end, softClose=None)
    clock.advance(60, microseconds=-1)
    answer = bob.bid(gid, 10)
    assert (409, "auction_not_started", start) == (*refusal(answer), answer.json()["startsAt"])
    clock.advance(microseconds=1)
    assert 201 == bob.bid(gid, 10).status_code
    clock.advance(3540, microseconds=-1)
    assert 201 == cy.bid(gid, 11).status_code
    clock.advance(microseconds=1)
    answer = bob.bid(gid, 12)
    assert (409, "auction_closed", end) == (*refusal(answer), answer.json()["endsAt"])
    clocked_house.advance(0)
    assert "11.000" == ada.json("GET", f"/auctions/{gid}")["currentBid"]


STARTS = "2099-01-01T00:00:00.000000Z"


class RefusedBid(NamedTuple):
    """A bid in an auction that starts at 10, after other bids, and the refusal's code and facts."""

    terms: dict[str, Any]
    before: dict[str, Any] | None
    asked: dict[str, Any]
    code: str
    facts: dict[str, str]


LOW = partial(RefusedBid, code="bid_too_low")


@pytest.mark.parametrize(
    "case",
    [
        LOW(terms={}, before=None, asked={"amount": "9.999"}, facts={"minimumBid": "10.000"}),
        LOW(terms={}, before=None, asked={"maximum": "9.999"}, facts={"minimumBid": "10.000"}),
        LOW(terms={}, before=None, asked={"amount": "9.999", "maximum": "50"}, facts={"minimumBid": "10.000"}),
        LOW(terms={}, before={"amount": 10}, asked={"amount": "10.999"}, facts={"minimumBid": "11.000"}),
        LOW(terms={}, before={"maximum": 20}, asked={"amount": "10.5"}, facts={"minimumBid": "11.000"}),
        LOW(terms={"increment": "7.5"}, before={"amount": 99}, asked={"amount": 106}, facts={"minimumBid": "106.500"}),
        RefusedBid(
            terms={"startsAt": STARTS},
            before=None,
            asked={"amount": 10},
            code="auction_not_started",
            facts={"startsAt": STARTS},
        ),
    ],
)
def test_refused_bids(house: House, case: RefusedBid) -> None:
    """A refused bid has its status, code and facts, changes nothing and leaves no event."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction(**case.terms)
    if case.before:
        assert 201 == bob.bid(gid, **case.before).status_code
    stored = records(house, gid)
    answer = cy.bid(gid, **case.asked)
    assert (409, case.code) == refusal(answer)
    assert case.facts == {name: value for name, value in answer.json().items() if name not in ("message", "code")}
    assert stored == records(house, gid)


@pytest.mark.parametrize("asked", [{"amount": 11}, {"amount": 99}, {"maximum": 20}, {"maximum": 15}])
def test_a_leader_does_not_bid_against_themselves(house: House, asked: dict[str, Any]) -> None:
    """An amount from the leader, or a maximum that is not higher, is 409 `already_leading` and changes nothing."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    bob.bid(gid, maximum=20)
    stored = records(house, gid)
    answer = bob.bid(gid, **asked)
    assert (409, "already_leading", "11.000") == (*refusal(answer), answer.json()["minimumBid"])
    assert stored == records(house, gid)


def test_nobody_bids_in_their_own_auction(house: House) -> None:
    """The author's bid, low or high, is 403 `own_auction`, and so is buying."""
    ada = house.user("ada")
    gid = ada.auction(buyNowPrice=50)
    stored = records(house, gid)
    for answer in (ada.bid(gid, 1), ada.bid(gid, 1000), ada.bid(gid, maximum=20), ada.post(f"/auctions/{gid}/buy")):
        assert (403, "own_auction") == refusal(answer)
    assert stored == records(house, gid)


def test_the_order_of_refusals(house: House) -> None:
    """The refusals have an order: the auction is over, has not started, is the bidder's own (rule 1)."""
    ada, bob = house.user("ada"), house.user("bob")
    scheduled = ada.auction(startsAt="2099-01-01T00:00:00Z")
    assert (409, "auction_not_started") == refusal(ada.bid(scheduled, 1))
    ada.delete(f"/auctions/{scheduled}")
    for user in (ada, bob):
        assert (409, "auction_closed") == refusal(user.bid(scheduled, 1))


def test_a_bid_without_a_price_is_no_bid(house: House) -> None:
    """An amount, a maximum or both are needed, and an amount above its maximum is a fault."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    for nothing in ({}, {"amount": None}, {"amount": None, "maximum": None}):
        assert {"body": ["required"]} == faults(bob.post(f"/auctions/{gid}/bids", json=nothing))
    assert {"amount": ["above_maximum"]} == faults(bob.bid(gid, amount="20.001", maximum=20))
    assert 201 == bob.bid(gid, amount=20, maximum=20).status_code


def test_a_maximum_is_its_bidders_secret(house: House) -> None:
    """While the auction is open, answers and refusals show a maximum to its bidder only."""
    ada, bob, cy = (
        house.newcomer(),
        house.newcomer(),
        house.newcomer(),
    )  # other tests bid on the lots of named users
    gid = ada.auction()
    bob.bid(gid, maximum="777.777")
    bob.bid(gid, maximum="888.888")
    own = bob.json("GET", f"/auctions/{gid}/bids")["bids"]
    assert ["777.777"] == [row["maximum"] for row in own]
    others = [
        *(user.get(path) for user in (ada, cy, house.anyone) for path in (f"/auctions/{gid}", f"/auctions/{gid}/bids")),
        *(user.get(f"/auctions?author={ada.name}&limit=100&sort=newest") for user in (ada, cy)),
        *(ada.get("/me/auctions"), cy.bid(gid, 1), cy.bid(gid, maximum=20), cy.get("/me/bids"), cy.get(f"/lots/{gid}")),
    ]
    for answer in others:
        assert "777.777" not in answer.text and "888.888" not in answer.text, answer.request.url
    theirs = ada.json("GET", f"/auctions/{gid}/bids")["bids"]
    assert [False] * len(theirs) == ["maximum" in row for row in theirs]


def test_buy_now(house: House) -> None:
    """Before the first bid any user but the author can buy at the buy-now price; the lot is sold and closed at once."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction(buyNowPrice="50.5", reservePrice=20)
    answer = bob.post(f"/auctions/{gid}/buy")
    assert ("50.500", "50.500", "bob", True) == standing(answer)
    sold = answer.json()["auction"]
    assert ("closed", "sold", None, True) == tuple(sold[n] for n in ("status", "outcome", "minimumBid", "reserveMet"))
    stored = records(house, gid)
    assert ["auction.created", "bid.placed", "auction.closed"] == stored.types
    for late in (cy.post(f"/auctions/{gid}/buy"), bob.post(f"/auctions/{gid}/buy", json={}), cy.bid(gid, 100)):
        assert (409, "auction_closed") == refusal(late)
    assert stored == records(house, gid)


def test_buying_is_refused(house: House) -> None:
    """Without a buy-now price, or after the first bid, buying is 409 `buy_now_unavailable` with the minimum bid."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    without, bid_on = ada.auction(), ada.auction(buyNowPrice=50)
    bob.bid(bid_on, 10)
    for gid, least in ((without, "10.000"), (bid_on, "11.000")):
        stored = records(house, gid)
        answer = cy.post(f"/auctions/{gid}/buy")
        assert (409, "buy_now_unavailable", least) == (*refusal(answer), answer.json()["minimumBid"])
        assert stored == records(house, gid)
    scheduled = ada.auction(buyNowPrice=50, startsAt="2099-01-01T00:00:00Z")
    assert (409, "auction_not_started") == refusal(cy.post(f"/auctions/{scheduled}/buy"))
    assert {"amount": ["unknown"]} == faults(cy.post(f"/auctions/{without}/buy", json={"amount": 1}))
