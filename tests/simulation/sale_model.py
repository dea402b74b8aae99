"""The expected sale, decision by decision: its block, its people, their limits, its order, and its log (docs/rules.md)."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.bidding.domain.oracle import AUTHOR, Amend
from tests.bidding.domain.voids import Moderate
from tests.simulation import need_model
from tests.simulation.block_oracle import FLOOR, OVER, LiveOracle
from tests.simulation.need_model import NeedModel

if TYPE_CHECKING:
    from tests.simulation.model import Model, ModelAuction

SALE = "sale"
"""The gid of the sale to which all lots of some seeds belong."""


@dataclass
class Participant:
    """A person in the sale; `name` is the one that others see, None for the username."""

    gid: str
    standing: str
    limit: int | None = None
    paddle: int | None = None
    is_guest: bool = False
    online: bool = True
    name: str | None = None

    @property
    def may_bid(self) -> bool:
        """Whether staff or the rules have approved them."""
        return self.standing in ("approved", "limited")


@dataclass
class SaleModel:
    """See the module. `events` is the log: the type of each event, and what it says of its lot."""

    house: Model
    live: bool
    names: str = "usernames"
    registration: str = "none"
    limit_default: int | None = None
    following: int | None = None
    """The spacing in microseconds, if ends follow."""
    opens: int | None = None
    status: str = "published"
    order: list[str] = field(default_factory=list)
    """The gids of the lots, in the order of calling."""
    labels: dict[str, str] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)
    needs: dict[str, NeedModel] = field(default_factory=dict)
    """The fund-a-needs among the lots; all others are auctions."""
    made_on_the_spot: set[str] = field(default_factory=set)
    """The lots that the entry of a result has made."""
    last: str | None = None
    """The lot that was called last."""
    people: dict[int, Participant] = field(default_factory=dict)
    events: list[tuple[Any, ...]] = field(default_factory=list)
    floors: int = 0
    merged: dict[int, int] = field(default_factory=dict)
    """Who is one with whom, also if the bids of both stayed."""

    @property
    def over(self) -> bool:
        """Whether it is over."""
        return self.status == "closed"

    def lot(self, gid: str) -> ModelAuction:
        """Return a lot's auction."""
        return self.house.auctions[gid]

    def block(self, gid: str) -> LiveOracle:
        """Return a lot by the rules."""
        oracle = self.lot(gid).oracle
        assert isinstance(oracle, LiveOracle)
        return oracle

    def name(self, who: int) -> str | None:
        """Return the name by which others see a person; None for the username."""
        known = self.people.get(who)
        return "#floor" if who >= FLOOR else None if known is None else known.name

    def bid(self, gid: str, who: int, place: Callable[[ModelAuction], str | None]) -> str | None:
        """Let a person bid on a lot, if the sale admits them, and if it does not go beyond their limit."""
        refusal = self.refuses(who)
        if refusal:
            return refusal
        lot, known = self.lot(gid), self.people.get(who)
        if known is None or known.limit is None:
            return place(lot)
        before, elsewhere = copy.deepcopy((lot.oracle, lot.last)), self.exposure(who, gid)
        here = self.owes(gid, who)
        code = place(lot)
        asked = self._asked(lot, who)
        if code is None and elsewhere + max(asked, here) > known.limit:
            lot.oracle, lot.last = before
            return "beyond_limit"
        return code

    def _asked(self, lot: ModelAuction, who: int) -> int:
        """Return the limit of the bid that was just placed, or named."""
        return next((one.limit for one in reversed(lot.oracle.asked) if _holder(one) == lot.who(who)), 0)

    def refuses(self, who: int) -> str | None:
        """Return why a person may not bid at all."""
        known = self.people.get(who)
        needed = self.registration != "none" or self.names == "paddles"
        if known is None:
            return "not_registered" if needed else None
        if known.standing == "declined":
            return "registration_declined"
        return "registration_pending" if needed and not known.may_bid else None

    def exposure(self, who: int, but: str | None = None) -> int:
        """Return what a person owes and may come to owe, on all lots but one."""
        return sum(self.owes(gid, who) for gid in self.order if gid != but)

    def owes(self, gid: str, who: int) -> int:
        """Return what a person owes and may come to owe on one lot."""
        if gid in self.needs:
            return self.needs[gid].owed_by(who)
        lot = self.lot(gid)
        oracle = lot.oracle
        if oracle.leader is None or oracle.leader != lot.who(who):
            return 0
        if oracle.status in OVER:
            return (oracle.price or 0) if oracle.outcome in ("sold", "conditional") else 0
        return oracle.maximum or 0

    def play(self, gid: str, now: datetime, act: Callable[[Any, int], str | None]) -> str | None:
        """Let something happen to a lot."""
        return self.lot(gid).play(act, now)

    def tell(self, kind: str, gid: str, *more: Any) -> None:
        """Add an event about a lot to the log."""
        self.events.append((kind, self.labels[gid], *more))

    def begin(self, gid: str) -> None:
        """A lot was called; the first call begins the sale."""
        if self.status == "published":
            self.events.append(("sale.running",))
            self.status = "running"
        self.last = gid
        self.tell("lot.called", gid)

    def is_over(self, gid: str) -> bool:
        """Whether a lot can be called no more."""
        if gid in self.needs:
            return self.needs[gid].stage == "closed" or gid in self.withdrawn
        return self.lot(gid).oracle.status in OVER

    def labelled(self, label: str) -> str | None:
        """Return the lot with a label."""
        return next((gid for gid, own in self.labels.items() if own == label), None)

    def with_paddle(self, paddle: int | None) -> int | None:
        """Return who has a paddle."""
        return next((who for who, one in self.people.items() if paddle is not None and one.paddle == paddle), None)

    def waiting(self) -> list[str]:
        """Return the lots that are not over: those after the last called one, then those before it and itself."""
        place = -1 if self.last is None else self.order.index(self.last)
        left = [*self.order[place + 1 :], *self.order[: place + 1]]
        return [gid for gid in left if not self.is_over(gid)]

    def to_be_called(self) -> list[str]:
        """Return those of them that are not hidden."""
        return [gid for gid in self.waiting() if gid in self.needs or not self.block(gid).hidden]

    def set_order(self, labels: list[str] | None, first: int | None, now: datetime) -> str | None:
        """Put the lots in another order, and perhaps give them new numbers."""
        if self.over:
            return "sale_over"
        known = [self.labels[gid] for gid in self.order]
        labels = known if labels is None else list(labels)
        if faults := sorted(_faults(known, labels)):
            return "validation " + " ".join(f"labels/{fault}" for fault in faults)
        if first is not None and self.status != "published":
            return "sale_running"
        gids = [gid for label in labels if (gid := self.labelled(label))]
        if labels != known and (code := self._deal_ends(gids, now)):
            return code
        after = labels if first is None else [str(first + place) for place in range(len(labels))]
        if labels != known or after != known:
            self.order, self.labels = gids, dict(zip(gids, after, strict=True))
            self.events.append(("order.set", tuple(after), first is not None))
        return None

    def _deal_ends(self, gids: list[str], now: datetime) -> str | None:
        of_auctions = [one for one in self.order if one not in {*self.withdrawn, *self.needs}]
        in_turn = [one for one in of_auctions if not self.is_over(one)]
        ends = [self.lot(gid).oracle.lot.ends for gid in in_turn]
        dealt = list(zip([gid for gid in gids if gid in in_turn], ends, strict=True))
        moved = [(gid, end) for gid, end in dealt if end is not None and end != self.lot(gid).oracle.lot.ends]
        if any(self.lot(gid).oracle.rows for gid, _ in moved):
            return "bid_on_lots"
        before = {gid: copy.deepcopy((self.lot(gid).oracle, self.lot(gid).last)) for gid, _ in moved}
        for gid, end in moved:
            code = self.lot(gid).do(Amend(AUTHOR, (("ends", end),)), now)
            if code:
                for one, (oracle, last) in before.items():
                    self.lot(one).oracle, self.lot(one).last = oracle, last
                return code
        return None

    def withdraw(self, label: str, reason: str, now: datetime) -> str | None:
        """Withdraw a lot for good."""
        if self.over:
            return "sale_over"
        gid = self.labelled(label)
        if gid is None or gid in self.withdrawn:
            return "unknown_lot" if gid is None else "lot_withdrawn"
        need = self.needs.get(gid)
        code = self.lot(gid).do(Moderate("cancel"), now) if need is None else need_model.withdrawn(need)
        if code is None:
            self.withdrawn.add(gid)
            self.tell("lot.withdrawn", gid, reason)
        return code

    def halt(self, what: str) -> str | None:
        """Pause, or go on; the lots are the caller's."""
        if self.over:
            return "sale_over"
        if self.status != ("running" if what == "pause" else "paused"):
            return "sale_not_running" if what == "pause" else "sale_not_paused"
        self.status = "paused" if what == "pause" else "running"
        self.events.append(("sale.paused" if what == "pause" else "sale.resumed",))
        return None

    def settle(self, now: int) -> None:
        """A timed sale begins with its opening, and is over with its last lot."""
        if self.live:
            return
        if self.status == "published" and (self.opens is None or self.opens <= now):
            self.status = "running"
            self.events.append(("sale.running",))
        if self.status == "running" and all(self.lot(gid).oracle.status in OVER for gid in self.order):
            self.status = "closed"
            self.events.append(("sale.closed",))

    def earliest_ends(self) -> dict[str, int]:
        """Return the ends of the lots that end too early, as those before them end later."""
        found: dict[str, int] = {}
        before: int | None = None
        if self.following is None or self.status not in ("published", "running"):
            return found
        for gid in self.order:
            lot = self.lot(gid).oracle
            if lot.lot.ends is None or lot.status == "cancelled":
                continue
            end = lot.lot.ends
            if before is not None and end < before + self.following and lot.status not in OVER:
                end = found[gid] = before + self.following
            before = end
        return found


def follow(end: int, oracle: Any, now: int) -> None:
    """Move the end of a lot to that which follows the lots before it, if that is ahead."""
    if end <= now:
        return
    if oracle.status in OVER or oracle.paused is not None or oracle.lot.ends is None or oracle.lot.ends >= end:
        return
    oracle.open(now)
    oracle.lot = replace(oracle.lot, ends=end)
    oracle.events.append("auction.extended")


def _holder(one: Any) -> int | None:
    return getattr(one, "holder", getattr(one, "who", None))


def _faults(known: list[str], labels: list[str]) -> list[str]:
    named = {
        "repeated_lots": any(count > 1 for count in Counter(labels).values()),
        "unknown_lots": not set(labels) <= set(known),
        "missing_lots": not set(known) <= set(labels),
    }
    return [fault for fault, holds in named.items() if holds]
