"""The expected fund-a-need of a live sale (docs/rules.md, "Fund-a-need"): its levels, its pledges, and who owes what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tests.bidding.domain.playing import units

if TYPE_CHECKING:
    from tests.simulation.sale_model import SaleModel

OF_NEEDS = ("level", "pledge", "undo_pledge")
"""The acts that only a fund-a-need takes."""


@dataclass(frozen=True)
class Promise:
    """A pledge: what somebody has promised, and whether it stands."""

    who: int
    amount: int
    stands: bool = True


@dataclass
class NeedModel:
    """A fund-a-need by the rules; the number of a pledge is its place among all of them, counted from 1."""

    levels: tuple[int, ...]
    stage: str = "waiting"
    level: int | None = None
    acts: int = 0
    pledges: list[Promise] = field(default_factory=list)

    @property
    def standing(self) -> list[Promise]:
        """The pledges that count."""
        return [one for one in self.pledges if one.stands]

    def owed_by(self, who: int) -> int:
        """Return what a person has promised."""
        return sum(one.amount for one in self.standing if one.who == who)

    def has_pledged(self, who: int) -> bool:
        """Whether a person has pledged, also what was undone."""
        return any(one.who == who for one in self.pledges)

    def move(self, source: int, target: int) -> None:
        """All pledges of one person become those of another."""
        self.pledges = [replace(one, who=target if one.who == source else one.who) for one in self.pledges]

    def called(self) -> str | None:
        """It comes on the block, at the level that it had or at the highest."""
        if self.stage == "closed":
            return "need_closed"
        return self._acts("on_block", self.levels[0] if self.level is None else self.level)

    def closed(self) -> str | None:
        """The hammer falls, or the sale ends."""
        return self._acts("closed", self.level)

    def set_level(self, amount: int | None) -> str | None:
        """The auctioneer asks for another amount, or for the next lower level."""
        if amount is not None and amount <= 0:
            return "validation amount/levels_positive"
        lower = [one for one in self.levels if self.level is None or one < self.level]
        if amount is None and not lower:
            return "no_level_left"
        return self._acts(self.stage, lower[0] if amount is None else amount)

    def undone(self) -> str | None:
        """The last act of the clerk is taken back: a hammer, a skip, or a call after which nobody has pledged."""
        if self.stage != "on_block":
            return self._acts("on_block", self.levels[0] if self.level is None else self.level)
        return "nothing_to_undo" if self.standing else self._acts("waiting", None)

    def reopened(self) -> str | None:
        """It can be called again."""
        return self._acts("waiting", self.level) if self.stage == "closed" else "not_closed"

    def skipped(self) -> str | None:
        """It leaves the block with its level and its pledges."""
        return self._acts("waiting", self.level)

    def _acts(self, stage: str, level: int | None) -> str | None:
        self.stage, self.level, self.acts = stage, level, self.acts + 1
        return None


def act(sale: SaleModel, gid: str, asked: Any) -> str | None:
    """Let a clerk act on a fund-a-need, and return the code of a refusal."""
    need = sale.needs[gid]
    if asked.act == "pledge":
        who = sale.with_paddle(asked.paddle)
        return "unknown_paddle" if who is None else pledge(sale, gid, who, units(asked.amount), again=asked.again)
    if asked.act == "undo_pledge":
        return _undo_pledge(sale, gid, asked.pledge)
    amount = None if asked.amount is None else units(asked.amount)
    simple: dict[str, Callable[[], str | None]] = {
        "level": lambda: need.set_level(amount),
        "sell": need.closed,
        "skip": need.skipped,
        "undo": need.undone,
    }
    if asked.act not in simple:
        return "of_auctions"
    if asked.seen != f"{gid}-n{need.acts}":
        return "block_changed"
    if gid in sale.withdrawn:
        return "lot_withdrawn"
    if need.stage != "on_block" and asked.act != "undo":
        return "not_on_the_block"
    before = need.stage
    code = simple[asked.act]()
    if code is None:
        _tell(sale, gid, before)
    return code


def pledge(sale: SaleModel, gid: str, who: int, amount: int, *, again: bool) -> str | None:
    """Let somebody promise the present level."""
    need, known = sale.needs[gid], sale.people.get(who)
    if code := sale.refuses(who):
        return code
    if need.stage != "on_block" or amount != need.level:
        return "not_on_the_block" if need.stage != "on_block" else "level_changed"
    if not again and any(one.who == who and one.amount == amount for one in need.standing):
        return "pledged_already"
    if known is not None and known.limit is not None and sale.exposure(who) + amount > known.limit:
        return "beyond_limit"
    need.pledges.append(Promise(who, amount))
    _tell_of(sale, gid, "pledge.made", len(need.pledges))
    return None


def call(sale: SaleModel, gid: str) -> str | None:
    """Put it on the block."""
    code = sale.needs[gid].called()
    if code is None:
        sale.begin(gid)
        _tell_level(sale, gid)
    return code


def reopen(sale: SaleModel, gid: str, reason: str) -> str | None:
    """Take the hammer back later."""
    code = "lot_withdrawn" if gid in sale.withdrawn else sale.needs[gid].reopened()
    if code is None:
        sale.tell("lot.reopened", gid, reason)
    return code


def end(sale: SaleModel, gid: str) -> None:
    """The sale ends."""
    sale.needs[gid].closed()
    _tell_close(sale, gid)


def withdrawn(need: NeedModel) -> str | None:
    """Return why it cannot be withdrawn."""
    return "on_the_block" if need.stage == "on_block" else "pledges_stand" if need.standing else None


def _undo_pledge(sale: SaleModel, gid: str, number: int) -> str | None:
    need = sale.needs[gid]
    if not 1 <= number <= len(need.pledges):
        return "unknown_pledge"
    one = need.pledges[number - 1]
    if need.stage == "closed" or not one.stands:
        return "need_closed" if need.stage == "closed" else "pledge_undone"
    need.pledges[number - 1] = replace(one, stands=False)
    _tell_of(sale, gid, "pledge.undone", number)
    return None


def _tell(sale: SaleModel, gid: str, before: str) -> None:
    after = sale.needs[gid].stage
    if after == "closed":
        _tell_close(sale, gid)
    elif before == "on_block" and after != "on_block":
        sale.tell("lot.skipped", gid)
    else:
        if before != "on_block":
            sale.tell("lot.called", gid)
        _tell_level(sale, gid)


def _tell_close(sale: SaleModel, gid: str) -> None:
    sale.tell("lot.closed", gid, "funded", sum(one.amount for one in sale.needs[gid].standing))


def _tell_level(sale: SaleModel, gid: str) -> None:
    sale.tell("level.set", gid, sale.needs[gid].level)


def _tell_of(sale: SaleModel, gid: str, kind: str, number: int) -> None:
    need = sale.needs[gid]
    total = sum(one.amount for one in need.standing)
    sale.tell(kind, gid, number, need.pledges[number - 1].amount, total, len(need.standing))
