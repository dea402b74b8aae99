"""Staff at the desk of a live sale: they enter absentee bids, and results by line on a sheet that may be old by then."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from functools import partial
from typing import Any

from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.book import BookLine
from saleroom.sales.domain.result_views import Sheet, SheetLot
from saleroom.sales.domain.results import Below
from saleroom.sales.service import book, results
from saleroom.sales.service.results import ResultLine
from tests.bidding.domain.playing import money
from tests.simulation.clerks import ClerkRequest
from tests.simulation.clients import digest
from tests.simulation.desk_entries import AT_MAXIMUM, NEED
from tests.simulation.evenings import UNKNOWN
from tests.simulation.plan_entries import Way
from tests.simulation.sale_model import SALE
from tests.simulation.world import Process

ENTRIES = ("book", "result")
"""The requests that are made here."""


async def _sheet(token: str, process: Process) -> Sheet:
    return await process.database.read(results.sheet, token, SALE)


class DeskRequest(ClerkRequest):
    """One line of the book or of results, with all that happens to it until it is answered."""

    async def run(self) -> None:
        """Ask until there is an answer."""
        said = dict(self._entry.changes)
        if self._entry.what == "book":
            await self._enter(said)
        else:
            await self._result(said)

    async def _enter(self, said: dict[str, Any]) -> None:
        gid, steps = self._gids.get(self._entry.lot) or self._sale.last or NEED, said["steps"]
        price = 1_000 if gid in self._sale.needs else self._standing(gid).oracle.least() or 1_000
        line = BookLine(
            paddle=self._paddle(said["whose"]) or UNKNOWN,
            label=self._sale.labels[gid],
            maximum=None if steps is None else money(price + steps),
        )
        await self._write(book.enter, self._token, SALE, line, IdempotencyKey(self._key, digest(line)))

    async def _result(self, said: dict[str, Any]) -> None:
        sheet = await self._attempt(partial(_sheet, self._token), Way(), None)
        await asyncio.sleep(said["stale"])
        if not isinstance(sheet, Sheet):
            return
        turn = said["turn"] % len(sheet.lots)
        lots = [*sheet.lots[turn:], *sheet.lots[:turn]]
        open_ones = [one for one in lots if one.state == "open"]
        decided = [one for one in lots if one.state in ("sold", "conditional", "passed")]
        chosen = (decided if said["kind"] in ("again", "back") else open_ones) or lots
        some = chosen[: 2 if said["kind"] == "several" else 1]
        use_case = results.take_back if said["kind"] == "back" else results.enter
        line = self._line(said, some)
        await self._write(use_case, self._token, SALE, line, IdempotencyKey(self._key, digest(line)))

    def _line(self, said: dict[str, Any], some: list[SheetLot]) -> ResultLine:
        more: dict[str, Any] = {"labels": tuple(one.label for one in some)}
        if said["kind"] in ("again", "back"):
            more |= {"seen": tuple(one.tag for one in some), "reason": said["reason"]}
        if said["kind"] in ("back", "passed"):
            return ResultLine(**more, against=self._against(said, some))
        if said["kind"] == "spot":
            more = {"labels": (), "name": "A lamp"}
        gid = self._sale.labelled(some[0].label) or ""
        oracle = self._sale.block(gid)
        price = max((oracle.least() or oracle.price or 0) + 1_000 * said["price"], 10)
        if said["price"] == AT_MAXIMUM:
            price = oracle.maximum or price
        below = None if said["below"] is None else Below(said["below"])
        against = self._against(said, some)
        paddle = self._paddle(said["whose"]) or UNKNOWN
        return ResultLine(**more, price=money(price), paddle=paddle, below=below, is_sure=said["sure"], against=against)

    def _against(self, said: dict[str, Any], some: list[SheetLot]) -> Decimal | None:
        """Return the maximum that people have decided against: they were asked, and have seen it."""
        most = self._sale.block(self._sale.labelled(some[0].label) or "").maximum
        return money(most) if said["against"] and most is not None else None
