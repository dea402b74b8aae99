"""Opening and closing by the clock: once and on time, by any process; and what an outage changes."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from saleroom.bidding.domain.events import AuctionClosed, AuctionExtended, AuctionOpened, Reason, SoftClose
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.service import closing
from saleroom.bidding.service.closing import OUTAGE, Closer, Round, settle_due
from saleroom.bidding.storage import auctions
from saleroom.storage.database import Database
from tests.bidding.domain.examples import after
from tests.bidding.service.people import Person, bid, logged, person, sells, stored
from tests.fixtures_database import FakeClock, OpenDatabase
from tests.patience import until
from tests.rows import each_of

MICROSECOND = timedelta(microseconds=1)


@pytest.fixture
async def ada(clocked_database: Database) -> Person:
    """The seller."""
    return await person(clocked_database)


@pytest.fixture
async def bob(clocked_database: Database) -> Person:
    """The bidder."""
    return await person(clocked_database)


async def test_an_auction_closes_at_its_end_and_not_before(
    clocked_database: Database, clock: FakeClock, ada: Person, bob: Person
) -> None:
    """A microsecond before the end nothing happens; later the close is dated by the end, however late it comes."""
    gid = await sells(clocked_database, ada, ends_at=after(3600))
    await bid(clocked_database, bob.bids(gid, "up to 150"))
    clock.now = after(3600) - MICROSECOND
    assert Round(0, 0, 0.000001) == await clocked_database.write(settle_due)
    clock.now = after(3605)
    assert Round(1, 0, None, (5.0,)) == await clocked_database.write(settle_due)
    [closed] = [event for event in await logged(clocked_database, gid) if isinstance(event, AuctionClosed)]
    assert (after(3600), "sold", bob.account.username) == (closed.at, closed.outcome, closed.winner)
    assert Round(0, 0, None) == await clocked_database.write(settle_due)


async def test_an_auction_opens_at_its_start(clocked_database: Database, clock: FakeClock, ada: Person) -> None:
    """The closer opens a scheduled auction, dated by its start, and returns when it must look next."""
    early = await sells(clocked_database, ada, starts_at=after(60), ends_at=after(120))
    late = await sells(clocked_database, ada, starts_at=after(3600))
    assert Round(0, 0, 60.0) == await clocked_database.write(settle_due)
    clock.now = after(61)
    assert Round(1, 0, 59.0, (1.0,)) == await clocked_database.write(settle_due, reopens=False)
    assert ("open", "scheduled") == tuple([(await stored(clocked_database, gid)).status for gid in (early, late)])
    assert AuctionOpened(at=after(60)) == (await logged(clocked_database, early))[-1]
    clock.now = after(4000)
    assert Round(2, 0, None, (3880.0, 400.0)) == await clocked_database.write(settle_due, reopens=False)
    assert ("closed", "open") == tuple([(await stored(clocked_database, gid)).status for gid in (early, late)])


async def test_several_closers_close_once(open_database: OpenDatabase) -> None:
    """If several processes close at the same time, one of them closes each auction; all end in the same state."""
    clock = FakeClock()
    several = [open_database(clock=clock) for _ in range(4)]
    ada, bob = [await person(several[0]) for _ in range(2)]
    terms = [{"ends_at": after(60 + n % 3), "starts_at": after(n % 2), "soft_close": None} for n in range(12)]
    gids = [await sells(several[0], ada, **each) for each in terms]
    clock.now = after(2)
    await bid(several[0], *(bob.bids(gid, "100") for gid in gids[::2]))
    clock.now = after(600)
    rounds = await asyncio.gather(*(one.write(settle_due, reopens=False) for one in several * 3))
    assert 12 == sum(settled.count for settled in rounds)
    for n, gid in enumerate(gids):
        auction, log = await stored(several[0], gid), await logged(several[0], gid)
        assert [after(60 + n % 3)] == [event.at for event in log if isinstance(event, AuctionClosed)]
        assert ("no_bids" if n % 2 else "sold") == auction.outcome
        assert auction == replay(auction.id, log)


async def test_closing_while_people_bid(open_database: OpenDatabase) -> None:
    """With a running clock, bidders and closers in two processes: no bid is at or after the end, and there is one close."""
    ahead = timedelta()
    here, there = (open_database(clock=lambda: datetime.now(UTC) + ahead) for _ in range(2))
    ada = await person(here)
    people = [await person(here) for _ in range(6)]
    now = await here.read(lambda tx: tx.now())
    gid = await sells(here, ada, ends_at=now + timedelta(hours=1), soft_close=None)
    ahead = now + timedelta(hours=1, seconds=-0.8) - datetime.now(UTC)
    answers: list[str] = []

    async def bidding(one: Database, who: Person) -> None:
        amount = 100
        while "auction_closed" not in answers:
            answers.extend(await bid(one, who.bids(gid, str(amount))))
            amount += 10

    async def closing(one: Database) -> int:
        closed = 0
        while "auction_closed" not in answers or not (await stored(one, gid)).over:
            closed += (await one.write(settle_due)).count
            await asyncio.sleep(0.01)
        return closed

    bidders = [asyncio.create_task(bidding(one, who)) for one, who in zip((here, there) * 3, people, strict=True)]
    first, second = await asyncio.gather(closing(here), closing(there))
    await asyncio.gather(*bidders)
    auction, log = await stored(here, gid), await logged(here, gid)
    assert auction.ends_at is not None
    assert 1 == first + second
    assert isinstance(log[-1], AuctionClosed)
    assert all(event.at < auction.ends_at for event in log[:-1])
    assert answers.count("accepted") == len(log) - 2 == auction.bid_count
    assert auction == replay(auction.id, log)


async def _down(database: Database, clock: FakeClock, since: float, back: float) -> None:
    """Serve until `since` (seconds after T0), and be back at `back`."""
    clock.now = after(since)
    await database.write(settle_due)
    clock.now = after(back)


async def test_an_outage_over_the_end_reopens(
    clocked_database: Database, clock: FakeClock, ada: Person, bob: Person
) -> None:
    """If the house was down at the end, the auction reopens for its extension and says why; then it closes."""
    gid = await sells(clocked_database, ada, ends_at=after(3600))
    await _down(clocked_database, clock, 3500, 4000)
    assert Round(0, 1, 120.0) == await clocked_database.write(settle_due)
    extended = AuctionExtended(at=after(4000), ends_at=after(4120), reason=Reason.OUTAGE, down_since=after(3500))
    assert extended == (await logged(clocked_database, gid))[-1]
    assert ["accepted"] == await bid(clocked_database, bob.bids(gid, "100"))
    clock.now = after(4120)
    assert Round(1, 0, None, (0.0,)) == await clocked_database.write(settle_due, reopens=False)
    assert "sold" == (await stored(clocked_database, gid)).outcome


async def test_an_outage_reopens_only_what_it_touched(
    clocked_database: Database, clock: FakeClock, ada: Person
) -> None:
    """Auctions that ended before the outage or end later keep their end; one that also started within it counts once."""
    ends = {"before": 3000, "within": 3600, "in its window": 4100, "later": 9000}
    gids = {name: await sells(clocked_database, ada, ends_at=after(end)) for name, end in ends.items()}
    gids["started"] = await sells(clocked_database, ada, starts_at=after(3550), ends_at=after(3700))
    gids["off"] = await sells(clocked_database, ada, ends_at=after(3600), soft_close=None)
    await _down(clocked_database, clock, 3500, 4000)
    settled = await clocked_database.write(settle_due)
    assert (1, 3) == (settled.count, settled.reopened)
    found = {name: await stored(clocked_database, gid) for name, gid in gids.items()}
    assert {
        "before": ("closed", after(3000)),
        "within": ("open", after(4120)),
        "in its window": ("open", after(4120)),
        "later": ("open", after(9000)),
        "started": ("open", after(4120)),
        "off": ("closed", after(3600)),
    } == {name: (auction.status, auction.ends_at) for name, auction in found.items()}
    for auction in found.values():
        assert auction == replay(auction.id, await logged(clocked_database, auction.gid))


async def test_an_outage_after_the_clock_was_set_back(
    clocked_database: Database, clock: FakeClock, ada: Person
) -> None:
    """While the clock shows again what it has shown before, an outage is noticed as ever."""
    clock.now = after(9000)
    await clocked_database.write(settle_due)
    clock.now = after(0)
    gid = await sells(clocked_database, ada, ends_at=after(3600))
    await _down(clocked_database, clock, 3500, 4000)
    assert Round(0, 1, 120.0) == await clocked_database.write(settle_due)
    assert after(4120) == (await stored(clocked_database, gid)).ends_at


@each_of(
    {"since": 3595, "back": 3595 + OUTAGE.total_seconds(), "reopens": True, "status": "closed"},
    {"since": 3595, "back": 3595.000001 + OUTAGE.total_seconds(), "reopens": True, "status": "open"},
    {"since": 3500, "back": 4000, "reopens": False, "status": "closed"},
    {"since": 3600, "back": 4000, "reopens": True, "status": "closed"},
)
async def test_the_length_of_an_outage(
    clocked_database: Database, clock: FakeClock, ada: Person, since: float, back: float, reopens: bool, status: str
) -> None:
    """A gap of more than two heartbeats is an outage, unless the setting is off or the end came before it."""
    gid = await sells(clocked_database, ada, ends_at=after(3600))
    await _down(clocked_database, clock, since, back)
    await clocked_database.write(settle_due, reopens=reopens)
    assert status == (await stored(clocked_database, gid)).status


async def test_a_new_house_has_no_outage(clocked_database: Database, clock: FakeClock, ada: Person) -> None:
    """Without an earlier heartbeat there is no sign of an outage, and due auctions are closed."""
    gid = await sells(clocked_database, ada, ends_at=after(3600))
    clock.now = after(4000)
    assert Round(1, 0, None, (400.0,)) == await clocked_database.write(settle_due)
    assert "closed" == (await stored(clocked_database, gid)).status


async def test_several_processes_come_back_at_once(open_database: OpenDatabase) -> None:
    """After an outage one process reopens the auction, and the others neither close it nor extend it again."""
    clock = FakeClock()
    several = [open_database(clock=clock) for _ in range(4)]
    ada = await person(several[0])
    gid = await sells(several[0], ada, ends_at=after(3600))
    await _down(several[0], clock, 3500, 4000)
    rounds = await asyncio.gather(*(one.write(settle_due) for one in several))
    assert [0, 0, 0, 1] == sorted(settled.reopened for settled in rounds)
    assert ["auction.created", "auction.extended"] == [event.TYPE for event in await logged(several[0], gid)]


async def test_more_than_a_batch(
    clocked_database: Database, clock: FakeClock, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The closer settles everything that is due, batch by batch, before it sleeps."""
    monkeypatch.setattr("saleroom.bidding.service.closing.BATCH", 3)
    gids = [await sells(clocked_database, ada, ends_at=after(60)) for _ in range(8)]
    clock.now = after(60)
    assert 3 == (await clocked_database.write(settle_due)).count
    await Closer(clocked_database).settle()
    assert ["closed"] * 8 == [(await stored(clocked_database, gid)).status for gid in gids]


async def test_a_new_auction_wakes_the_closer(
    clocked_database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An auction that ends before the next heartbeat wakes the closer, which closes it unasked."""
    database, end = clocked_database, clock.now + timedelta(seconds=0.1)
    ada = await person(database)
    monkeypatch.setattr(closing, "HEARTBEAT_SECONDS", 600.0)
    closer = Closer(database)
    database.after_commit(auctions.CHANGED, closer.expect)
    closed: list[str] = []
    database.after_commit(auctions.CHANGED, lambda changed: closed.extend(one.gid for one in changed if one.over))
    running = asyncio.create_task(closer.run())
    try:
        await until(lambda: closer._wakes_at > asyncio.get_running_loop().time(), "it waits for the heartbeat")
        gid = await sells(database, ada, ends_at=end)
        clock.now = end
        await until(lambda: closed == [gid], "the close")
    finally:
        running.cancel()
        await asyncio.wait([running])
    [event] = [one for one in await logged(database, gid) if isinstance(one, AuctionClosed)]
    assert end == event.at


async def test_a_storm_of_soft_closes_does_not_wake_the_closer(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later end is no reason to look: hundreds of extensions cost the closer not one transaction."""
    rounds: list[int] = []
    ada, bob, cy = [await person(database) for _ in range(3)]
    now = await database.read(lambda tx: tx.now())
    rule = SoftClose(window=600, extension=600)
    gid = await sells(database, ada, ends_at=now + timedelta(seconds=500), soft_close=rule)
    closer = Closer(database)
    settle = closer.settle

    async def counted() -> float:
        rounds.append(1)
        return await settle()

    monkeypatch.setattr(closer, "settle", counted)  # of this closer only: this process may run other houses
    database.after_commit(auctions.CHANGED, closer.expect)
    began = asyncio.get_running_loop().time()
    running = asyncio.create_task(closer.run())
    try:
        await until(lambda: len(rounds) == 1, "a round")
        for number in range(1, 101):
            await bid(database, (bob if number % 2 else cy).bids(gid, str(number * 100_000)))
    finally:
        running.cancel()
        await asyncio.wait([running])
    assert 100 == sum(isinstance(one, AuctionExtended) for one in await logged(database, gid))
    heartbeats = (asyncio.get_running_loop().time() - began) // closing.HEARTBEAT_SECONDS
    assert len(rounds) <= 1 + heartbeats


async def test_a_commit_during_a_look_is_no_reason_for_another(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit during a look makes the closer look again at once only if something is due before the next look."""
    ada = await person(database)
    now = await database.read(lambda tx: tx.now())
    later, soon = [
        await database.read(auctions.get, await sells(database, ada, ends_at=now + timedelta(seconds=seconds)))
        for seconds in (500, 300)
    ]
    assert later is not None
    assert soon is not None
    looks: list[int] = []
    closer = Closer(database)
    settle = closer.settle

    async def interrupted() -> float:
        seconds = await settle()
        looks.append(1)
        closer.expect([later])
        return max(seconds, 600.0)

    monkeypatch.setattr(closer, "settle", interrupted)
    running = asyncio.create_task(closer.run())
    try:
        await until(lambda: len(looks) == 1, "a look")
        await asyncio.sleep(0.5)
        assert [1] == looks
        closer.expect([soon])
        await until(lambda: len(looks) == 2, "another look")
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_auctions_due_soon_are_read_ahead(open_database: OpenDatabase) -> None:
    """Before an auction ends, the closer has it in memory, even if another process created it."""
    here, there = open_database(), open_database()
    ada = await person(there)
    now = await there.read(lambda tx: tx.now())
    soon, later = [await sells(there, ada, ends_at=now + timedelta(seconds=s)) for s in (4, 3600)]
    ids = [(await stored(there, gid)).id for gid in (soon, later)]
    running = asyncio.create_task(Closer(here).run())
    try:
        await until(lambda: here.cache[auctions.AUCTIONS].get(ids[0]) is not None, "the first auction in the cache")
    finally:
        running.cancel()
        await asyncio.wait([running])
    assert here.cache[auctions.AUCTIONS].get(ids[1]) is None


async def test_an_outage_is_put_right_in_batches(
    clocked_database: Database, clock: FakeClock, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No transaction reopens more than a batch. Nothing closes before the last; all end as if one had done it.

    Lots of the same instant, and lots that the outage did not touch, are in several batches.
    """
    monkeypatch.setattr(closing, "BATCH", 3)
    monkeypatch.setattr(closing, "SEEN_MAX", 5)
    cut = [await sells(clocked_database, ada, ends_at=after(3600)) for _ in range(7)]
    off = [await sells(clocked_database, ada, ends_at=after(3600), soft_close=None) for _ in range(7)]
    later = [await sells(clocked_database, ada, ends_at=after(9000)) for _ in range(7)]
    cut += [await sells(clocked_database, ada, ends_at=after(3900 + n)) for n in range(4)]
    await _down(clocked_database, clock, 3500, 4000)
    rounds = [await clocked_database.write(settle_due)]
    while rounds[-1].more:
        clock.now += timedelta(seconds=1)
        assert ["scheduled_or_open"] * 7 == [await _standing(clocked_database, gid) for gid in off]
        rounds.append(await clocked_database.write(settle_due))
    assert 11 == sum(one.reopened for one in rounds)
    assert 3 == max(one.reopened for one in rounds)
    assert [0] * (len(rounds) - 1) == [one.count for one in rounds[:-1]]
    await Closer(clocked_database).settle()
    for gid in cut:
        extended = AuctionExtended(at=after(4000), ends_at=after(4120), reason=Reason.OUTAGE, down_since=after(3500))
        assert [extended] == (await logged(clocked_database, gid))[1:]
    assert {"closed"} == {(await stored(clocked_database, gid)).status for gid in off}
    assert {after(9000)} == {(await stored(clocked_database, gid)).ends_at for gid in later}
    assert not (await clocked_database.write(settle_due)).more


async def _standing(database: Database, gid: str) -> str:
    status = (await stored(database, gid)).status
    return "closed" if status == "closed" else "scheduled_or_open"


async def test_a_process_that_dies_between_two_batches_takes_no_time_away(
    clocked_database: Database, clock: FakeClock, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one goes on where it stopped, also if it comes so soon that the gap is no outage."""
    monkeypatch.setattr(closing, "BATCH", 2)
    gids = [await sells(clocked_database, ada, ends_at=after(3600)) for _ in range(5)]
    await _down(clocked_database, clock, 3500, 4000)
    assert (await clocked_database.write(settle_due)).more
    clock.now = after(4003)
    await Closer(clocked_database).settle()
    ends = [(await stored(clocked_database, gid)).ends_at for gid in gids]
    assert [after(4120)] * 5 == ends
    assert [2] * 5 == [len(await logged(clocked_database, gid)) for gid in gids]


async def test_an_outage_within_an_outage(
    clocked_database: Database, clock: FakeClock, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the house goes down again before all are reopened, the two are one outage, and those of the first are not lost."""
    monkeypatch.setattr(closing, "BATCH", 2)
    gids = [await sells(clocked_database, ada, ends_at=after(3600)) for _ in range(5)]
    await _down(clocked_database, clock, 3500, 4000)
    assert (await clocked_database.write(settle_due)).more
    clock.now = after(5000)
    await Closer(clocked_database).settle()
    found = [await stored(clocked_database, gid) for gid in gids]
    assert {("open", after(5120))} == {(one.status, one.ends_at) for one in found}
