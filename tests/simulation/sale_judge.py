"""The judge's look at a sale after each commit: its log has no gap, and its rows are those that the model expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import select

from saleroom.bidding.storage import auctions
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.block import tag
from saleroom.sales.service.publishing import states
from saleroom.sales.storage import lots, participants, sales
from saleroom.sales.storage.tables import sale_events
from saleroom.storage.database import Transaction
from tests.bidding.domain.playing import units
from tests.simulation.sale_model import SALE, SaleModel

if TYPE_CHECKING:
    from tests.simulation.judge import Judge

AGREES = "the sale is as the model expects it"
BESIDE_THE_LOG = ("hide", "show")
"""What changes the tag of a lot that is over, and its log does not say it."""
PEOPLE = ("register", "admit", "change", "check_in", "merge")


class SaleJudge:
    """See the module. `last` gives the number of the last row of the log of sales."""

    def __init__(self, judge: Judge, last: Callable[[], int]) -> None:
        self._judge = judge
        self._last = last
        self._last_row = 0
        self._seen = (0, 0)
        self.version = 0

    def look(self, use_case: str, tx: Transaction, sale: SaleModel) -> None:
        """Check what a transaction has changed."""
        last = self._last()
        if last != self._last_row:
            self._read(tx, sale)
            self._last_row = last
        self._tag(tx)
        if use_case in PEOPLE:
            self._people(tx, sale)

    def unmoved(self, use_case: str) -> bool:
        """Whether a transaction can have changed nothing that is looked at here."""
        changed = self._judge.last_row, self._last()
        same, self._seen = changed == self._seen, changed
        return same and use_case not in (*PEOPLE, *BESIDE_THE_LOG)

    def _read(self, tx: Transaction, sale: SaleModel) -> None:
        new = select(sale_events).where(sale_events.c.id > self._last_row).order_by(sale_events.c.id)
        for row in tx.execute(new).all():
            self.version += 1
            if row.version != self.version:
                self._judge.fail("the log of a sale has no gap", f"{row.version} is the event number {self.version}")
            self._judge.payloads[SALE, row.version] = row.payload
            told = _told(row.type, msgspec.json.decode(row.payload)["data"])
            mine = sale.events[self.version - 1] if self.version <= len(sale.events) else None
            if mine != told:
                self._judge.fail(AGREES, f"event {self.version} is {told}, and should be {mine}")
        stored = sales.get(tx, SALE)
        assert stored is not None, "it was published"
        theirs = (stored.status.value, stored.block, stored.version, lots.labels(tx, stored.id))
        ours = (sale.status, sale.last, len(sale.events), [sale.labels[gid] for gid in sale.order])
        if ours != theirs:
            self._judge.fail(AGREES, f"(the model's, the house's) {ours}, {theirs}")
        self._judge.states.setdefault(SALE, {})[stored.version] = states(tx, [stored.id])[stored.id][1]

    def _tag(self, tx: Transaction) -> None:
        """Keep the tags of the block, and see that one lot at a time is on it."""
        stored = sales.get(tx, SALE)
        assert stored is not None, "it was published"
        gid = stored.block or ""
        now = tag(auctions.get(tx, gid) or lots.by_gid(tx, stored.id, gid))
        if now != self._judge.tags[-1]:
            self._judge.tags.append(now)
        on_block = [gid for gid, known in self._judge.known.items() if known.auction.block is not None]
        on_block += [lot.gid for lot in lots.needs(tx, stored.id) if lot.block is not None]
        if on_block and on_block != [stored.block]:
            self._judge.fail("one lot at a time is on the block", f"{on_block}, and {stored.block} was called last")

    def _people(self, tx: Transaction, sale: SaleModel) -> None:
        rows = participants.page(tx, 1, "", 100)
        who = self._judge.model.people
        theirs = {
            who[one.user.id]: (
                one.gid,
                one.standing.value,
                None if one.limit is None else units(one.limit + ZERO),
                one.paddle,
            )
            for one in rows
        }
        ours = {each: (one.gid, one.standing, one.limit, one.paddle) for each, one in sale.people.items()}
        if ours != theirs:
            differs = {
                one: (ours.get(one), theirs.get(one)) for one in {*ours, *theirs} if ours.get(one) != theirs.get(one)
            }
            self._judge.fail(AGREES, f"people (the model's, the house's): {differs}")


def _told(kind: str, data: dict[str, Any]) -> tuple[Any, ...]:
    """Return an event as the model has it."""
    if kind == "order.set":
        return (kind, tuple(data["labels"]), data["renumbered"])
    if kind == "level.set":
        return (kind, data["label"], _units(data["amount"]))
    if kind.startswith("pledge."):
        return (kind, data["label"], data["pledge"], _units(data["amount"]), _units(data["total"]), data["pledges"])
    if not kind.startswith("lot."):
        return (kind,)
    if kind in ("lot.closed", "lot.decided"):
        price = None if data["price"] is None else _units(data["price"])
        return (kind, data["label"], data["outcome"], price)
    return (kind, data["label"], *([data["reason"]] if "reason" in data else []))


def _units(text: str) -> int:
    return int(text.replace(".", ""))
