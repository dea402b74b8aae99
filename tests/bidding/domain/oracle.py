"""A second, naive model of an auction, written from the rules and not from the code, to compare with the code.

Money is in thousandths, an instant is in microseconds since the auction's creation, and people are numbers: 0 is the
author. A refusal is its code; for contradictory terms their `field/code` pairs follow it.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from tests.bidding.domain.contradictions import contradictions
from tests.bidding.domain.voids import BidOrRaise, Clock, Moderate, Void, decided_again, halted, moderated, own_version

LIMIT = 10**20 - 1
SECOND = 1_000_000
AUTHOR = 0
DEFAULT_TIERS = (
    *((0, 10), (1_000, 100), (10_000, 1_000), (100_000, 10_000), (1_000_000, 100_000)),
    *((10_000_000, 1_000_000), (100_000_000, 10_000_000)),
)


@dataclass(frozen=True)
class SoftCloseRule:
    """Soft close: `window` and `extension` in seconds."""

    window: int
    extension: int
    cap: int | None = None


@dataclass(frozen=True)
class Terms:
    """The terms of an auction."""

    starting: int
    reserve: int | None = None
    buy_now: int | None = None
    soft_close: SoftCloseRule | None = SoftCloseRule(120, 120)
    starts: int | None = None
    ends: int | None = None
    tiers: tuple[tuple[int, int], ...] = DEFAULT_TIERS


@dataclass(frozen=True)
class Bid:
    who: int
    amount: int | None
    maximum: int | None


@dataclass(frozen=True)
class Buy:
    who: int


@dataclass(frozen=True)
class Amend:
    """`changes` pairs each changed field of `Terms` with its new value."""

    who: int
    changes: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Cancel:
    who: int


@dataclass(frozen=True)
class Announce:
    who: int
    ends: int


@dataclass(frozen=True)
class CloseNow:
    who: int


@dataclass(frozen=True)
class Settle:
    """The closer settles the auction."""


@dataclass(frozen=True)
class Outage:
    """The house was down from `since` until now."""

    since: int


Act = Bid | Buy | Amend | Cancel | Announce | CloseNow | Settle | Outage


@dataclass(frozen=True)
class Row:
    """A recorded bid."""

    who: int
    amount: int
    limit: int
    automatic: bool


@dataclass
class Oracle:
    """An auction by the rules. `do` returns the code of a refusal, or None."""

    lot: Terms
    status: str = "open"
    outcome: str | None = None
    price: int | None = None
    leader: int | None = None
    maximum: int | None = None
    rows: list[Row] = field(default_factory=list)
    events: list[str] = field(default_factory=lambda: ["auction.created"])
    asked: list[BidOrRaise] = field(default_factory=list)
    """The accepted requests of bids that stand."""
    voided: set[int] = field(default_factory=set)
    hidden: bool = False
    withheld: bool = False  # hidden since it was over, which is no event
    paused: int | None = None

    def __post_init__(self) -> None:
        if self.lot.starts is not None and self.lot.starts > 0:
            self.status = "scheduled"

    def seen(self) -> dict[str, Any]:
        """Everything that tests compare."""
        own = {
            name: value for name, value in vars(self).items() if name not in ("asked", "voided", "withheld", "paused")
        }
        return own | {"least": self.least()}

    def do(self, act: Act | Void | Moderate | Clock, now: int) -> str | None:
        """Let `act` happen at `now`."""
        match act:
            case Bid(who, amount, maximum):
                return self.bid(who, amount, maximum, now)
            case Buy(who):
                return self.buy(who, now)
            case Void(version):
                return self.void(version, now)
            case Moderate(what):
                return moderated(self, what, now)
            case Clock(what):
                halted(self, what, now)
            case Amend(who, changes):
                return self.amend(who, dict(changes), now)
            case Cancel(who):
                return self.cancel(who, now)
            case Announce(who, ends):
                return self.announce(who, ends, now)
            case CloseNow(who):
                return self.close_now(who, now)
            case Settle():
                self.settle(now)
            case Outage(since):
                self.outage(since, now)
        return None

    def clock(self, now: int) -> int:
        """What its clock shows: it stands still while the auction is paused."""
        return now if self.paused is None else self.paused

    def least(self) -> int | None:
        """The minimum bid: S if there is no bid, otherwise P + inc(P)."""
        if self.status in ("closed", "cancelled"):
            return None
        if self.price is None:
            return self.lot.starting
        least = self.price + self.inc(self.price)
        return least if least <= LIMIT else None

    def inc(self, price: int) -> int:
        """The step of the tier that holds `price` itself."""
        return [step for start, step in self.lot.tiers if start <= price][-1]

    def bid(self, who: int, amount: int | None, maximum: int | None, now: int) -> str | None:
        refusal = self._rule_1(who, now)
        if refusal:
            return refusal
        if who == self.leader:
            return self._rule_2(maximum)
        m = maximum if maximum is not None else amount
        least = self.least()
        assert m is not None
        if least is None or m < least or (amount is not None and amount < least):
            return "bid_too_low"
        self.open(now)
        before = (self.price, self.leader)
        if self.leader is None:  # 4a
            self._lead(who, self.lot.starting if amount is None else amount, m)
        elif m > self._maximum():  # 4b
            old = self._maximum()
            if old > self._price():
                self._row(Row(self.leader, old, old, automatic=True))
            self._lead(who, max(amount or 0, min(m, old + self.inc(old))), m)
        else:  # 4c
            self.price = min(self._maximum(), m + self.inc(m))
            both = [
                Row(who, m, m, automatic=False),
                Row(self.leader, self.price, self._maximum(), automatic=True),
            ]
            for row in reversed(both) if m == self._maximum() else both:
                self._row(row)
        if before != (self.price, self.leader):
            self._rule_6(now)
        self.asked.append(BidOrRaise(own_version(self), who, amount, m))
        return None

    def void(self, version: int, now: int) -> str | None:
        if self.status in ("closed", "cancelled") or (self.lot.ends is not None and self.clock(now) >= self.lot.ends):
            return "auction_closed"
        if version in self.voided:
            return "already_voided"
        if version not in {one.version for one in self.asked}:
            return "unknown_bid"
        self.voided.add(version)
        self.asked = [one for one in self.asked if one.version != version]
        self.leader, self.price, self.maximum = decided_again(self.asked, self.lot.starting, self.lot.reserve, self.inc)
        self.events.append("bid.voided")
        self._rule_6(now)
        return None

    def buy(self, who: int, now: int) -> str | None:
        refusal = self._rule_1(who, now)
        if refusal:
            return refusal
        if self.lot.buy_now is None or self.leader is not None:
            return "buy_now_unavailable"
        self.open(now)
        self._lead(who, self.lot.buy_now, self.lot.buy_now)
        self._close()
        return None

    def amend(self, who: int, changes: dict[str, Any], now: int) -> str | None:
        refusal = self._for_author(who, now) or ("has_bids" if self.leader is not None else None) or self._halts()
        if refusal:
            return refusal
        after = replace(self.lot, **changes)
        waits = self.status == "scheduled" and self.lot.starts is not None and now < self.lot.starts
        if after.starts != self.lot.starts and not waits:
            return "auction_started"
        if after != self.lot:
            faults = contradictions(after, now if after.ends != self.lot.ends else None)
            if faults:
                return faults
        self.open(now)
        if after != self.lot:
            self.lot = after
            self.events.append("auction.amended")
            self.open(now)
        return None

    def cancel(self, who: int, now: int) -> str | None:
        refusal = self._for_author(who, now) or ("has_bids" if self.leader is not None else None)
        if refusal:
            return refusal
        self.open(now)
        self.status, self.paused = "cancelled", None
        self.events.append("auction.cancelled")
        return None

    def announce(self, who: int, ends: int, now: int) -> str | None:
        refusal = self._for_author(who, now) or ("ends_by_itself" if self.lot.ends is not None else None)
        refusal = refusal or self._halts()
        if refusal:
            return refusal
        after = replace(self.lot, ends=ends)
        faults = contradictions(after, now)
        if faults:
            return faults
        self.open(now)
        self.lot = after
        self.events.append("auction.amended")
        return None

    def close_now(self, who: int, now: int) -> str | None:
        refusal = self._for_author(who, now) or ("ends_by_itself" if self.lot.ends is not None else None)
        refusal = refusal or self._halts()
        if refusal or self.hidden:
            return refusal or "taken_down"
        if self.status == "scheduled" and self.lot.starts is not None and now < self.lot.starts:
            return "auction_not_started"
        self.open(now)
        self._close()
        return None

    def settle(self, now: int) -> None:
        if self.status in ("closed", "cancelled"):
            return
        self.open(now)
        if self.status == "open" and self.lot.ends is not None and self.clock(now) >= self.lot.ends:
            self._close()

    def outage(self, since: int, now: int) -> None:
        soft, end = self.lot.soft_close, self.lot.ends
        if self.status in ("closed", "cancelled") or self.paused is not None or soft is None or end is None:
            return
        missed = since < end and end - soft.window * SECOND < now
        later = self._later(now)
        if missed and later > max(end, now):
            self.open(now)
            self._extend(later)

    def _halts(self) -> str | None:
        return None if self.paused is None else "auction_paused"

    def _rule_1(self, who: int, now: int) -> str | None:
        if self.status in ("closed", "cancelled") or (self.lot.ends is not None and self.clock(now) >= self.lot.ends):
            return "auction_closed"
        if self.hidden:
            return "taken_down"
        if self.paused is not None:
            return "auction_paused"
        if self.status == "scheduled" and self.lot.starts is not None and now < self.lot.starts:
            return "auction_not_started"
        return "own_auction" if who == AUTHOR else None

    def _rule_2(self, maximum: int | None) -> str | None:
        if maximum is None or maximum <= self._maximum():
            return "already_leading"
        self.maximum = maximum
        self.events.append("maximum.raised")
        own = [one for one in self.asked if one.who == self.leader]
        assert self.leader is not None
        self.asked.append(BidOrRaise(own[-1].version, self.leader, None, maximum))
        if self._rule_5():
            self.events.append("reserve.met")
        return None

    def _rule_5(self) -> bool:
        reserve = self.lot.reserve
        if reserve is None or self._maximum() < reserve or self._price() >= reserve:
            return False
        self.price = reserve
        return True

    def _rule_6(self, now: int) -> None:
        soft, end = self.lot.soft_close, self.lot.ends
        if soft is not None and end is not None and end - self.clock(now) <= soft.window * SECOND:
            later = self._later(self.clock(now))
            if later > end:
                self._extend(later)

    def _later(self, now: int) -> int:
        soft = self.lot.soft_close
        assert soft is not None
        later = now + soft.extension * SECOND
        return later if soft.cap is None else min(later, soft.cap)

    def _extend(self, later: int) -> None:
        self.lot = replace(self.lot, ends=later)
        self.events.append("auction.extended")

    def _for_author(self, who: int, now: int) -> str | None:
        if who != AUTHOR:
            return "not_author"
        over = self.status in ("closed", "cancelled") or (
            self.lot.ends is not None and self.clock(now) >= self.lot.ends
        )
        return "auction_closed" if over else None

    def open(self, now: int) -> None:
        if self.status == "scheduled" and (self.lot.starts is None or self.clock(now) >= self.lot.starts):
            self.status = "open"
            self.events.append("auction.opened")

    def _close(self) -> None:
        self.status = "cancelled" if self.hidden else "closed"
        self.events.append(f"auction.{self.status}")
        if self.hidden:
            return
        if self.price is None:
            self.outcome = "no_bids"
        elif self.lot.reserve is not None and self.price < self.lot.reserve:
            self.outcome = "reserve_not_met"
        else:
            self.outcome = "sold"

    def _lead(self, who: int, price: int, m: int) -> None:
        self.leader, self.price, self.maximum = who, price, m
        self._rule_5()
        self._row(Row(who, self.price, m, automatic=False))

    def _row(self, row: Row) -> None:
        self.rows.append(row)
        self.events.append("bid.placed")

    def _price(self) -> int:
        assert self.price is not None
        return self.price

    def _maximum(self) -> int:
        assert self.maximum is not None
        return self.maximum
