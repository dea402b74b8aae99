"""Generated histories of auctions, for the rules and for every door that goes through them.

A history is terms and steps. A step is told relative to the auction (a bid of the least next bid less one, a minute
before the end), so that it is interesting wherever it comes; `Step.resolve` makes it absolute, given the oracle so far.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.bidding.domain.oracle import (
    AUTHOR,
    DEFAULT_TIERS,
    LIMIT,
    SECOND,
    Act,
    Amend,
    Announce,
    Bid,
    Buy,
    Cancel,
    CloseNow,
    Oracle,
    Outage,
    Settle,
    SoftCloseRule,
    Terms,
)

T = TypeVar("T")

PEOPLE = ("ada", "bob", "cyd", "dee", "eve")
"""Names by the oracle's numbers; ada is the author."""
LEADER = -1
"""Instead of a number: the leader at that time, or bob."""
MINUTE, HOUR = 60 * SECOND, 3_600 * SECOND


@dataclass(frozen=True)
class Relative:
    """An amount or an instant near to a given point; `otherwise` if the auction has no such point."""

    anchor: str
    delta: int
    otherwise: int = 0

    def amount(self, oracle: Oracle) -> int:
        """The amount in thousandths, within the limits of an amount."""
        lot = oracle.lot
        anchors = {"least": oracle.least(), "price": oracle.price, "maximum": oracle.maximum, "limit": LIMIT}
        anchors |= {"reserve": lot.reserve, "starting": lot.starting, "rival": _rival(oracle)}
        anchor = anchors[self.anchor]
        return min(max((lot.starting if anchor is None else anchor) + self.delta, 0), LIMIT)

    def instant(self, oracle: Oracle, now: int) -> int:
        """The instant in microseconds."""
        lot, soft = oracle.lot, oracle.lot.soft_close
        anchors = {"now": now, "start": lot.starts, "end": lot.ends, "cap": None if soft is None else soft.cap}
        if lot.ends is not None and soft is not None:
            anchors["window"] = lot.ends - soft.window * SECOND
        anchor = anchors.get(self.anchor)
        return now + self.otherwise if anchor is None else anchor + self.delta


@dataclass(frozen=True)
class Step:
    """An act of somebody and its time; never earlier than the step before."""

    when: Relative
    what: str
    who: int = AUTHOR
    amount: Relative | None = None
    maximum: Relative | None = None
    ends: Relative | None = None
    changes: tuple[tuple[str, Any], ...] = ()

    def resolve(self, oracle: Oracle, now: int) -> tuple[int, Act]:
        """The instant and the act, in an auction that stands as `oracle` says at `now`."""
        at = max(now, self.when.instant(oracle, now))
        match self.what:
            case "bid":
                return at, self._bid(oracle)
            case "buy":
                return at, Buy(self.who)
            case "amend":
                return at, Amend(self.who, tuple((name, _shifted(name, value, at)) for name, value in self.changes))
            case "cancel":
                return at, Cancel(self.who)
            case "announce":
                assert self.ends is not None
                return at, Announce(self.who, self.ends.instant(oracle, at))
            case "close_now":
                return at, CloseNow(self.who)
            case "outage":
                return at, Outage(since=now)
        return at, Settle()

    def _bid(self, oracle: Oracle) -> Bid:
        amount = None if self.amount is None else self.amount.amount(oracle)
        maximum = None if self.maximum is None else self.maximum.amount(oracle)
        if amount is not None and maximum is not None:
            amount, maximum = sorted((amount, maximum))
        who = self.who if self.who != LEADER else oracle.leader or 1
        return Bid(who, amount, maximum)


@dataclass(frozen=True)
class History:
    """Terms, and the steps that follow."""

    lot: Terms
    steps: tuple[Step, ...]

    def acts(self, oracle: Oracle) -> Iterator[tuple[int, Act]]:
        """Each step as it is when its turn comes; the caller lets `oracle` do it before the next."""
        now = 0
        for step in self.steps:
            now, act = step.resolve(oracle, now)
            yield now, act


def _rival(oracle: Oracle) -> int | None:
    """The highest limit apart from the leader's."""
    return max((row.limit for row in oracle.rows if row.who != oracle.leader), default=None)


def _shifted(name: str, value: Any, now: int) -> Any:
    """An instant among the changes, from its distance to `now`."""
    return now + value if name in ("starts", "ends") and value is not None else value


_NEAR = (0, 0, 0, 1, -1, 10, 100, 1_000, 2_500, 20_000, -10, -1_000)
_deltas = st.sampled_from(_NEAR) | st.integers(-5_000, 50_000)
_prices = st.sampled_from(
    (0, 1, 500, 1_000, 9_990, 99_999, 100_000, 1_000_000, 123_456, LIMIT - 1_000, LIMIT)
) | st.integers(0, 300_000)
_soft = st.builds(SoftCloseRule, st.integers(1, 300), st.integers(1, 300), st.none())


def _weighted(*choices: tuple[int, st.SearchStrategy[T]]) -> st.SearchStrategy[T]:
    """One of several strategies, as often as their weights say."""
    return st.sampled_from([each for weight, each in choices for _ in range(weight)]).flatmap(lambda each: each)


def amounts() -> st.SearchStrategy[Relative]:
    """Amounts near to the thresholds of the rules."""
    anchors = (*["least"] * 6, *["maximum"] * 4, "price", "rival", "reserve", "starting", "limit")
    return st.builds(Relative, st.sampled_from(anchors), _deltas)


def instants(*anchors: str) -> st.SearchStrategy[Relative]:
    """Instants near to `anchors` (`now`, `start`, `window`, `end`, `cap`), most of them just a little later."""
    deltas = st.sampled_from((0, 0, 1, -1, SECOND, -SECOND, 30 * SECOND, -30 * SECOND)) | st.integers(0, MINUTE)
    near = st.builds(Relative, st.sampled_from(anchors or ("now",)), deltas, otherwise=st.integers(0, MINUTE))
    on = st.builds(Relative, st.just("now"), st.sampled_from((0, 1, SECOND)) | st.integers(0, MINUTE))
    return _weighted((3, on), (1, near))


def ladders() -> st.SearchStrategy[tuple[tuple[int, int], ...]]:
    """The default ladder, one fixed step, or tiers of all kinds."""
    steps = st.sampled_from((1, 10, 100, 1_000, 7_777)) | st.integers(1, 50_000)
    tiers = st.lists(st.tuples(st.integers(1, 400_000), steps), max_size=4, unique_by=lambda tier: tier[0])
    own = st.tuples(steps, tiers).map(lambda drawn: ((0, drawn[0]), *sorted(drawn[1])))
    return st.just(DEFAULT_TIERS) | own


# Made once: making a strategy costs more than drawing from it.
_above = st.none() | st.integers(0, 60_000) | st.sampled_from((0, 1, 100, 1_000))
_starts = st.none() | st.none() | st.integers(-HOUR, HOUR)
_ends = st.none() | st.integers(SECOND, HOUR) | st.integers(SECOND, HOUR)
_softs = st.just(SoftCloseRule(120, 120)) | st.none() | _soft
_caps = st.sampled_from((0, 1, SECOND, MINUTE, 10 * MINUTE))
_ladders = ladders()


@st.composite
def lots(draw: st.DrawFn) -> Terms:
    """Terms without a contradiction."""
    starting = draw(_prices)
    reserve, buy_now = draw(_above), draw(_above)
    reserve = None if reserve is None else min(starting + reserve, LIMIT)
    # The doors refuse a buy-now price of 0; the rules know it from older ledgers.
    buy_now = None if buy_now is None else max(1, min((reserve or starting) + buy_now, LIMIT))
    starts, ends = draw(_starts), draw(_ends)
    ends = None if ends is None else max(starts or 0, 0) + ends
    soft = draw(_softs)
    if soft is not None and ends is not None and draw(st.booleans()):
        soft = SoftCloseRule(soft.window, soft.extension, ends + draw(_caps))
    return Terms(starting, reserve, buy_now, soft, starts, ends, draw(_ladders))


def bids() -> st.SearchStrategy[Step]:
    """Bids of all three kinds, mostly not by the author, sometimes by the leader."""
    who = st.sampled_from((1, 1, 2, 2, 3, 4, LEADER, LEADER, AUTHOR))
    when = instants("start", "window", "window", "end", "cap")
    literal = st.builds(Step, when, st.just("bid"), who, amount=amounts())
    proxy = st.builds(Step, when, st.just("bid"), who, maximum=amounts())
    both = st.builds(Step, when, st.just("bid"), who, amount=amounts(), maximum=amounts())
    return _weighted((1, literal), (2, proxy), (1, both))


def interludes() -> st.SearchStrategy[Step]:
    """Acts other than bids, most of which leave the auction open."""
    author = st.sampled_from((AUTHOR, AUTHOR, AUTHOR, 1))
    changes = st.fixed_dictionaries(
        {},
        optional={
            "starting": _prices,
            "reserve": st.none() | _prices,
            "buy_now": st.none() | _prices.filter(bool),
            "soft_close": st.none() | _soft,
            "starts": st.none() | st.integers(-MINUTE, HOUR),
            "ends": st.none() | st.integers(-MINUTE, HOUR),
        },
    ).map(lambda drawn: tuple(sorted(drawn.items())))
    return _weighted(
        (2, st.builds(Step, instants("start", "window"), st.just("settle"))),
        (2, st.builds(Step, instants("start", "window", "end"), st.just("outage"))),
        (2, st.builds(Step, instants("start"), st.just("amend"), author, changes=changes)),
        (1, st.builds(Step, instants("start"), st.just("announce"), author, ends=instants("start", "cap"))),
        (1, st.builds(Step, instants("start"), st.just("buy"), st.integers(0, 4))),
    )


def ends() -> st.SearchStrategy[Step]:
    """Acts that end an auction, if they are allowed."""
    when, author = instants("start", "end", "end"), st.sampled_from((AUTHOR, AUTHOR, AUTHOR, 1))
    return _weighted(
        (3, st.builds(Step, st.builds(Relative, st.just("end"), st.sampled_from((-1, 0, MINUTE))), st.just("settle"))),
        (1, st.builds(Step, when, st.just("buy"), st.integers(0, 4))),
        (1, st.builds(Step, when, st.just("cancel"), author)),
        (1, st.builds(Step, when, st.just("close_now"), author)),
    )


def steps() -> st.SearchStrategy[Step]:
    """The next act: a bid, nine times out of twelve."""
    return _weighted((18, bids()), (5, interludes()), (1, ends()))


def histories(steps_max: int = 14) -> st.SearchStrategy[History]:
    """Whole histories, most of them of one auction with several bidders, some over within them."""
    early, late = st.lists(interludes(), max_size=2), st.lists(steps(), max_size=steps_max)
    return st.builds(lambda lot, a, b, c: History(lot, (*a, *b, *c)), lots(), early, late, st.lists(ends(), max_size=2))
