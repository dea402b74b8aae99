"""The clocks of a sale: staff pause it and let it go on, and lots end later when those before them do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import structlog

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain import closing, pausing
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Event
from saleroom.bidding.service.recording import record, steps
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain import clocks
from saleroom.sales.domain.events import SaleEvent
from saleroom.sales.domain.sale import Sale, SaleStatus
from saleroom.sales.domain.views import sale_view
from saleroom.sales.service.access import lock_one
from saleroom.sales.storage import lots, sales
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable

log = structlog.get_logger()

RETRY_SECONDS = 1.0
_encode = msgspec.json.Encoder().encode


def pause(tx: Transaction, token: str, gid: str, asked: IdempotencyKey | None = None) -> bytes:
    """Stop the clocks of all lots of a running sale in one transaction, and return its JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, and as `domain.clocks.pause`.
    """
    return _change(tx, token, gid, asked, Act.SALE_PAUSED, stop)


def resume(tx: Transaction, token: str, gid: str, asked: IdempotencyKey | None = None) -> bytes:
    """Let the clocks of all lots of a paused sale go on in one transaction, with the time that was left.

    Returns its JSON. Raises as `pause`, and as `domain.clocks.resume`.
    """
    return _change(tx, token, gid, asked, Act.SALE_RESUMED, go_on)


def stop(tx: Transaction, sale: Sale) -> Sale:
    """Stop the clocks of all lots of a locked sale. Raises as `domain.clocks.pause`."""
    return _turn(tx, sale, clocks.pause, pausing.pause)


def go_on(tx: Transaction, sale: Sale) -> Sale:
    """Let the clocks of all lots of a locked sale go on. Raises as `domain.clocks.resume`."""
    return _turn(tx, sale, clocks.resume, pausing.resume)


def note(tx: Transaction, staff: Holder, what: Act, before: Sale, after: Sale) -> None:
    """Note in the audit log that staff has paused or resumed a sale."""
    audit.note(tx, staff, what, before.gid, _facts(before), _facts(after))


def follow(tx: Transaction, sale_id: int) -> int:
    """Move the ends of the lots of a sale that end too soon after those before them; return how many have moved."""
    sale = sales.by_id(tx, sale_id)
    if not _follows(sale) or not list(_too_early(sale, _in_order(tx, sale))):
        return 0
    lock_one(tx, sale.gid)
    locked = lots.lock_auctions(tx, lots.of_sale(tx, sale.id))
    now = tx.now()
    moved = list(_too_early(sale, [locked[one.gid] for one in _in_order(tx, sale)]))
    for some in tx.in_pieces(moved):
        record(tx, [step for one, earliest in some for step in steps(one, closing.follow(one, earliest, now))])
    return len(moved)


def earliest_ends(tx: Transaction, due: Sequence[Auction]) -> Mapping[int, datetime]:
    """Return the instants before which lots that are due may not end, as the lots before them end later.

    The house may have stopped between a late bid and the move of the ends that follow it.
    """
    numbers = {one.id for one in due}
    found: dict[int, datetime] = {}
    for sale in sales.by_ids(tx, {one.sale_id for one in due if one.sale_id is not None}).values():
        if _follows(sale):
            found |= {one.id: end for one, end in _too_early(sale, _in_order(tx, sale)) if one.id in numbers}
    return found


class Clocks:
    """Moves ends that follow, right after the bids that moved those before them. Each process looks after its own bids."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ends: dict[int, datetime | None] = {}
        """The ends of lots of sales, as this process last heard of them, by the number of the auction."""
        self._moved: set[int] = set()
        """The sales in which an end has moved."""
        self._woken = asyncio.Event()

    def heard(self, changed: Iterable[Auction]) -> None:
        """Note lots of sales whose end has moved; call it after a commit, in the event loop's thread."""
        for auction in changed:
            if auction.sale_id is None:
                continue
            if auction.over:
                self._ends.pop(auction.id, None)
            elif self._ends.get(auction.id) != auction.ends_at:
                self._ends[auction.id] = auction.ends_at
                self._moved.add(auction.sale_id)
                self._woken.set()

    async def run(self) -> None:
        """Move ends until cancelled. The database may go away and come back: the closer waits for the ends that follow."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            moved, self._moved = self._moved, set()
            for sale_id in moved:
                try:
                    await self._database.write(follow, sale_id)
                except DatabaseUnavailable as error:
                    log.warning("ends that follow wait for the database", reason=str(error))
                    self._moved.add(sale_id)
                    self._woken.set()
                    await asyncio.sleep(RETRY_SECONDS)


def _change(
    tx: Transaction,
    token: str,
    gid: str,
    asked: IdempotencyKey | None,
    what: Act,
    turn: Callable[[Transaction, Sale], Sale],
) -> bytes:
    staff = authenticate(tx, token, Right.MANAGE_SALES)
    sale = lock_one(tx, gid)

    def act() -> bytes:
        after = turn(tx, sale)
        note(tx, staff, what, sale, after)
        return _encode(sale_view(after, staff=True))

    return once(tx, staff, asked, act)


def _turn(
    tx: Transaction,
    sale: Sale,
    decide: Callable[[Sale, datetime], list[SaleEvent]],
    each: Callable[[Auction, datetime], list[Event]],
) -> Sale:
    now = tx.now()
    events = decide(sale, now)
    for some in tx.in_pieces([*lots.lock_auctions(tx, lots.of_sale(tx, sale.id)).values()]):
        record(tx, [step for auction in some for step in steps(auction, each(auction, now))])
    return sales.record(tx, sale, events)


def _facts(sale: Sale) -> dict[str, Any]:
    return {"status": sale.status.value}


def _follows(sale: Sale) -> bool:
    """Return whether ends of the sale may have to move. In a paused sale none does."""
    return sale.terms.following and sale.status in (SaleStatus.PUBLISHED, SaleStatus.RUNNING)


def _in_order(tx: Transaction, sale: Sale) -> list[Auction]:
    """Return the auctions of a sale in the order of calling, not locked."""
    return [one.auction for one in lots.offered(tx, sale.id) if one.auction is not None]


def _too_early(sale: Sale, in_order: Iterable[Auction]) -> Iterable[tuple[Auction, datetime]]:
    return clocks.earliest_ends(in_order, sale.terms.spacing)
