"""Many clients on one auction at once, over real HTTP: every acknowledged bid is stored, in one order."""

import asyncio
import json
import random
from decimal import Decimal
from itertools import pairwise
from typing import Any

import httpx
import pytest
from msgspec import Struct, structs

from saleroom.bidding.domain import bidding
from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.events import AuctionCreated, BidPlaced, Event, MaximumRaised
from saleroom.kernel.parties import Party
from tests.bidding.api.records import Records, records
from tests.fixtures_house import NO_TLS, House, User

CLIENTS = 32
ROUNDS = 5
BIDDERS = 8


class TwinBid(Struct):
    """A bid that was sent twice at once, and both answers."""

    bidder: User
    key: str
    body: dict[str, str]
    answers: list[httpx.Response]

    @property
    def accepted(self) -> Any:
        """Return the answer of its one effect, or None."""
        good = [answer.json() for answer in self.answers if answer.status_code == 201]
        return good[0] if good else None


async def bid_for_a_while(house: House, gid: str, bidder: User, number: int) -> list[TwinBid]:
    """Run one client: read the price and bid around it, sending each bid twice at once."""
    chance = random.Random(number)
    asked = []
    headers = {"Authorization": f"Bearer {bidder.token}", "X-Requested-With": "x"}
    async with httpx.AsyncClient(base_url=house.base, headers=headers, verify=NO_TLS) as client:
        for turn in range(ROUNDS):
            least = Decimal((await client.get(f"/auctions/{gid}")).json()["minimumBid"])
            body = {chance.choice(("amount", "maximum")): str(least + chance.randint(-1, 30))}
            key = {"Idempotency-Key": f"{gid} {number} {turn}"}
            both = [client.post(f"/auctions/{gid}/bids", json=body, headers=key) for _ in range(2)]
            asked.append(TwinBid(bidder, key["Idempotency-Key"], body, await asyncio.gather(*both)))
    return asked


@pytest.fixture
def contested(house: House) -> tuple[Records, list[TwinBid]]:
    """An auction on which 32 clients of 8 bidders have bid at once, and all their bids."""
    gid = house.user("ada").auction()
    bidders = [house.user(f"bidder{number}") for number in range(BIDDERS)]

    async def all_of_them() -> list[list[TwinBid]]:
        clients = (bid_for_a_while(house, gid, bidders[number % BIDDERS], number) for number in range(CLIENTS))
        return await asyncio.gather(*clients)

    asked = [one for client in asyncio.run(all_of_them()) for one in client]
    return records(house, gid), asked


def test_clients_at_the_same_time(contested: tuple[Records, list[TwinBid]]) -> None:
    """The history strictly rises, has every acknowledged bid, and each key had one effect; one order explains it all."""
    stored, asked = contested
    assert {201, 409} == {answer.status_code for one in asked for answer in one.answers}
    the_history_rises(stored)
    one_effect_per_key(asked)
    accepted = [one for one in asked if one.accepted is not None]
    acknowledged = [one.accepted["bid"] for one in accepted if one.accepted["bid"] is not None]
    recorded = [(str(bid.amount), bid.bidder) for bid in stored.bids if not bid.automatic]
    assert sorted(recorded) == sorted((bid["amount"], bid["bidder"]) for bid in acknowledged)
    in_one_order(stored, accepted)


def the_history_rises(stored: Records) -> None:
    """Check that amounts strictly rise, except at a tie, which the earlier maximum wins; and that the last one is the price."""
    bids = stored.bids[::-1]
    for before, bid in pairwise(bids):
        tie = before.automatic and before.amount == before.maximum == bid.amount == bid.maximum
        assert before.amount < bid.amount or tie, f"{before} {bid}"
    assert max(bid.amount for bid in bids) == stored.auction.current_bid
    leading = max(bids, key=lambda bid: (bid.maximum, -bid.number))
    assert stored.auction.leader is not None and stored.auction.maximum is not None
    assert leading.maximum <= stored.auction.maximum


def one_effect_per_key(asked: list[TwinBid]) -> None:
    """Check that two requests with one key have one answer if both are accepted, and otherwise differ only by a lost lead."""
    twice = 0
    for one in asked:
        bodies = {answer.content for answer in one.answers if answer.status_code == 201}
        assert len(bodies) <= 1
        if bodies and len({answer.status_code for answer in one.answers}) == 2:
            # Refused for leading, then outbid, then decided again: a key keeps accepted answers only.
            assert "already_leading" in [answer.json().get("code") for answer in one.answers]
        elif bodies:
            twice += 1
    assert twice, "nobody led before the first bid that was taken"


def in_one_order(stored: Records, accepted: list[TwinBid]) -> None:
    """Place the accepted bids again, one at a time by the rules, and check that this gives the records."""
    first = stored.events[0]
    assert isinstance(first, AuctionCreated)
    auction = begin(stored.auction.id, first)
    events: list[Event] = [first]
    numbers = {event.bidder: event.bidder_id for event in stored.events if isinstance(event, BidPlaced)}
    for one in sorted(accepted, key=_when):
        request = BidRequest(*(Decimal(one.body[n]) if n in one.body else None for n in ("amount", "maximum")))
        at = stored.events[len(events)].at
        made = bidding.place_bid(auction, Party(numbers[one.bidder.name], one.bidder.name), request, at)
        auction, events = auction.after_all(made), events + made
    assert events == [_without_arrival(event) for event in stored.events]
    assert structs.replace(auction, chain=stored.auction.chain) == stored.auction


def _without_arrival(event: Event) -> Event:
    """Return `event` without the instant at which the house received the request."""
    return structs.replace(event, received_at=None) if isinstance(event, BidPlaced | MaximumRaised) else event


def _when(one: TwinBid) -> tuple[int, bool, Decimal]:
    """Return the sort key: the version that a bid made. A leader's raise makes none and follows, the lower maximum first."""
    answer = one.accepted
    raised = answer["bid"] is None
    return answer["auction"]["version"], raised, Decimal(one.body["maximum"]) if raised else Decimal(0)


def test_rivals_for_one_lot(house: House) -> None:
    """If 32 users buy at once, one gets the lot and 31 are told that the auction is over."""
    gid = house.user("ada").auction(buyNowPrice=50)
    buyers = [house.user(f"bidder{number}") for number in range(BIDDERS)]

    async def buy(number: int) -> httpx.Response:
        headers = {"Authorization": f"Bearer {buyers[number % BIDDERS].token}", "X-Requested-With": "x"}
        async with httpx.AsyncClient(base_url=house.base, headers=headers, verify=NO_TLS) as client:
            return await client.post(f"/auctions/{gid}/buy")

    async def all_of_them() -> list[httpx.Response]:
        return await asyncio.gather(*(buy(number) for number in range(CLIENTS)))

    answers = asyncio.run(all_of_them())
    assert [201] + [409] * (CLIENTS - 1) == sorted(answer.status_code for answer in answers)
    [winner] = [json.loads(answer.content) for answer in answers if answer.status_code == 201]
    auction: Auction = records(house, gid).auction
    assert auction.leader is not None
    assert winner["bid"]["bidder"] == auction.leader.name
