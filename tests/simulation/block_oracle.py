"""A lot of a live sale by the rules: slow and obvious, from docs/rules.md ("On the block") and not from the code.

What stands is decided again from all requests after each correction. The acts of the clerk keep what stood before them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.bidding.domain.oracle import AUTHOR, Oracle

FLOOR = 90
"""Each bid of the floor is that of another person, from this number on: the floor is many people."""
OVER = ("closed", "cancelled")
STAGES = {"called": "fair_warning", "fair_warning": "final_call"}


@dataclass
class BidOrRaise:
    """An accepted request: a bid by its version, or a raise of its maximum; `named` is the bidder of a bid of the floor."""

    version: int
    who: int
    amount: int | None
    limit: int
    named: int | None = None
    raises: bool = False

    @property
    def holder(self) -> int:
        """Whose bid it is."""
        return self.who if self.named is None else self.named


@dataclass
class Back:
    """The act at `version` took the bid at `of` back: no bid stands."""

    version: int
    of: int


@dataclass
class ClerkAct:
    """An act of the clerk since the call, with the stage and the ask before it; `of` is the bid that it is about."""

    version: int
    what: str
    stage: str | None
    ask: int | None
    of: int = 0


@dataclass
class LiveOracle(Oracle):
    """See the module. Each act returns the code of a refusal, or None."""

    stage: str | None = None
    """None unless it is on the block."""
    asked_for: int | None = None
    """The ask that the auctioneer has set, until the next bid."""
    acts: list[ClerkAct] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    bids: list[int] = field(default_factory=list)
    """The versions of all bids that were asked for."""
    named: set[int] = field(default_factory=set)
    """Who was ever named as the bidder of a bid of the floor, as the log shows their names."""
    absentee: set[int] = field(default_factory=set)
    """The versions of the bids that staff have entered in the book."""
    lines: list[tuple[int, int]] = field(default_factory=list)
    """The lines of the book: the version of the bid that each placed or raised, and its maximum."""

    def seen(self) -> dict[str, Any]:
        """Everything that tests compare; the floor is one bidder there."""
        names = ("lot", "status", "outcome", "price", "maximum", "events", "hidden", "stage")
        own = {name: getattr(self, name) for name in names}
        rows = [type(row)(min(row.who, FLOOR), row.amount, row.limit, row.automatic) for row in self.rows]
        leader = None if self.leader is None else min(self.leader, FLOOR)
        return own | {"least": self.least(), "rows": rows, "leader": leader}

    def do(self, act: Any, now: int) -> str | None:
        """Let `act` happen at `now`; a lot that is over is not on the block."""
        code = super().do(act, now)
        self._leave_if_over()
        return code

    @property
    def version(self) -> int:
        """How many public events it has."""
        return sum(kind != "maximum.raised" for kind in self.events)

    def _events_since(self, version: int) -> list[str]:
        """The public events after the one at `version`."""
        return [kind for kind in self.events if kind != "maximum.raised"][version:]

    def least(self) -> int | None:
        """The ask that was set, as long as it is above the price; otherwise as everywhere."""
        own = self.asked_for
        if self.status not in OVER and self.stage is not None and own is not None and (self.price or -1) < own:
            return own
        return super().least()

    def bid(self, who: int, amount: int | None, maximum: int | None, now: int) -> str | None:
        """On the block a bid names the ask."""
        refusal = self._rule_1(who, now)
        if refusal:
            return refusal
        if who == self.leader:
            return self._raise(maximum)
        if self.stage is not None and amount != self.least():
            return "ask_changed"
        code = super().bid(who, amount, maximum, now)
        if code is None:
            plain = self.asked.pop()
            self.asked.append(BidOrRaise(plain.version, who, amount, plain.limit))
            self.bids.append(plain.version)
            self._ask_again()
        return code

    def _raise(self, maximum: int | None) -> str | None:
        if maximum is None or maximum <= self._maximum():
            return "already_leading"
        self.maximum = maximum
        self.events.append("maximum.raised")
        assert self.leader is not None
        self.asked.append(BidOrRaise(self._leading().version, self.leader, None, maximum, raises=True))
        if self._rule_5():
            self.events.append("reserve.met")
        return None

    def void(self, version: int, now: int) -> str | None:
        """Staff void a bid: what was undone or taken back is none any more. The ask follows the increments again."""
        if self.status in OVER:
            return "auction_closed"
        if version not in self.bids:
            return "unknown_bid"
        if version in self.voided or any(isinstance(one, Back) and one.of == version for one in self.asked):
            return "already_voided"
        self.voided.add(version)
        self._without(version)
        self.events.append("bid.voided")
        self._ask_again()
        return None

    def call(self, now: int) -> str | None:
        """Put it on the block."""
        refusal = self._untouchable(now)
        if refusal:
            return refusal
        self.open(now)
        self.acts = []
        self._did("auction.called", "call")
        self.stage, self.asked_for = "called", None
        return None

    def clerk_bids(self, who: int, amount: int | None, now: int) -> str | None:
        """The clerk takes the ask for somebody."""
        stage, ask = self.stage, self.least()
        code = self.bid(who, amount, None, now)
        if code is None:
            self.acts.append(ClerkAct(self.bids[-1], "bid", stage, ask))
        return code

    def ask(self, amount: int, now: int) -> str | None:
        """Ask for another price."""
        refusal = self.off_block(now)
        if refusal or amount <= (self.price or 0):
            return refusal or "ask_too_low"
        if amount != self.least():
            self._did("ask.set", "ask")
            self.stage, self.asked_for = "called", amount
        return None

    def warn(self, now: int) -> str | None:
        """Fair warning, then the final call."""
        refusal = self.off_block(now)
        following = STAGES.get(self.stage or "")
        if refusal is None and following is not None:
            ask = self.least()
            self._did("auction.warned", "warn")
            self.stage, self.asked_for = following, ask
        return refusal

    def name(self, who: int, now: int) -> str | None:
        """Say who made the bid of the floor that leads."""
        refusal = self.off_block(now)
        if refusal or self.leader is None or self.leader < FLOOR:
            return refusal or "not_of_the_floor"
        if who == AUTHOR:
            return "own_auction"
        bid = self._leading()
        self._did("bidder.named", "name", bid.version)
        bid.named = self.leader = who
        self.named.add(who)
        return None

    def sell(self, now: int, *, conditionally: bool = False) -> str | None:
        """Let the hammer fall."""
        refusal = self.off_block(now)
        if refusal or self.leader is None or self.leader >= FLOOR:
            return refusal or ("no_bid_stands" if self.leader is None else "needs_paddle")
        if not self._reaches() and not conditionally:
            return "below_reserve"
        self._hammer("sold" if self._reaches() else "conditional")
        return None

    def pass_(self, now: int) -> str | None:
        """Take it off the block unsold."""
        refusal = self.off_block(now)
        if refusal or (self.leader is not None and self._reaches()):
            return refusal or "bid_stands"
        self._hammer("no_bids" if self.leader is None else "reserve_not_met")
        return None

    def skip(self, now: int) -> str | None:
        """It leaves the block with its bids, also while it is hidden."""
        if self.status in OVER:
            return "auction_closed"
        if self.paused is not None:
            return "auction_paused"
        if self.stage is None:
            return "not_on_the_block"
        if self.leader is not None and self.leader >= FLOOR and not self.hidden:
            return "needs_paddle"
        self._did("auction.skipped", "skip")
        self.stage = self.asked_for = None
        return None

    def retract(self, who: int | None, now: int) -> str | None:
        """The leader takes the bid back; None for the leader, who it may be."""
        refusal = self.off_block(now)
        if refusal or self.leader is None or who not in (None, self.leader):
            return refusal or "not_leading"
        price, of = self.price, self._leading().version
        self._did("bid.retracted", "retract", of)
        self.asked.append(Back(self.version, of))
        self.leader = self.price = self.maximum = None
        self.stage, self.asked_for = "called", price
        return None

    def undo(self, now: int) -> str | None:
        """Take the last act back."""
        if self.status == "cancelled":
            return "auction_closed"
        if self.hidden or self.withheld or self.paused is not None:
            return "taken_down" if self.hidden or self.withheld else "auction_paused"
        acts = [act for act in self.acts if act.version not in self.voided]
        if not acts:
            return "nothing_to_undo"
        act = acts[-1]
        bid_since = any(bid > act.version for bid in self.bids if bid not in self.voided)
        void_since = "bid.voided" in self._events_since(act.version)
        if bid_since and act.what in ("call", "ask", "warn"):
            return "nothing_to_undo"
        self.acts = [one for one in self.acts if one is not act]
        if act.what == "bid":
            self.voided.add(act.version)
            self._without(act.version)
        elif act.what == "name":
            self._unname(act.of)
        elif act.what == "retract":
            self.asked = [one for one in self.asked if not (isinstance(one, Back) and one.version == act.version)]
            self._decide_again()
        self.events.append("act.undone")
        self.status, self.outcome = "open", None
        self.stage, self.asked_for = act.stage, act.ask
        if act.ask == super().least():
            self.asked_for = None  # it follows the increments
        outbid = act.ask is not None and (self.price or -1) >= act.ask
        if self.stage is not None and (bid_since or void_since or outbid):
            self._ask_again()
        return None

    def reopen(self, now: int) -> str | None:
        """Take the hammer back later."""
        if self.hidden or self.withheld or self.paused is not None:
            return "taken_down" if self.hidden or self.withheld else "auction_paused"
        if self.status != "closed":
            return "not_closed"
        self.events.append("auction.reopened")
        self.status, self.outcome, self.acts = "open", None, []
        return None

    def decide(self, *, accepted: bool) -> str | None:
        """The seller decides on a bid below the reserve."""
        if self.hidden or self.withheld:
            return "taken_down"
        if self.outcome != "conditional" or self.leader is None:
            return "not_conditional"
        self.events.append("auction.decided")
        self.outcome, self.acts = "sold" if accepted else "reserve_not_met", []
        return None

    def off_block(self, now: int) -> str | None:
        """Why nothing can be done on the block."""
        return self._untouchable(now) or ("not_on_the_block" if self.stage is None else None)

    def _untouchable(self, now: int) -> str | None:
        if self.status in OVER:
            return "auction_closed"
        return "taken_down" if self.hidden else "auction_paused" if self.paused is not None else None

    def _did(self, event: str, what: str, of: int = 0) -> None:
        before = (self.stage, None if self.stage is None else self.least())
        self.events.append(event)
        self.acts.append(ClerkAct(self.version, what, *before, of))

    def _hammer(self, outcome: str) -> None:
        self._did("auction.closed", "hammer")
        self.status, self.outcome = "closed", outcome
        self._leave_if_over()

    def _leave_if_over(self) -> None:
        if self.status in OVER:
            self.stage = self.asked_for = None

    def _ask_again(self) -> None:
        self.asked_for = None
        self.stage = None if self.stage is None else "called"

    def _reaches(self) -> bool:
        return self.lot.reserve is None or (self.price is not None and self.price >= self.lot.reserve)

    def _leading(self) -> BidOrRaise:
        own = [one for one in self.asked if isinstance(one, BidOrRaise) and one.holder == self.leader]
        first = [one for one in own if not one.raises and one.version == own[-1].version]
        return (first or own)[0]

    def _without(self, version: int) -> None:
        self.asked = [one for one in self.asked if isinstance(one, Back) or one.version != version]
        self._decide_again()

    def _unname(self, version: int) -> None:
        raises = [one for one in self.asked if isinstance(one, BidOrRaise) and one.version == version and one.raises]
        self.asked = [one for one in self.asked if one not in raises]
        for one in self.asked:
            if isinstance(one, BidOrRaise) and one.version == version:
                one.named = None
        self._decide_again()

    def _decide_again(self) -> None:
        """Decide all requests that are left, in order; nothing is refused."""
        reserve, leader, price, maximum = self.lot.reserve, None, 0, 0
        for one in self.asked:
            if isinstance(one, Back):
                leader = None
                continue
            if leader is None:
                leader, price = one.who, self.lot.starting if one.amount is None else one.amount
                maximum = one.limit
            elif one.who == leader:
                maximum = max(maximum, one.limit)
            elif one.limit > maximum:
                price = max(one.amount or 0, min(one.limit, maximum + self.inc(maximum)))
                leader, maximum = one.who, one.limit
            else:
                price = max(price, min(maximum, one.limit + self.inc(one.limit)))
            if reserve is not None and price < reserve <= maximum:
                price = reserve
            if leader == one.who:
                leader = one.holder
        self.leader, self.price, self.maximum = (None, None, None) if leader is None else (leader, price, maximum)


def move(oracle: Oracle, source: int, target: int) -> None:
    """All bids of one person become those of another."""
    oracle.rows = [replace(row, who=target if row.who == source else row.who) for row in oracle.rows]
    for one in oracle.asked:
        if not isinstance(one, Back):
            one.who = target if one.who == source else one.who
        if isinstance(one, BidOrRaise):
            one.named = target if one.named == source else one.named
    oracle.leader = target if oracle.leader == source else oracle.leader
    if isinstance(oracle, LiveOracle) and source in oracle.named:
        oracle.named = {*oracle.named - {source}, target}


def has_bid(oracle: Oracle, who: int) -> bool:
    """Whether somebody has bid here, also in vain, or was named as one of the floor."""
    named = isinstance(oracle, LiveOracle) and who in oracle.named
    return named or any(row.who == who for row in oracle.rows)
