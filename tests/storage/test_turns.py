"""Turns: no other work can take the places of bids and logins, and work that nobody waits for any more costs nothing.

Slow statements are planted; the tests count the answers, and never measure time.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from sqlalchemy import text

from saleroom.kernel.errors import Busy
from saleroom.storage import database as storage
from saleroom.storage import turns
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.faults import HangUp
from saleroom.storage.turns import ASKER, Place, Rank, Turns
from tests.patience import SECONDS_MAX, settled, until

R = TypeVar("R")

_SLOW = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(600) /* planted */",
}
_FLOOD = 100


class Somebody:
    """The askers of a test."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gone = False

    async def key(self) -> str:
        """The keys by which their shares are counted."""
        return self.name


def slowly(tx: Transaction) -> None:
    """Run until somebody ends it."""
    tx.execute(text(_SLOW[tx.dialect]))


@ranked(Rank.COSTLY)
def search(tx: Transaction) -> None:
    """The same, as a search."""
    slowly(tx)


def briefly(tx: Transaction) -> int:
    """Answer at once."""
    return int(tx.execute(text("SELECT 1")).scalar_one())


@ranked(Rank.LOGIN)
def log_in(tx: Transaction) -> int:
    """The same, as a login."""
    return briefly(tx)


@ranked(Rank.COSTLY)
def search_briefly(tx: Transaction) -> int:
    """The same, as a search."""
    return briefly(tx)


def asked_by(somebody: Somebody | None, work: Callable[[], Coroutine[Any, Any, R]]) -> "asyncio.Task[R]":
    """Start `work` for somebody; None: for the house."""

    async def run() -> R:
        ASKER.set(somebody)
        return await work()

    return asyncio.create_task(run())


def reads(database: Database, use_case: Callable[[Transaction], R], somebody: Somebody | None) -> "asyncio.Task[R]":
    """Start a read for somebody."""
    return asked_by(somebody, lambda: database.read(use_case))


async def ended(tasks: "list[asyncio.Task[Any]]") -> Counter[str]:
    """Wait for these, and return how each ended."""
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    return Counter(type(answer).__name__ for answer in answers)


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that never ends is not stopped for its time, however slow the machine is."""
    monkeypatch.setattr(storage, "READ_SECONDS_MAX", 600)


async def begun(database: Database, rank: Rank, count: int) -> None:
    """Return once `count` reads of a rank and the ranks below it run."""
    await until(lambda: database._reading._taken[rank] >= count, "the reads run")
    await asyncio.sleep(0.2)  # and their statements


async def test_bids_and_logins_find_a_place_beside_endless_work(database: Database) -> None:
    """With every place for people taken by work that never ends, the house and logins still read and write."""
    strangers = [Somebody(f"stranger {number}") for number in range(_FLOOD)]
    flood = [reads(database, use_case, one) for one in strangers for use_case in (slowly, search)]
    await begun(database, Rank.ORDINARY, database._reading._most[Rank.ORDINARY])
    async with asyncio.timeout(SECONDS_MAX):
        for _ in range(5):
            assert 1 == await database.read(briefly)
            assert 1 == await database.write(briefly)
            assert 1 == await reads(database, log_in, Somebody("bidder"))
    for one in strangers:
        one.gone = True
    assert {"HangUp", "Busy"} >= set(await ended(flood))


async def test_few_searches_run_and_few_wait(database: Database) -> None:
    """Beyond a short line a search is refused at once; an ordinary read need not wait for any of them."""
    strangers = [Somebody(f"stranger {number}") for number in range(_FLOOD)]
    flood = [reads(database, search, one) for one in strangers]
    most = database._reading._most[Rank.COSTLY]
    await begun(database, Rank.COSTLY, most)
    assert most == database._reading._taken[Rank.COSTLY]
    refused = [task for task in flood if task.done()]
    assert {"Busy": _FLOOD - most - turns.WAITING_MAX[Rank.COSTLY]} == await ended(refused)
    async with asyncio.timeout(SECONDS_MAX):
        assert 1 == await reads(database, briefly, Somebody("reader"))
    for one in strangers:
        one.gone = True
    await ended(flood)


async def test_a_statement_that_nobody_waits_for_is_stopped(database: Database) -> None:
    """If its client hangs up, a statement ends, in the database too, and its place is free."""
    somebody = Somebody("stranger")
    gone = [reads(database, search, somebody) for _ in range(3)]
    await begun(database, Rank.COSTLY, 1)
    somebody.gone = True
    async with asyncio.timeout(SECONDS_MAX):
        assert {"HangUp": 3} == await ended(gone)
        assert 1 == await reads(database, search_briefly, Somebody("next"))
        if database.kind == "postgresql":
            ours = text("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%/* planted */' AND state = 'active'")
            while await database.read(lambda tx: tx.execute(ours).scalar_one()):
                await asyncio.sleep(0.05)
        else:
            assert 0 == database._reading._taken[Rank.HOUSE]


async def test_a_read_that_left_the_line_does_not_run(database: Database) -> None:
    """A read whose client hangs up while it waits for its turn does not run at all."""
    asked: list[str] = []

    @ranked(Rank.COSTLY)
    def note(tx: Transaction) -> None:
        asked.append("asked")

    first, other = Somebody("first"), Somebody("other")
    running = [reads(database, search, Somebody(f"{number}")) for number in range(2)] + [reads(database, search, first)]
    await begun(database, Rank.COSTLY, database._reading._most[Rank.COSTLY])
    left, stays = reads(database, note, first), reads(database, note, other)
    await settled()
    first.gone = True
    for task in running:
        task.cancel()
    await stays
    assert {"HangUp": 1} == await ended([left])
    assert ["asked"] == asked


async def test_reads_for_people_have_a_deadline(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read that takes too long is stopped with a clear answer, and the house's own work never is."""
    monkeypatch.setattr(storage, "READ_SECONDS_MAX", 0.3)
    own = reads(database, slowly, None)
    with pytest.raises(Busy, match="took too long and was stopped"):
        await reads(database, slowly, Somebody("stranger"))
    await asyncio.sleep(0.5)
    assert not own.done()
    own.cancel()
    assert {"CancelledError": 1} == await ended([own])


async def test_the_desk_is_first_in_the_turn(database: Database) -> None:
    """A write of the house waits for the running write and for no other, however many came before it."""
    order: list[str] = []

    def note(name: str) -> Callable[[Transaction], None]:
        return lambda _: order.append(name)

    gate = database._writing = Turns(1)
    holder = await gate.take(Rank.HOUSE, None)
    somebody = Somebody("stranger")
    storm = [asked_by(somebody, lambda: database.write(note("stranger"))) for _ in range(20)]
    await settled()

    async def desk() -> None:
        for _ in range(9):
            await database.write(note("bids"))

    bids = asked_by(None, desk)
    await settled()
    gate.leave(holder)
    await bids
    await ended(storm)
    assert ["bids"] * 3 + ["stranger"] + ["bids"] * 3 + ["stranger"] + ["bids"] * 3 == order[:11]


async def test_a_full_line_of_one_user_refuses_only_that_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one user has filled the line, their next request is refused; another user is let in and comes next."""
    monkeypatch.setitem(turns.WAITING_MAX, Rank.ORDINARY, 20)
    gate = Turns(1)
    holder = await gate.take(Rank.HOUSE, None)
    order: list[str] = []

    async def one(somebody: Somebody) -> None:
        place = await gate.take(Rank.ORDINARY, somebody)
        order.append(somebody.name)
        gate.leave(place)

    storm = [asyncio.create_task(one(Somebody("storm"))) for _ in range(30)]
    await settled()
    calm = asyncio.create_task(one(Somebody("calm")))
    await settled()
    gate.leave(holder)
    await calm
    assert {"NoneType": 20, "Busy": 10} == await ended(storm)
    assert "calm" in order[:2]


async def test_no_key_has_all_places() -> None:
    """Of six places for ordinary work, one user has four at most: a third as anybody, a third by name."""
    gate = Turns(10)
    tasks = [asyncio.create_task(gate.take(Rank.ORDINARY, Somebody("storm"))) for _ in range(30)]
    await settled()
    assert 4 == gate._taken[Rank.ORDINARY]
    assert Place(Rank.ORDINARY, "calm") == await gate.take(Rank.ORDINARY, Somebody("calm"))
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@pytest.mark.parametrize("places", [1, 2, 3, 5, 10, 100])
async def test_every_rank_has_a_place(places: int) -> None:
    """However few places there are, each rank gets one; if there are two, the house has one that no other rank gets."""
    gate = Turns(places)
    for rank in Rank:
        gate.leave(await gate.take(rank, Somebody("anyone")))
    taken = [
        asyncio.create_task(gate.take(rank, Somebody(f"{number}"))) for number in range(200) for rank in list(Rank)[1:]
    ]
    await settled()
    assert gate._taken[Rank.HOUSE] <= max(1, places - 1)
    for task in taken:
        task.cancel()
    await asyncio.wait(taken)


async def test_a_cancelled_waiter_gives_its_turn_on() -> None:
    """If a waiter is cancelled just as its turn is given, the next one gets the turn."""
    gate = Turns(1)
    holder = await gate.take(Rank.HOUSE, None)
    first, second = (asyncio.create_task(gate.take(Rank.LOGIN, Somebody(name))) for name in "ab")
    await settled()
    gate.leave(holder)
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(SECONDS_MAX):
        gate.leave(await second)
    with pytest.raises(asyncio.CancelledError):
        await first
    assert 0 == gate._taken[Rank.HOUSE]


async def test_clients_that_hung_up_make_room_in_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that have hung up do not keep others out."""
    monkeypatch.setitem(turns.WAITING_MAX, Rank.COSTLY, 5)
    gate = Turns(1)
    holder = await gate.take(Rank.HOUSE, None)
    gone = [Somebody(f"{number}") for number in range(5)]
    line = [asyncio.create_task(gate.take(Rank.COSTLY, one)) for one in gone]
    await settled()
    with pytest.raises(Busy):
        await gate.take(Rank.COSTLY, Somebody("late"))
    for one in gone:
        one.gone = True
    stays = asyncio.create_task(gate.take(Rank.COSTLY, Somebody("late")))
    await settled()
    gate.leave(holder)
    assert Place(Rank.COSTLY, "late") == await stays
    with pytest.raises(HangUp):
        await line[0]
    await ended(line)
