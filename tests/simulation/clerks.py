"""Clerks, staff and bidders of a sale: they look at the block and act on what they saw, which may be old by then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.block import Act, BlockAct
from saleroom.sales.domain.block_views import BlockView
from saleroom.sales.domain.participants import Standing
from saleroom.sales.domain.views import NeedView
from saleroom.sales.service import lots, ordering
from saleroom.sales.service.live import block
from saleroom.sales.service.people import merging, participants
from saleroom.storage.database import Transaction
from tests.bidding.domain.playing import money
from tests.histories import LEADER
from tests.simulation.clients import LOST, PendingRequest, digest
from tests.simulation.desk_entries import NEED
from tests.simulation.evenings import NOBODY, UNKNOWN
from tests.simulation.judge import request_key
from tests.simulation.plan_entries import PlannedRequest, Way
from tests.simulation.sale_model import SALE, SaleModel
from tests.simulation.world import Process

ENTRIES = ("block", "register", "change", "check in", "merge", "order", "withdraw")
"""The requests that are made here."""
LOOKS_MAX = 8
STEPS = "abc"


def set_order(tx: Transaction, token: str, gid: str, labels: Sequence[str] | None, first: int | None) -> Any:
    """Put lots in an order; the judge sees all arguments."""
    return ordering.set_order(tx, token, gid, labels, renumber_from=first)


async def _look(token: str, process: Process) -> BlockView:
    return await process.database.read(block.shown, token, SALE)


class ClerkRequest(PendingRequest):
    """One request about a sale, with all that happens to it until it is answered, or until its sender dies."""

    _entry: PlannedRequest

    async def run(self) -> None:
        """Ask until there is an answer."""
        said = dict(self._entry.changes)
        if self._entry.what == "block":
            await self._at_the_block(said)
        elif self._entry.what == "withdraw":
            label, once = self._label(self._entry.lot), IdempotencyKey(self._key, digest(self._entry))
            await self._write(lots.withdraw, self._token, SALE, label, "Broken.", once)
        else:
            await self._plain(said)

    @property
    def _sale(self) -> SaleModel:
        sale = self._world.judge.model.sale
        assert sale is not None, "there is a sale"
        return sale

    @property
    def _token(self) -> str:
        return self._tokens[self._who]

    async def _write(self, use_case: Callable[..., Any], *args: Any) -> Any:
        self._key = request_key(use_case.__name__, args)
        return await self._ask(lambda process: process.database.write(use_case, *args))

    async def _plain(self, said: dict[str, Any]) -> None:
        """Make a request that has no Idempotency-Key."""
        if self._entry.what == "register":
            await self._write(participants.register, self._token, SALE)
        elif self._entry.what == "check in":
            await self._write(participants.check_in, self._token, SALE, self._participant(said["whom"]), said["paddle"])
        elif self._entry.what == "merge":
            pair = self._participant(said["whom"]), self._participant(said["into"])
            if pair[0] != pair[1]:
                await self._write(merging.merge, self._token, SALE, *pair)
        elif self._entry.what == "order":
            known = [self._sale.labels[gid] for gid in self._sale.order]
            turn = said["turn"] % len(known)
            labels = None if said["turn"] == 0 else [*known[turn:], *known[:turn]]
            await self._write(set_order, self._token, SALE, labels, said["first"])
        else:
            changes = {name: value for name, value in said.items() if name != "whom"}
            if "standing" in changes:
                changes["standing"] = Standing(changes["standing"])
            if changes.get("limit") is not None:
                changes["limit"] = money(changes["limit"])
            await self._write(participants.change, self._token, SALE, self._participant(said["whom"]), changes)

    async def _at_the_block(self, said: dict[str, Any]) -> None:
        view = await self._look_at_block()
        if view is None:
            return
        await asyncio.sleep(said["stale"])
        if said["act"] != "finish":
            await self._act(self._asked(view, said), "")
            return
        for step in STEPS:
            asked = None if view is None else self._finishing(view, said)
            if asked is None or not isinstance(await self._act(asked, step), bytes):
                return
            view = await self._look_at_block()

    async def _look_at_block(self) -> BlockView | None:
        """Read the block: it is committed, and not older than the question."""
        for _ in range(LOOKS_MAX):
            since = len(self._world.judge.tags)
            answer = await self._attempt(partial(_look, self._token), Way(), None)
            if isinstance(answer, BlockView):
                if answer.tag not in self._world.judge.tags[since - 1 :]:
                    self._world.judge.fail(
                        "a look shows what is committed, and is never older than the question", answer.tag
                    )
                return answer
            await asyncio.sleep(0.5)
        return None

    async def _act(self, asked: BlockAct, step: str) -> Any:
        key = f"k{self._entry.number:03}{step}"
        answer = await self._write(block.act, self._token, SALE, asked, IdempotencyKey(key, digest(asked)))
        return None if answer is LOST else answer

    def _asked(self, view: BlockView, said: dict[str, Any]) -> BlockAct:
        """Return an act as a clerk means it who sees `view`."""
        act = Act(said["act"])
        shown = view.on_block or view.last_lot
        auction = None if shown is None else shown.auction
        ask = Decimal("1.000") if auction is None or auction.minimum_bid is None else Decimal(auction.minimum_bid)
        more: dict[str, Any] = {}
        if shown is not None and shown.need is not None:
            act, more = self._of_need(act, shown.need, said)
            shown = None
        elif act in (Act.BID, Act.ASK):
            more["amount"] = max(Decimal("0.000"), ask + money(said.get("amount", 0)))
            more["channel"] = Channel(said.get("channel", "floor"))
        if act in (Act.BID, Act.NAME, Act.RETRACT, Act.PLEDGE):
            more["paddle"] = self._paddle(said["whose"])
        if "label" in said:
            more["label"] = self._label(said["label"])
        elif self._entry.lot:
            more["label"] = self._sale.labels[NEED]
        if act is Act.REOPEN:
            more["reason"] = "Somebody called."
        return BlockAct(act=act, seen=view.tag, accepted=said.get("accepted", False), **more)

    def _of_need(self, act: Act, need: NeedView, said: dict[str, Any]) -> tuple[Act, dict[str, Any]]:
        """Return an act as a clerk means it who sees a fund-a-need: paddles are raised at its level."""
        level, by = Decimal(need.level or need.levels[0]), money(said.get("amount", 0))
        if act is Act.BID:
            said["whose"] = 7 if said.get("whose") is None else said["whose"]  # nobody gives for the floor
            channel = Channel(said.get("channel", "floor"))
            return Act.PLEDGE, {"amount": level + by, "channel": channel, "again": self._entry.number % 3 == 0}
        if act in (Act.ASK, Act.WARN):
            return Act.LEVEL, {} if act is Act.WARN else {"amount": max(Decimal("0.000"), level + by)}
        if act in (Act.NAME, Act.RETRACT):
            newest = need.last_pledges[0].pledge if need.last_pledges else 1
            mine = {} if act is Act.NAME else {"label": self._sale.labels[NEED]}
            return Act.UNDO_PLEDGE, {"pledge": max(1, newest - self._entry.number % 2), **mine}
        return act, {}

    def _finishing(self, view: BlockView, said: dict[str, Any]) -> BlockAct | None:
        """Return the next act on the way to the hammer, None if nothing is on the block."""
        if view.on_block is not None and view.on_block.need is not None:
            return BlockAct(act=Act.SKIP if said["skips"] else Act.SELL, seen=view.tag)
        if view.on_block is None or view.on_block.auction is None:
            return None
        auction = view.on_block.auction
        if said["hasty"] and auction.current_bidder is not None:
            return BlockAct(act=Act.SELL, seen=view.tag)
        if auction.current_bidder == "#floor":
            return BlockAct(act=Act.NAME, seen=view.tag, paddle=self._paddle(said["whose"]))
        if said["skips"]:
            return BlockAct(act=Act.SKIP, seen=view.tag)
        if auction.current_bidder is None:
            return BlockAct(act=Act.PASS, seen=view.tag)
        below = auction.reserve_met is False
        return BlockAct(act=Act.SELL_CONDITIONALLY if below else Act.SELL, seen=view.tag)

    def _paddle(self, whose: int | None) -> int | None:
        if whose is None:
            return None
        known = self._sale.people.get(self._person(whose))
        return UNKNOWN if whose == NOBODY or known is None or known.paddle is None else known.paddle

    def _person(self, whose: int) -> int:
        last = self._sale.last
        if whose != LEADER or last is None:
            return whose
        if last in self._sale.needs:
            return 7
        lot = self._sale.lot(last)
        return 7 if lot.oracle.leader is None else lot.who(lot.oracle.leader)

    def _participant(self, whom: int) -> str:
        known = self._sale.people.get(self._person(whom))
        return "nobody" if known is None else known.gid

    def _label(self, lot: int) -> str:
        return self._sale.labels.get(self._gids.get(lot, ""), "999")
