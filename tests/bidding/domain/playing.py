"""Plays histories on the rules, in the oracle's units."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from saleroom.bidding.domain import bidding, closing, selling, voiding
from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.events import BidPlaced, Event, SoftClose
from saleroom.bidding.domain.increments import Ladder, Tier
from saleroom.bidding.domain.ledger import enter
from saleroom.bidding.domain.selling import Draft
from saleroom.kernel.errors import Invalid, Refusal
from saleroom.kernel.parties import Party
from tests.bidding.domain.oracle import (
    AUTHOR,
    Act,
    Amend,
    Announce,
    Bid,
    Buy,
    Cancel,
    CloseNow,
    Oracle,
    Outage,
    Row,
    Settle,
    SoftCloseRule,
    Terms,
)
from tests.bidding.domain.voids import Void
from tests.histories import PEOPLE, History

T0 = datetime.fromisoformat("2026-11-21T12:00:00+00:00")
_MICROSECOND = timedelta(microseconds=1)
_TERMS = {
    "starting": "starting_price",
    "reserve": "reserve_price",
    "buy_now": "buy_now_price",
    "soft_close": "soft_close",
    "starts": "starts_at",
    "ends": "ends_at",
}


def money(thousandths: int) -> Decimal:
    """An amount as the house has it."""
    return Decimal(thousandths).scaleb(-3)


def at(microseconds: int) -> datetime:
    """An instant as the house has it."""
    return T0 + microseconds * _MICROSECOND


def party(who: int) -> Party:
    """A person as an auction has them."""
    return Party(100 + who, PEOPLE[who])


def term(name: str, value: Any) -> Any:
    """A term of the `Terms` as the house has it."""
    if value is None:
        return None
    if name in ("starts", "ends"):
        return at(value)
    if name == "soft_close":
        return SoftClose(value.window, value.extension, None if value.cap is None else at(value.cap))
    return money(value)


def draft(lot: Terms) -> Draft:
    """The terms as their author hands them in."""
    terms = {theirs: term(ours, getattr(lot, ours)) for ours, theirs in _TERMS.items()}
    return Draft(name="Longcase clock", increment=ladder(lot.tiers), **terms)


def changed(act: Amend) -> dict[str, object]:
    """The changes as their author hands them in."""
    return {_TERMS[name]: term(name, value) for name, value in act.changes}


def ladder(tiers: tuple[tuple[int, int], ...]) -> Ladder:
    """A ladder as the house has it."""
    return Ladder(tuple(Tier(money(start), money(step)) for start, step in tiers))


def request(bid: Bid) -> BidRequest:
    """A bid as a door hands it in."""
    amounts = (None if amount is None else money(amount) for amount in (bid.amount, bid.maximum))
    return BidRequest(*amounts)


def decide(auction: Auction, act: Act, now: datetime) -> list[Event]:
    """The events of `act`. Raises Refusal."""
    match act:
        case Bid(who):
            return bidding.place_bid(auction, party(who), request(act), now)
        case Buy(who):
            return bidding.buy_now(auction, party(who), now)
        case Amend(who):
            return selling.amend(auction, party(who), changed(act), now)
        case Cancel(who):
            return selling.cancel(auction, party(who), now)
        case Announce(who, ends):
            return selling.announce_end(auction, party(who), at(ends), now)
        case CloseNow(who):
            return selling.close_now(auction, party(who), now)
        case Settle():
            return closing.settle(auction, now)
        case Outage(since):
            return closing.reopen_after_outage(auction, at(since), now)


def refusal_code(refusal: Refusal) -> str:
    """A refusal as the oracle writes it."""
    if not isinstance(refusal, Invalid):
        return refusal.code
    return "validation " + " ".join(sorted(f"{name}/{f.code}" for name, fs in refusal.faults.items() for f in fs))


@dataclass(frozen=True)
class PlayedStep:
    """One step that was played: the auction before and after it, and its events or the code of its refusal."""

    act: Act | Void
    now: datetime
    before: Auction
    after: Auction
    events: tuple[Event, ...]
    refusal: str | None

    @property
    def accepted_bid(self) -> Bid | None:
        """The bid, if the step is an accepted bid."""
        return self.act if isinstance(self.act, Bid) and self.refusal is None else None

    @property
    def own_raise(self) -> bool:
        """Whether the leader raised their own limit."""
        leader = self.before.leader
        return self.accepted_bid is not None and leader == party(self.accepted_bid.who)


class Game:
    """An auction under the rules, with its whole log."""

    def __init__(self, lot: Terms, gid: str = "gid") -> None:
        created = selling.create(gid, party(AUTHOR), draft(lot), T0)
        self.log: list[Event] = [created]
        self.auction, _ = enter(begin(7, created), created)
        self.taken: list[PlayedStep] = []

    def do(self, act: Act | Void, now: int) -> str | None:
        """Let `act` happen at `now`; return the code of the refusal, or None."""
        before, events, refusal = self.auction, [], None
        try:
            events = (
                voiding.void(before, voiding.BidBook(self.log), act.version, "A slip of the hand.", at(now))
                if isinstance(act, Void)
                else decide(before, act, at(now))
            )
        except Refusal as refused:
            refusal = refusal_code(refused)
        for event in events:
            self.auction, _ = enter(self.auction.after(event), event)
        self.log += events
        self.taken.append(PlayedStep(act, at(now), before, self.auction, tuple(events), refusal))
        return refusal

    def rows(self) -> list[Row]:
        """The recorded bids."""
        return [
            Row(b.bidder_id - 100, units(b.amount), units(b.maximum), b.automatic)
            for b in self.log
            if isinstance(b, BidPlaced)
        ]


def units(amount: Decimal) -> int:
    """An amount in the oracle's thousandths. Fails unless it has three decimals."""
    assert amount.as_tuple().exponent == -3
    return int(amount.scaleb(3))


def seen(auction: Auction, rows: list[Row], events: list[str]) -> dict[str, Any]:
    """An auction in the form of `Oracle.seen`."""

    def amount(value: Decimal | None) -> int | None:
        return None if value is None else units(value)

    def instant(value: datetime | None) -> int | None:
        return None if value is None else (value - T0) // _MICROSECOND

    soft = auction.soft_close
    return {
        "lot": Terms(
            starting=units(auction.starting_price),
            reserve=amount(auction.reserve_price),
            buy_now=amount(auction.buy_now_price),
            soft_close=None if soft is None else SoftCloseRule(soft.window, soft.extension, instant(soft.cap)),
            starts=instant(auction.starts_at),
            ends=instant(auction.ends_at),
            tiers=tuple((units(tier.start), units(tier.step)) for tier in auction.ladder.tiers),
        ),
        "status": auction.status,
        "hidden": auction.taken_down is not None,
        "outcome": auction.outcome,
        "price": amount(auction.current_bid),
        "leader": None if auction.leader is None else auction.leader.id - 100,
        "maximum": amount(auction.maximum),
        "rows": rows,
        "events": events,
        "least": amount(auction.minimum_bid),
    }


def play(history: History) -> Game:
    """Play a whole history and return the game."""
    game, oracle = Game(history.lot), Oracle(history.lot)
    for now, act in history.acts(oracle):
        oracle.do(act, now)
        game.do(act, now)
    return game
