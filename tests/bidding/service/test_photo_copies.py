"""Photos of a lot that is over are copied to another lot, so that neither loses one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

import pytest
from sqlalchemy import func, select

from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.domain.errors import TooManyPhotos
from saleroom.bidding.domain.photos import PER_LOT_MAX, UNPLACED_MAX, Photo
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions, photos
from saleroom.bidding.service.renditions import make
from saleroom.bidding.storage.tables import photo_files
from saleroom.kernel.errors import Invalid
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person, person, read, sells
from tests.fixtures_database import FakeClock
from tests.pictures import plain

pytestmark = pytest.mark.databases("sqlite")

MADE = make(plain((900, 600)))


async def unsold(database: Database, who: Person, count: int) -> tuple[str, list[str]]:
    """A cancelled lot, and the ids of its photos."""
    gid = await sells(database, who)
    ids = [(await database.write(photos.keep, who.token, MADE)).id for _ in range(count)]
    await arranged(database, who, gid, ids)
    await database.write(auctions.cancel, who.token, gid)
    return gid, ids


async def arranged(database: Database, who: Person, gid: str, ids: Sequence[str]) -> list[Photo]:
    """The photos of a lot, after these were put on it."""
    return (await database.write(photos.arrange, who.token, gid, ids)).photos


def file_rows(tx: Transaction) -> int:
    """How many files are stored."""
    return int(tx.execute(select(func.count()).select_from(photo_files)).scalar_one())


async def test_both_lots_have_the_photos(clocked_database: Database, clock: FakeClock) -> None:
    """The new lot has copies in the order asked for, beside a new photo; no file is stored twice, and both logs are right."""
    database, ada = clocked_database, await person(clocked_database)
    first, ids = await unsold(database, ada, 2)
    other = (await database.write(photos.keep, ada.token, MADE)).id
    files = await database.read(file_rows)
    second = await sells(database, ada)
    copies = await arranged(database, ada, second, [ids[1], other, ids[0]])
    assert other == copies[1].id
    assert not {copies[0].id, copies[2].id} & set(ids)
    await database.write(auctions.cancel, ada.token, second)
    # Copies of copies, together with the photo that the lot lost.
    third = await arranged(database, ada, await sells(database, ada), [copies[0].id, ids[0]])
    clock.advance(days=2)
    await database.write(photos.sweep)
    assert files == await database.read(file_rows)
    assert [ids, [one.id for one in copies]] == [
        [photo.id for photo in await database.read(photos.of_lot, gid)] for gid in (first, second)
    ]
    for photo, source in ((copies[0], ids[1]), (third[0], ids[1]), (third[1], ids[0])):
        for width in photo.widths:
            found, expected = [await database.read(photos.file, one, width) for one in (photo.id, source)]
            assert expected == found
    assert [] == await database.read(faults_of)


async def test_a_new_lot_comes_with_copies_once(database: Database) -> None:
    """Creating a lot with photos of an unsold one copies them; the photos of others, and of running lots, are refused."""
    ada, eve = await person(database), await person(database)
    _, ids = await unsold(database, ada, 2)
    draft = Draft(name="Clock", starting_price=Decimal("1.000"))
    gid = read(await database.write(auctions.create, ada.token, draft, None, ids))["gid"]
    copies = [photo.id for photo in await database.read(photos.of_lot, gid)]
    assert 2 == len(copies)
    assert copies == [photo.id for photo in await arranged(database, ada, gid, copies)]
    for who, wanted, code in ((eve, ids, "unknown_photo"), (ada, copies, "photo_in_use")):
        with pytest.raises(Invalid) as caught:
            await database.write(auctions.create, who.token, draft, None, wanted)
        assert [code] == [fault.code for fault in caught.value.faults["photos"]]


async def test_copies_are_bounded(clocked_database: Database, clock: FakeClock) -> None:
    """Copying the same photos to a lot again and again leaves no more on no lot than a user may have; a day later they go."""
    database, ada = clocked_database, await person(clocked_database)
    _, ids = await unsold(database, ada, PER_LOT_MAX)
    gid = await sells(database, ada)
    before = await database.read(file_rows)
    kept: list[Photo] = []
    for _ in range(1 + UNPLACED_MAX // PER_LOT_MAX):
        kept = await arranged(database, ada, gid, ids)
    with pytest.raises(TooManyPhotos):
        await arranged(database, ada, gid, ids)
    assert kept == await database.read(photos.of_lot, gid)
    clock.advance(hours=24)
    assert UNPLACED_MAX == await database.write(photos.sweep)
    assert before == await database.read(file_rows)
    assert [] == await database.read(faults_of)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_sweep_leaves_the_files_of_a_copy(clocked_database: Database, clock: FakeClock) -> None:
    """A copy that is taken off is deleted after a day, and the lot of before still shows its photo."""
    database, ada = clocked_database, await person(clocked_database)
    first, ids = await unsold(database, ada, 1)
    second = await sells(database, ada)
    [copy] = await arranged(database, ada, second, ids)
    await arranged(database, ada, second, [])
    clock.now += timedelta(hours=24)
    assert 1 == await database.write(photos.sweep)
    assert [] == await database.read(photos.own, ada.token, [copy.id])
    assert MADE.files[400] == (await database.read(photos.file, ids[0], 400)).data
    assert 1 == len(await database.read(photos.of_lot, first))
