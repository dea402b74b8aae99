"""Fund-a-need: a lot of a live sale for which paddles are noted at each level (docs/rules.md, "Fund-a-need", number by number).

Nobody wins it. It has no auction: its state is here, and the pledges beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise

from msgspec import Struct, structs

from saleroom.bidding.domain.errors import NotClosed, NothingToUndo, NotOnBlock, OnBlock
from saleroom.bidding.domain.events import Channel
from saleroom.kernel.errors import Contradiction, Fault
from saleroom.kernel.money import STEP, ZERO
from saleroom.kernel.parties import Party
from saleroom.sales.domain.errors import (
    LevelChanged,
    NeedClosed,
    NoLevelLeft,
    PledgedAlready,
    PledgesStand,
    PledgeUndoneAlready,
)
from saleroom.sales.domain.sale import Sale

LEVELS_MAX = 20
PLEDGES_MAX = 10_000
"""The most pledges of one fund-a-need, those that were undone among them."""
OUTCOME = "funded"
"""How it ends: the outcome in the event of its close."""


class Stage(StrEnum):
    """Where it is: not called yet or skipped, on the block, closed by the hammer, or withdrawn before it was offered."""

    WAITING = "waiting"
    ON_BLOCK = "on_block"
    CLOSED = "closed"
    NEVER_OFFERED = "never_offered"


class Need(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is asked for, and how far its calling is. `level` is the present one, None before the first call.

    `acts` counts the acts of clerks on it, without the pledges.
    """

    levels: tuple[Decimal, ...]
    goal: Decimal | None = None
    stage: Stage = Stage.WAITING
    level: Decimal | None = None
    acts: int = 0

    @property
    def on_block(self) -> bool:
        """Whether pledges are taken."""
        return self.stage is Stage.ON_BLOCK

    @property
    def tag(self) -> str:
        """The identifier of its state, on which the acts of clerks rest. Pledges do not change it."""
        return f"n{self.acts}"


class Pledge(Struct, frozen=True, kw_only=True):
    """What somebody has promised; `number` counts those of the lot. One that was undone stands no more."""

    number: int
    user: Party
    amount: Decimal
    channel: Channel
    at: datetime
    undone_at: datetime | None = None

    @property
    def stands(self) -> bool:
        """Whether it counts."""
        return self.undone_at is None


class Tally(Struct, frozen=True):
    """How many pledges stand at each amount."""

    by_level: Mapping[Decimal, int] = {}

    @property
    def total(self) -> Decimal:
        """What was promised."""
        return sum((amount * count for amount, count in self.by_level.items()), ZERO).quantize(STEP)

    @property
    def count(self) -> int:
        """How many pledges stand."""
        return sum(self.by_level.values())


def tally(pledges: Iterable[Pledge]) -> Tally:
    """Return what stands of some pledges."""
    found: dict[Decimal, int] = {}
    for one in pledges:
        if one.stands:
            found[one.amount] = found.get(one.amount, 0) + 1
    return Tally(found)


def refuse_contradictory_need(need: Need) -> None:
    """Raise Contradiction unless there are 1 to 20 levels from high to low, and the goal is an amount."""
    levels, faults = need.levels, {}
    if not 1 <= len(levels) <= LEVELS_MAX:
        faults["levels"] = [Fault("levels_count", f"must be 1 to {LEVELS_MAX}", most=LEVELS_MAX)]
    elif min(levels) <= ZERO:
        faults["levels"] = [Fault("levels_positive", "must be above 0")]
    elif any(low >= high for high, low in pairwise(levels)):
        faults["levels"] = [Fault("levels_descending", "must go from high to low, each once")]
    if need.goal is not None and need.goal <= ZERO:
        faults["goal"] = [Fault("goal_positive", "must be above 0")]
    if faults:
        raise Contradiction(faults)


def refuse_need_in(sale: Sale, need: Need) -> None:
    """Raise Contradiction for a need that contradicts itself, or in a timed sale: an auctioneer calls its levels."""
    if sale.is_timed:
        raise Contradiction.one("levels", "needs_live", "must be in a live sale, as an auctioneer calls them")
    refuse_contradictory_need(need)


def refuse_terms_of_auctions(changes: Collection[str]) -> None:
    """Raise Contradiction for changes of a fund-a-need that only an auction can have."""
    fault = Fault("of_auctions", "must be left out, as a fund-a-need has levels")
    faults = {name: [fault] for name in ("starting_price", "reserve_price") if name in changes}
    if faults:
        raise Contradiction(faults)


def refuse_to_withdraw(need: Need, standing: Tally) -> None:
    """Raise OnBlock, or PledgesStand: what somebody has promised is undone first."""
    if need.on_block:
        raise OnBlock
    if standing.count:
        raise PledgesStand


def amended(need: Need, changes: Mapping[str, object], *, pledged: bool) -> Need:
    """Return it with other levels or another goal. Raises Contradiction, and PledgesStand once somebody has pledged.

    The goal alone can always be changed, until it is closed: NeedClosed.
    """
    after = structs.replace(need, **changes)
    if after == need:
        return need
    refuse_contradictory_need(after)
    if need.stage is Stage.CLOSED:
        raise NeedClosed
    if pledged and after.levels != need.levels:
        raise PledgesStand
    return after


def call(need: Need) -> Need:
    """Put it on the block: at the level that it had when it was skipped, or at the highest. Raises NeedClosed."""
    if need.stage is Stage.CLOSED:
        raise NeedClosed
    return _acted(need, stage=Stage.ON_BLOCK, level=_level(need))


def set_level(need: Need, amount: Decimal | None) -> Need:
    """Go to another amount, or without one to the next lower level. Raises NotOnBlock, NoLevelLeft or Contradiction."""
    refuse_off_block(need)
    if amount is not None and amount <= ZERO:
        raise Contradiction.one("amount", "levels_positive", "must be above 0")
    if amount is None:
        amount = next((level for level in need.levels if need.level is None or level < need.level), None)
    if amount is None:
        raise NoLevelLeft
    return _acted(need, level=amount)


def refuse_pledge(need: Need, amount: Decimal, own: Iterable[Pledge], *, again: bool) -> None:
    """Raise NotOnBlock, LevelChanged, or PledgedAlready if the giver has given this `amount` and nobody has said `again`.

    `own` are the pledges of the giver.
    """
    refuse_off_block(need)
    if amount != need.level:
        raise LevelChanged(level=need.level)
    if not again and any(one.stands and one.amount == amount for one in own):
        raise PledgedAlready(amount=amount)


def undo_pledge(need: Need, pledge: Pledge, now: datetime) -> Pledge:
    """Return a pledge that stands no more. Raises PledgeUndone, or NeedClosed once the lot is closed."""
    if need.stage is Stage.CLOSED:
        raise NeedClosed
    if not pledge.stands:
        raise PledgeUndoneAlready(pledge=pledge.number)
    return structs.replace(pledge, undone_at=now)


def close(need: Need) -> Need:
    """End it by the hammer: what stands is what was raised. Raises NotOnBlock."""
    refuse_off_block(need)
    return _acted(need, stage=Stage.CLOSED)


def skip(need: Need) -> Need:
    """Take it off the block with its pledges; it is called later. Raises NotOnBlock."""
    refuse_off_block(need)
    return _acted(need, stage=Stage.WAITING)


def undo(need: Need, standing: Tally) -> Need:
    """Take the hammer back, a skip, or a call after which nobody has pledged. Raises NothingToUndo: pledges go by row."""
    if not need.on_block:
        return _acted(need, stage=Stage.ON_BLOCK, level=_level(need))
    if standing.count:
        raise NothingToUndo
    return _acted(need, stage=Stage.WAITING, level=None)


def reopen(need: Need) -> Need:
    """Take the hammer back after another lot was called; it can be called again. Raises NotClosed."""
    if need.stage is not Stage.CLOSED:
        raise NotClosed
    return _acted(need, stage=Stage.WAITING)


def end(need: Need) -> Need:
    """Close it at the end of the sale, whether it was called or not."""
    return _acted(need, stage=Stage.CLOSED)


def refuse_off_block(need: Need) -> None:
    """Raise NotOnBlock unless pledges are taken."""
    if not need.on_block:
        raise NotOnBlock


def _level(need: Need) -> Decimal:
    return need.levels[0] if need.level is None else need.level


def _acted(need: Need, **changes: object) -> Need:
    return structs.replace(need, acts=need.acts + 1, **changes)
