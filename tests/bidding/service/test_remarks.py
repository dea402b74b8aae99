"""Remarks are written one after the other, and end with the lot."""

import asyncio
from datetime import timedelta

import pytest

from saleroom.bidding.domain.errors import AuctionOver
from saleroom.bidding.service import remarks
from saleroom.storage.database import Database
from tests.bidding.service.people import person, sells
from tests.fixtures_database import T0, FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")


@pytest.mark.databases("sqlite", "postgresql")
async def test_remarks_at_once(open_database: OpenDatabase) -> None:
    """Of one remark sent twice at once, from several processes, one is written; different ones are all written."""
    processes = [open_database() for _ in range(4)]
    ada = await person(processes[0])
    gid = await sells(processes[0], ada)
    texts = ["One", "One", "Two", "Three"]
    written = (process.write(remarks.add, ada.token, gid, text) for process, text in zip(processes, texts, strict=True))
    answers = await asyncio.gather(*written)
    found = await processes[0].read(remarks.of_lot, gid)
    assert [*range(1, len(found) + 1)] == [one.number for one in found]
    assert {"One", "Two", "Three"} == {one.text for one in found}
    assert {one.number for one in found} == {one.number for one in answers}


async def test_no_remark_after_the_end(clocked_database: Database, clock: FakeClock) -> None:
    """From the instant of the end there is no remark, even before the closer has closed the lot."""
    ada = await person(clocked_database)
    gid = await sells(clocked_database, ada, ends_at=T0 + timedelta(hours=1))
    clock.advance(3599)
    await clocked_database.write(remarks.add, ada.token, gid, "In time")
    clock.advance(1)
    with pytest.raises(AuctionOver):
        await clocked_database.write(remarks.add, ada.token, gid, "Late")
    assert ["In time"] == [one.text for one in await clocked_database.read(remarks.of_lot, gid)]
