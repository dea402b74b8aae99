"""A transaction that waits for an auction's lock decides by the auction and the clock as they are once it has the lock."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy.util import await_only

from saleroom.bidding.domain.errors import NotAuthor
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.service import auctions, photos, questions, remarks, selling
from saleroom.bidding.service.bidding import place_bids
from saleroom.bidding.service.closing import settle_due
from saleroom.bidding.service.lookup import lock_one
from saleroom.bidding.service.selling import Amendment
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import after, eur
from tests.bidding.service.people import bid, outcome, person, sells, stored
from tests.fixtures_database import FakeClock, OpenDatabase
from tests.patience import SECONDS_MAX

END = after(60)
WAITING_SECONDS = 0.3
"""Long enough to see that a transaction waits; otherwise it is done in a few milliseconds."""


class Pause:
    """Stops a transaction midway, on either database, until it may go on."""

    def __init__(self) -> None:
        self.reached, self._go = asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def within(self, tx: Transaction) -> None:
        """Stop the transaction here."""
        if tx.dialect == "postgresql":
            self.reached.set()
            await_only(self._go.wait())
        else:  # this database's transactions run in a thread
            self._loop.call_soon_threadsafe(self.reached.set)
            asyncio.run_coroutine_threadsafe(self._go.wait(), self._loop).result(SECONDS_MAX)

    def end(self) -> None:
        """Let the transaction go on."""
        self._go.set()


@pytest.mark.parametrize(
    ("rule", "status", "end"),
    [(None, "closed", END), (SoftClose(10, 10), "open", END - timedelta(microseconds=1) + timedelta(seconds=10))],
)
async def test_the_closer_waits_for_the_last_bid(
    open_database: OpenDatabase, rule: SoftClose | None, status: str, end: datetime
) -> None:
    """A bid in the last microsecond that commits after the end is not lost: the closer sees its price and extension."""
    clock = FakeClock()
    bidding, closing = open_database(clock=clock), open_database(clock=lambda: END)
    ada, bob = [await person(bidding) for _ in range(2)]
    gid = await sells(bidding, ada, ends_at=END, soft_close=rule)
    clock.now = END - timedelta(microseconds=1)
    pause = Pause()

    def slowly(tx: Transaction) -> str:
        [answer] = place_bids(tx, [bob.bids(gid, "100")])
        pause.within(tx)
        return outcome(answer)

    slow = asyncio.create_task(bidding.write(slowly))
    await pause.reached.wait()
    closer = asyncio.create_task(closing.write(settle_due))
    await asyncio.sleep(WAITING_SECONDS)
    assert not closer.done()
    pause.end()
    await closer
    assert "accepted" == await slow
    auction = await stored(bidding, gid)
    assert (eur("100"), status, end) == (auction.current_bid, auction.status, auction.ends_at)
    assert (None if status == "open" else "sold") == auction.outcome


async def test_the_clock_is_read_once_the_lock_is_held(open_database: OpenDatabase) -> None:
    """A bid that comes before the end but gets the lock after it is refused: nobody can prove when it came."""
    clock = FakeClock()
    bidding, busy = open_database(clock=clock), open_database(clock=clock)
    ada, bob = [await person(bidding) for _ in range(2)]
    gid = await sells(bidding, ada, ends_at=END)
    pause = Pause()

    holder = await _hold(busy, gid, pause)
    waiting = asyncio.create_task(bid(bidding, bob.bids(gid, "100")))
    await asyncio.sleep(WAITING_SECONDS)
    assert not waiting.done()
    clock.now = END
    pause.end()
    await holder
    assert ["auction_closed"] == await waiting
    assert 0 == (await stored(bidding, gid)).bid_count


OF_AUTHORS: dict[str, Callable[[Transaction, str, str], object]] = {
    "amend": lambda tx, token, gid: auctions.amend(tx, token, gid, {"name": "Mine"}),
    "amend with a form": lambda tx, token, gid: selling.amend(tx, token, gid, Amendment({"name": "Mine"}, [])),
    "cancel": auctions.cancel,
    "close": lambda tx, token, gid: auctions.close(tx, token, gid, None, None),
    "announce the end": lambda tx, token, gid: auctions.close(tx, token, gid, END, None),
    "arrange photos": lambda tx, token, gid: photos.arrange(tx, token, gid, []),
    "add a remark": lambda tx, token, gid: remarks.add(tx, token, gid, "Mine"),
    "answer a question": lambda tx, token, gid: questions.answer(tx, token, gid, 1, "Yes"),
}


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)  # SQLite has one writer at a time
async def test_a_stranger_never_waits_for_a_lot(open_database: OpenDatabase) -> None:
    """A request that only the author may make is refused to a stranger at once, while another transaction holds the lock."""
    busy, database = open_database(), open_database()
    ada, eve = await person(database), await person(database)
    gid = await sells(database, ada)
    pause = Pause()
    holder = await _hold(busy, gid, pause)
    try:
        for act in OF_AUTHORS.values():
            with pytest.raises(NotAuthor):
                await asyncio.wait_for(database.write(act, eve.token, gid), SECONDS_MAX)
    finally:
        pause.end()
        await holder


async def _hold(database: Database, gid: str, pause: Pause) -> asyncio.Task[None]:
    """Lock the auction until the end of `pause`."""

    def holding(tx: Transaction) -> None:
        lock_one(tx, gid)
        pause.within(tx)

    holder = asyncio.create_task(database.write(holding))
    await pause.reached.wait()
    return holder
