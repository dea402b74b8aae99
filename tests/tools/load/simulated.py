"""Simulated records of load tests: the real rules decide, and requests overlap as over a network."""

import heapq
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import count
from random import Random

from saleroom.bidding.domain import bidding, closing, selling
from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import AuctionOver, BidTooLow
from saleroom.bidding.domain.events import BidPlaced, Event, SoftClose
from saleroom.bidding.domain.increments import fixed
from saleroom.bidding.domain.selling import Draft
from saleroom.kernel.errors import Refusal
from saleroom.kernel.parties import Party
from saleroom.tools.load.answers import microseconds
from saleroom.tools.load.record import (
    Attempt,
    BidRecord,
    BidReply,
    ClockReading,
    LotRecord,
    LotView,
    Observation,
    Record,
)
from tests.bidding.domain.playing import T0

SELLER = Party(1, "test.seller")
STRANGER = Party(2, "stranger")
SECONDS, CAP_SECONDS = 30, 36
STEP, START = 1000, 5000


def simulate(seed: int, acts: int = 120, *, strangers: bool = False) -> Record:
    """Return the record of one lot on which five people bid, with everything that a correct house may do."""
    return _Simulation(Random(seed), strangers=strangers).play(acts)


class _Simulation:
    """A lot with an end and a soft close. The client's clock shows 0 when the house's shows T0."""

    def __init__(self, random: Random, *, strangers: bool) -> None:
        self.random = random
        soft = SoftClose(4, 2, T0 + timedelta(seconds=CAP_SECONDS))
        draft = Draft(
            name="LotRecord",
            starting_price=_decimal(START),
            increment=fixed(_decimal(STEP)),
            ends_at=T0 + timedelta(seconds=SECONDS),
            soft_close=soft,
        )
        self.auction = begin(7, selling.create("gid", SELLER, draft, T0))
        self.people = [Party(10 + number, f"test.{number}") for number in range(5)]
        self.bidding = [*self.people, STRANGER] if strangers else self.people
        self.record = Record(bidders={person.name for person in self.people})
        self.record.lots["gid"] = LotRecord("gid", START, STEP)
        self.record.clock_readings.append(ClockReading(-0.1, 0.1, microseconds(T0)))
        self.kept: dict[str, BidReply] = {}
        self.log: list[Event] = []
        self.due: list[tuple[float, int, Callable[[float], None]]] = []
        self.numbers = count(1)

    def play(self, acts: int) -> Record:
        """Run all requests, in the order in which the house decides them."""
        for _ in range(acts):
            at = self.random.triangular(0, CAP_SECONDS + 2, SECONDS)
            self._at(at, self._look if self.random.random() < 0.3 else self._bid)
        self._at(CAP_SECONDS + 3, self._look)
        while self.due:
            at, _, act = heapq.heappop(self.due)
            self._settle(at)
            act(at)
        lot = self.record.lots["gid"]
        lot.final = _seen(self.auction)
        lot.history = [_recorded(event) for event in self.log if isinstance(event, BidPlaced)]
        leader = self.auction.leader
        lot.winners = [leader.name] if leader is not None and leader in self.people else []
        return self.record

    def _at(self, seconds: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self.due, (seconds, next(self.numbers), act))

    def _settle(self, at: float) -> None:
        """Close the lot a moment after its end."""
        ends = self.auction.ends_at
        if ends is not None and not self.auction.over and _now(at) >= ends + timedelta(seconds=0.2):
            self._happen(closing.settle(self.auction, _now(at)))

    def _happen(self, events: list[Event]) -> None:
        self.auction = self.auction.after_all(events)
        self.log += events

    def _look(self, at: float) -> None:
        self.record.observations.append(Observation("gid", *self._around(at), _seen(self.auction)))

    def _around(self, at: float) -> tuple[float, float]:
        """Return when a request decided `at` was sent, and when its answer came."""
        return at - self.random.random() / 2, at + self.random.random() / 2

    def _bid(self, at: float) -> None:
        bidder = self.random.choice(self.bidding)
        least = START if self.auction.current_bid is None else _thousandths(self.auction.current_bid) + STEP
        ask = max(1, least + STEP * self.random.randint(-2, 3))
        limit = ask + STEP * self.random.randint(0, 5)
        prices = self.random.choice([(ask, None), (ask, None), (None, limit), (ask, limit)])
        attempt = Attempt("gid", bidder.name, *prices, f"key-{next(self.numbers)}", [])
        if bidder is not STRANGER:
            self.record.attempts.append(attempt)
        self._send(attempt, bidder, at)

    def _send(self, attempt: Attempt, bidder: Party, at: float) -> None:
        sent, received = self._around(at)
        reply = self._decide(attempt, bidder, at, sent, received)
        chance = self.random.random()
        if chance < 0.1:
            reply = BidReply(sent=sent, received=received, status=self.random.choice([0, 503]))
        attempt.replies.append(reply)
        if chance < 0.3 and at < CAP_SECONDS + 2:
            self._at(at + self.random.random(), lambda later: self._send(attempt, bidder, later))

    def _decide(self, attempt: Attempt, bidder: Party, at: float, sent: float, received: float) -> BidReply:
        if (first := self.kept.get(attempt.key)) is not None:
            return BidReply(
                sent=sent,
                received=received,
                status=201,
                view=first.view,
                bid=first.bid,
                leading=first.leading,
                body=first.body,
            )
        request = BidRequest(
            *(None if amount is None else _decimal(amount) for amount in (attempt.amount, attempt.maximum))
        )
        try:
            events = bidding.place_bid(self.auction, bidder, request, _now(at))
        except BidTooLow as refused:
            minimum = refused.facts["minimum_bid"]
            assert isinstance(minimum, Decimal)
            return BidReply(sent=sent, received=received, status=409, code=refused.code, minimum=_thousandths(minimum))
        except AuctionOver as refused:
            ends = refused.facts["ends_at"]
            assert isinstance(ends, datetime)
            return BidReply(sent=sent, received=received, status=409, code=refused.code, ends=microseconds(ends))
        except Refusal as refused:
            return BidReply(sent=sent, received=received, status=409, code=refused.code)
        self._happen(events)
        own = [event for event in events if isinstance(event, BidPlaced) and event.bidder_id == bidder.id]
        self.kept[attempt.key] = BidReply(
            sent=sent,
            received=received,
            status=201,
            view=_seen(self.auction),
            bid=_recorded(own[-1]) if own else None,
            leading=self.auction.leader == bidder,
            body=next(self.numbers),
        )
        return self.kept[attempt.key]


def _seen(auction: Auction) -> LotView:
    return LotView(
        price=None if auction.current_bid is None else _thousandths(auction.current_bid),
        bidder=None if auction.leader is None else auction.leader.name,
        minimum=None if auction.minimum_bid is None else _thousandths(auction.minimum_bid),
        count=auction.bid_count,
        status=auction.status,
        outcome=auction.outcome,
        ends=None if auction.ends_at is None else microseconds(auction.ends_at),
    )


def _recorded(event: BidPlaced) -> BidRecord:
    return BidRecord(_thousandths(event.amount), event.bidder, microseconds(event.at), event.automatic)


def _thousandths(amount: Decimal) -> int:
    return int(amount.scaleb(3))


def _decimal(amount: int) -> Decimal:
    return Decimal(amount).scaleb(-3)


def _now(at: float) -> datetime:
    return T0 + timedelta(seconds=at)
