"""The expected book (docs/rules.md, "The book"): absentee bids that staff enter for paddles, change and take back."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.bidding.domain.oracle import AUTHOR
from tests.bidding.domain.playing import units
from tests.simulation.block_oracle import OVER, Back, BidOrRaise, LiveOracle
from tests.simulation.sale_model import SaleModel

if TYPE_CHECKING:
    from datetime import datetime


def enter(sale: SaleModel, staff: int, line: Any, now: datetime) -> str | None:
    """Let staff enter a line, and return the code of a refusal."""
    if sale.over:
        return "sale_over"
    gid, who = sale.labelled(line.label), sale.with_paddle(line.paddle)
    if gid is None or gid in sale.needs:
        return "unknown_lot" if gid is None else "of_auctions"
    if who is None:
        return "unknown_paddle"
    oracle = sale.block(gid)
    if oracle.status in OVER or oracle.stage is not None:
        return "auction_closed" if oracle.status in OVER else "on_the_block"
    lot = sale.lot(gid)
    before = copy.deepcopy((lot.oracle, lot.last))
    code = _change(sale, gid, (staff, who), None if line.maximum is None else units(line.maximum), now)
    if code is not None:
        lot.oracle, lot.last = before
    return code


def _change(sale: SaleModel, gid: str, people: tuple[int, int], maximum: int | None, now: datetime) -> str | None:
    lot, oracle = sale.lot(gid), sale.block(gid)
    staff, who = (lot.who(one) for one in people)
    own = _own(oracle, who)
    versions = sorted({one.version for one in own if one.version in oracle.absentee}, reverse=True)
    entered = max((most for version, most in oracle.lines if version in versions), default=None)
    if maximum is not None and maximum == entered:
        return None
    if maximum is None or (entered is not None and maximum < entered):
        if any(row.who == staff and not row.automatic for row in oracle.rows):
            return "bids_there"
        if entered is None or entered != max(one.limit for one in own):
            return "not_in_book"
        for version in versions:
            sale.play(gid, now, partial(_void, version=version))
    return None if maximum is None else _place(sale, gid, people[1], maximum, now)


def _place(sale: SaleModel, gid: str, who: int, maximum: int, now: datetime) -> str | None:
    lot, oracle = sale.lot(gid), sale.block(gid)
    if lot.who(who) == AUTHOR:
        return sale.refuses(who) or "own_auction"
    known = set(oracle.bids)
    code = sale.bid(gid, who, lambda one: one.play(lambda own, at: own.bid(one.who(who), None, maximum, at), now))
    oracle = sale.block(gid)
    if code is None:
        oracle.absentee |= set(oracle.bids) - known
        oracle.lines.append((_own(oracle, lot.who(who))[-1].version, maximum))
    return code


def _void(oracle: LiveOracle, at: int, *, version: int) -> str | None:
    return oracle.void(version, at)


def _own(oracle: LiveOracle, who: int) -> list[BidOrRaise]:
    """Return the requests of a person that stand: none of before a retraction does."""
    found: list[BidOrRaise] = []
    for one in oracle.asked:
        if isinstance(one, Back):
            found = []
        elif one.holder == who:
            found.append(one)
    return found
