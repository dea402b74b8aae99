"""Opening and closing by the clock, exactly once, by the first process to do so; and extensions after an outage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import structlog
from msgspec import Struct
from msgspec.structs import replace

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.closing import fell_into, follow, reopen_after_outage, settle
from saleroom.bidding.domain.events import SOFT_CLOSE_SECONDS_MAX
from saleroom.bidding.service import drafts, photos
from saleroom.bidding.service.recording import Step, record, steps
from saleroom.bidding.storage import auctions
from saleroom.kernel.figures import Distribution, Figure
from saleroom.storage import heartbeats, outages
from saleroom.storage.database import Database, SharedPart, Transaction, ranked
from saleroom.storage.faults import DatabaseUnavailable, LockTimeout
from saleroom.storage.outages import Outage
from saleroom.storage.turns import Rank

log = structlog.get_logger()

BATCH = 250
"""Auctions settled in one transaction. Bids wait some 30 ms for it."""
SEEN_MAX = 2000
"""Auctions that are looked at, and not locked, for one such transaction after an outage."""
AHEAD = timedelta(seconds=6)
"""A heartbeat and a second."""
READ_AHEAD_MAX = auctions.CACHED_MAX * 3 // 4
"""Auctions that are read ahead. Lots that others bid on meanwhile fill the rest of the cache before it drops one of these."""
HEARTBEAT_SECONDS = 5.0
OUTAGE = timedelta(seconds=10)
"""Two missed heartbeats. A shorter gap may be a late heartbeat."""
WINDOW_MAX = timedelta(seconds=SOFT_CLOSE_SECONDS_MAX)


EARLIEST_ENDS: SharedPart[Callable[[Transaction, Sequence[Auction]], Mapping[int, datetime]]] = SharedPart()
"""What the area of sales provides: the instants before which locked auctions of sales may not end, by their numbers."""


class Round(Struct, frozen=True):
    """A round of the closer: how many auctions it opened or closed and reopened, and in how many seconds the next is due.

    `late` says by how many seconds each of them was late. With `more`, more auctions may have to be reopened, and no other
    may close before.
    """

    count: int
    reopened: int
    next_seconds: float | None
    late: tuple[float, ...] = ()
    more: bool = False


@ranked(Rank.HOUSE)
def settle_due(tx: Transaction, *, reopens: bool = True, free: bool = False) -> Round:
    """Write the heartbeat, reopen up to `BATCH` auctions that an outage cut short, and open or close up to `BATCH` due ones.

    The heartbeat comes first and in the same transaction, and closing waits until all are reopened, so that no auction closes
    before its outage is noticed. The heartbeat stays locked meanwhile: of several processes one at a time does a round.
    With `free`, due auctions that another session has locked are left for a later round.
    """
    before, now = heartbeats.record(tx)
    outage = _outage(tx, before, now) if reopens else None
    reopened, more = 0, False
    if outage is not None:
        reopened, more = _reopen(tx, outage)
    if more:
        return Round(0, reopened, 0.0, more=True)
    taken: list[Step] = []
    due = auctions.lock_due(tx, now, BATCH, free=free)
    late = tuple((now - auction.due_at).total_seconds() for auction in due if auction.due_at is not None)
    earliest = _earliest_ends(tx, due)
    for auction in due:
        end = earliest.get(auction.id, now)
        taken += steps(auction, follow(auction, end, now) if end > now else settle(auction, now))
    record(tx, taken)
    if len(due) == BATCH:  # more may be due now; only the last round looks when the next one is
        return Round(len(due), reopened, 0.0, late)
    then = auctions.next_due(tx)
    return Round(len(due), reopened, None if then is None else max(0.0, (then - tx.now()).total_seconds()), late)


def _earliest_ends(tx: Transaction, due: Sequence[Auction]) -> Mapping[int, datetime]:
    """Return the instants before which lots may not end, of those that follow others of their sale."""
    provided = tx.provided(EARLIEST_ENDS)
    of_sales = [auction for auction in due if auction.sale_id is not None]
    return provided(tx, of_sales) if provided is not None and of_sales else {}


def due_soon(tx: Transaction) -> list[int]:
    """Return the numbers of the auctions that are due within `AHEAD`, the first due first."""
    now = tx.now()
    return auctions.due_between(tx, now, now + AHEAD, READ_AHEAD_MAX)


def _outage(tx: Transaction, before: datetime | None, now: datetime) -> Outage | None:
    """Return the outage that ends now, or whose effect is not put right yet; None without one."""
    if before is not None and now - before > OUTAGE:
        return outages.begin(tx, before, now)
    return outages.under_way(tx)


def _reopen(tx: Transaction, outage: Outage) -> tuple[int, bool]:
    """Reopen up to `BATCH` auctions that an outage cut short; return how many, and whether more may follow.

    All are dated by the instant at which the outage was noticed, so none gets time twice.
    """
    seen = auctions.due_after(tx, outage.reached, outage.reached_id, outage.noticed + WINDOW_MAX, SEEN_MAX)
    taken: list[Step] = []
    cut = [one for one in seen if _was_cut(one, outage)][:BATCH]
    for auction in auctions.lock_live(tx, [one.id for one in cut]):
        taken += steps(auction, reopen_after_outage(auction, outage.began, outage.noticed))
    record(tx, taken)
    more = len(cut) == BATCH or len(seen) == SEEN_MAX
    if more:
        last = cut[-1] if len(cut) == BATCH else seen[-1]
        outages.reach(tx, replace(outage, reached=last.due_at, reached_id=last.id))
    else:
        outages.end(tx)
    return len({auction.id for auction, _, _ in taken}), more


def _was_cut(one: auctions.DueAuction, outage: Outage) -> bool:
    """Return whether an outage cut an auction short, as far as its row tells: the domain decides about the locked auction."""
    end, window = one.ends_at, one.window
    return end is not None and window is not None and fell_into(end, window, outage.began, outage.noticed)


class Closer:
    """Settles the auctions that are due, and sleeps until the next start or end. Each process may run one."""

    SWEEP_SECONDS = 3600.0

    def __init__(self, database: Database, *, reopens: bool = True) -> None:
        self._database = database
        self._reopens = reopens
        self._sooner = asyncio.Event()
        self._wakes_at = float("inf")
        self._noted = float("inf")
        """When the first auction is due of those committed since the last round began. That round may have missed them."""
        self._swept_at = float("-inf")
        self._waits = False
        """Whether the database was unavailable in the last round, which has been logged."""
        self._late = Distribution((0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0))

    def figures(self) -> Sequence[Figure]:
        """Return what the closer has counted."""
        about = "By how much auctions opened or closed later than their instant."
        return (self._late.figure("saleroom_auction_late_seconds", about),)

    def expect(self, changed: Sequence[Auction]) -> None:
        """Note auctions that have just been committed, and wake up earlier if one is due earlier."""
        due = [auction.due_at for auction in changed if auction.due_at is not None]
        if due:
            at = self._database.seconds_until(min(due)) + asyncio.get_running_loop().time()
            self._noted = min(self._noted, at)
            if at < self._wakes_at:
                self._sooner.set()

    async def begin(self) -> None:
        """Settle the auctions that fell due while no process served. Without the database, `run` does so as soon as it can.

        A process that starts meanwhile serves reads, as the others do.
        """
        try:
            await self.settle()
        except DatabaseUnavailable as error:
            self._wait(error)

    async def settle(self) -> float:
        """Settle all auctions that are due now, and return the seconds until the next round. Raises DatabaseUnavailable."""
        reopened = 0
        while True:
            try:
                done = await self._database.write(settle_due, reopens=self._reopens)
            except LockTimeout:  # by a repair, or by a commit that hangs: the others do not wait for it any longer
                done = await self._database.write(settle_due, reopens=self._reopens, free=True)
            for seconds in done.late:
                self._late.count(seconds)
            reopened += done.reopened
            if done.more:
                continue
            if reopened:
                log.warning("auctions reopened after an outage", auctions=reopened)
                reopened = 0
            if done.count < BATCH:
                break
        next_seconds = HEARTBEAT_SECONDS if done.next_seconds is None else done.next_seconds
        return min(next_seconds, HEARTBEAT_SECONDS)

    async def _look_ahead(self) -> None:
        """Read the auctions due before the next heartbeat into the cache, as thousands may end within one second."""
        soon = await self._database.read(due_soon)
        for start in range(0, len(soon), BATCH):
            await self._database.read(auctions.by_ids, soon[start : start + BATCH])

    async def run(self) -> None:
        """Settle until cancelled. The database may go away and come back."""
        loop = asyncio.get_running_loop()
        while True:
            self._sooner.clear()
            self._database.look_at_file()
            # A commit during a round starts another round only if it is due earlier than the round found.
            self._wakes_at, self._noted = float("-inf"), float("inf")
            try:
                next_round = loop.time() + await self.settle()
                self._wakes_at = min(next_round, self._noted)
                await self._look_ahead()
                if loop.time() - self._swept_at > self.SWEEP_SECONDS:
                    self._swept_at = loop.time()
                    # A few at a time, as bids wait for each transaction.
                    while await self._database.write(drafts.sweep) == drafts.SWEPT_AT_ONCE:
                        pass
                    while await self._database.write(photos.sweep) == photos.SWEPT_AT_ONCE:
                        pass
                if self._waits:
                    log.info("closing goes on")
                self._waits = False
            except DatabaseUnavailable as error:
                self._wait(error)
                self._wakes_at = loop.time() + 1.0
            try:
                await asyncio.wait_for(self._sooner.wait(), max(0.0, self._wakes_at - loop.time()))
            except TimeoutError:
                continue

    def _wait(self, error: DatabaseUnavailable) -> None:
        """Log once that closing waits."""
        if not self._waits:
            log.error("closing waits for the database", reason=str(error))
        self._waits = True
