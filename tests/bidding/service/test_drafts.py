"""Drafts are saved for their owners, bounded, and deleted after a month; their photos stay as long as they do."""

import asyncio
from datetime import timedelta

import pytest

from saleroom.bidding.domain.drafts import DRAFT_LIFETIME, DraftForm
from saleroom.bidding.domain.errors import HasBids
from saleroom.bidding.domain.photos import PER_LOT_MAX, UNPLACED_LIFETIME
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import drafts, photos, selling
from saleroom.bidding.service.auctions import OfferingRules
from saleroom.bidding.service.closing import Closer
from saleroom.bidding.service.renditions import make
from saleroom.bidding.service.selling import Amendment
from saleroom.bidding.storage import drafts as storage
from saleroom.kernel.errors import Unauthenticated
from saleroom.storage.database import Database
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, bid, person, sells
from tests.fixtures_database import FakeClock, OpenDatabase
from tests.patience import SECONDS_MAX
from tests.pictures import plain

pytestmark = pytest.mark.databases("sqlite")

MADE = make(plain((20, 16)))


def form(name: str = "Clock", photo_ids: tuple[str, ...] = ()) -> DraftForm:
    """A form with a name, one row and photos."""
    return DraftForm({"name": name}, [("0", "5")], list(photo_ids))


async def sent(database: Database, who: Person) -> str:
    """The id of a new photo of a user."""
    return (await database.write(photos.keep, who.token, MADE)).id


async def test_a_draft_is_found_as_it_was_left(database: Database) -> None:
    """Texts, rows and photos in their order come back to their owner; the last state counts, without another's photos."""
    ada, eve = await person(database), await person(database)
    first, second, theirs = await sent(database, ada), await sent(database, ada), await sent(database, eve)
    await database.write(drafts.save, ada.token, "one", form(photo_ids=(first, second)))
    await database.write(drafts.save, ada.token, "one", form("Clock\r\n\x00", (second, theirs, first, "none", second)))
    await database.write(drafts.save, eve.token, "one", form("Eve's"))
    found = await database.read(drafts.find, ada.token, "one")
    assert found is not None
    assert form("Clock\r\n\x00", (second, first)) == found.form
    assert ["one"] == [one.gid for one in await database.read(drafts.newest, ada.token)]
    await database.write(drafts.remove, ada.token, "one")
    assert None is await database.read(drafts.find, ada.token, "one")
    assert None is not await database.read(drafts.find, eve.token, "one")
    for use in (database.read(drafts.find, "dead", "one"), database.write(drafts.save, "dead", "one", form())):
        with pytest.raises(Unauthenticated):
            await use


async def test_a_draft_has_no_more_photos_than_a_lot(database: Database) -> None:
    """Photos beyond those that a lot can have are not in the draft."""
    ada = await person(database)
    ids = tuple([await sent(database, ada) for _ in range(PER_LOT_MAX + 1)])
    await database.write(drafts.save, ada.token, "one", form(photo_ids=ids))
    found = await database.read(drafts.find, ada.token, "one")
    assert found is not None
    assert list(ids[:PER_LOT_MAX]) == found.form.photos


async def test_no_more_drafts_than_allowed(open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several requests at once take the last place once. A draft that exists can be written again."""
    monkeypatch.setattr(drafts, "DRAFTS_MAX", 2)
    several = [open_database() for _ in range(3)]
    ada = await person(several[0])
    saved = (one.write(drafts.save, ada.token, f"draft{n}", form()) for n, one in enumerate(several))
    assert [False, True, True] == sorted(await asyncio.gather(*saved))
    [first, _] = await several[0].read(drafts.newest, ada.token)
    assert await several[0].write(drafts.save, ada.token, first.gid, form("Again"))


async def test_photos_stay_as_long_as_their_draft(clocked_database: Database, clock: FakeClock) -> None:
    """A photo in a draft outlives the day of others; a month after its last change the draft goes, and then the photo."""
    database = clocked_database
    ada = await person(database)
    kept, loose = await sent(database, ada), await sent(database, ada)
    await database.write(drafts.save, ada.token, "one", form(photo_ids=(kept,)))
    clock.advance(UNPLACED_LIFETIME.total_seconds())
    assert 1 == await database.write(photos.sweep)
    assert [kept] == [one.id for one in await database.read(photos.own, ada.token, [kept, loose])]
    await database.write(drafts.save, ada.token, "one", form("Changed", (kept,)))
    clock.advance((DRAFT_LIFETIME - timedelta(seconds=1)).total_seconds())
    assert (0, 0) == (await database.write(drafts.sweep), await database.write(photos.sweep))
    clock.advance(1)
    assert (1, 1) == (await database.write(drafts.sweep), await database.write(photos.sweep))
    assert 0 == await database.read(storage.count, ada.account.id)


async def test_the_closer_sweeps_drafts(clocked_database: Database, clock: FakeClock) -> None:
    """The closer deletes old drafts with all their rows, many at a time."""
    database = clocked_database
    ada = await person(database)
    photo = await sent(database, ada)
    await database.write(drafts.save, ada.token, "one", form(photo_ids=(photo,)))
    clock.advance(DRAFT_LIFETIME.total_seconds())
    closing = asyncio.create_task(Closer(database).run())
    async with asyncio.timeout(SECONDS_MAX):
        while await database.read(storage.count, ada.account.id):
            await asyncio.sleep(0.01)
    closing.cancel()


async def test_a_draft_goes_with_its_publication_or_stays(database: Database) -> None:
    """A lot and the end of its draft are one transaction: a refused amendment leaves the draft."""
    ada, bob = await person(database), await person(database)
    await database.write(drafts.save, ada.token, "one", form())
    draft, rules = Draft(name="Clock", starting_price=eur("1")), OfferingRules(auctions_max=10)
    await database.write(selling.publish, ada.token, "one", draft, None, [], rules)
    assert None is await database.read(drafts.find, ada.token, "one")
    gid = await sells(database, ada)
    await database.write(drafts.save, ada.token, gid, form())
    await bid(database, bob.bids(gid, "100"))
    amendment = Amendment({"name": "Better"}, [], Precondition(version=1))
    with pytest.raises(HasBids):
        await database.write(selling.amend, ada.token, gid, amendment)
    assert None is not await database.read(drafts.find, ada.token, gid)
