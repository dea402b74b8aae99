"""Closing thousands of auctions that end together: what a round leaves out, and what is in memory before."""

import pytest

from saleroom.bidding.service import closing
from saleroom.bidding.service.closing import Closer, Round, settle_due
from saleroom.bidding.storage import auctions
from saleroom.storage.database import Database
from tests.bidding.domain.examples import after
from tests.bidding.service.people import Person, person, sells, stored
from tests.fixtures_database import FakeClock


@pytest.fixture
async def ada(clocked_database: Database) -> Person:
    """The seller."""
    return await person(clocked_database)


async def test_only_the_last_round_looks_for_the_next_due_auction(
    clocked_database: Database, clock: FakeClock, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a full batch more may be due at once; the closer goes on, and then knows when the next auction is due."""
    monkeypatch.setattr(closing, "BATCH", 2)
    for seconds in (60, 60, 90):
        await sells(clocked_database, ada, ends_at=after(seconds))
    clock.now = after(60)
    assert Round(2, 0, 0.0, (0.0, 0.0)) == await clocked_database.write(settle_due, reopens=False)
    assert min(30.0, closing.HEARTBEAT_SECONDS) == await Closer(clocked_database, reopens=False).settle()
    assert Round(0, 0, 30.0) == await clocked_database.write(settle_due, reopens=False)


async def test_what_is_read_ahead_leaves_room_in_the_cache(
    clocked_database: Database, clock: FakeClock, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The closer reads ahead the auctions that end first, and leaves a part of the cache to others."""
    assert 10_000 <= closing.READ_AHEAD_MAX < auctions.CACHED_MAX
    monkeypatch.setattr(closing, "READ_AHEAD_MAX", 2)
    gids = [await sells(clocked_database, ada, ends_at=after(seconds)) for seconds in (63, 62, 61)]
    clock.now = after(60)
    first = [(await stored(clocked_database, gid)).id for gid in (gids[2], gids[1])]
    assert first == await clocked_database.read(closing.due_soon)
