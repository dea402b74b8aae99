"""Photos are stored, put on lots by their rules, and deleted if no lot shows them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import func, select, text

from saleroom.bidding.domain.errors import AuctionOver, HasBids, NotAuthor, TooManyPhotos, UnknownAuction, UnknownPhoto
from saleroom.bidding.domain.photos import UNPLACED_MAX, Photo
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions, photos
from saleroom.bidding.service.closing import Closer
from saleroom.bidding.service.photos import PLACES_KEPT, PLACES_OF_NETWORK, PLACES_OF_USER, LotPhotos, Photos
from saleroom.bidding.service.places import Sender
from saleroom.bidding.service.renditions import Renditions, make
from saleroom.bidding.storage import photos as storage
from saleroom.bidding.storage.tables import photo_files
from saleroom.bidding.storage.tables import photos as rows
from saleroom.kernel.errors import Busy, Invalid, Refusal, TooManyRequests, Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person, bid, once_of, person, read, sells
from tests.fixtures_database import T0, FakeClock, OpenDatabase
from tests.patience import SECONDS_MAX
from tests.pictures import plain

pytestmark = pytest.mark.databases("sqlite")

PICTURE = plain((1000, 500))
MADE = make(plain((20, 16)))


@pytest.fixture
def taking_in(database: Database) -> Iterator[Photos]:
    """The intake of photos, over the test's database."""
    made = Photos(database, 10_000)
    yield made
    made.close()


async def stored(taking_in: Photos, who: Person, data: bytes = PICTURE) -> Photo:
    """A photo of a user, stored as a request stores it."""
    sender = Sender.at(await taking_in.sender_of(who.token), "192.0.2.1")
    return await taking_in.keep(who.token, await taking_in.decode(sender, data))


async def sent(database: Database, who: Person, count: int = 1) -> list[Photo]:
    """`count` small photos of a user, on no lot."""
    return [await database.write(photos.keep, who.token, MADE) for _ in range(count)]


def ids(found: Sequence[Photo]) -> list[str]:
    """The ids of photos."""
    return [one.id for one in found]


def codes(refused: Refusal) -> dict[str, list[str]]:
    """The codes of the faults of each field."""
    assert isinstance(refused, Invalid), refused
    return {field: [fault.code for fault in faults] for field, faults in refused.faults.items()}


async def counted(database: Database) -> tuple[int, int]:
    """The number of photos and the number of files."""

    def count(tx: Transaction) -> tuple[int, int]:
        return tuple(tx.execute(select(func.count()).select_from(table)).scalar_one() for table in (rows, photo_files))

    return await database.read(count)


async def test_a_photo_is_stored_and_found(database: Database, taking_in: Photos) -> None:
    """A stored photo has an id of 96 random bits, and one file for each of its widths and no other width."""
    ada = await person(database)
    one, other = await stored(taking_in, ada), await stored(taking_in, ada)
    assert (16, 1000, 500, (400, 800, 1000)) == (len(one.id), one.width, one.height, one.widths)
    assert one.id != other.id
    files = [await database.read(photos.file, one.id, width) for width in one.widths]
    assert list(make(PICTURE).files.values()) == [file.data for file in reversed(files)]
    assert 3 == len({file.digest for file in files})
    for photo_id, width in ((one.id, 401), (one.id, 1600), ("nobody's", 400)):
        with pytest.raises(UnknownPhoto):
            await database.read(photos.file, photo_id, width)


async def test_bad_files_are_refused(database: Database, taking_in: Photos) -> None:
    """Unknown users, files that are too large and files that are no pictures are refused and leave nothing behind."""
    ada = await person(database)
    with pytest.raises(Unauthenticated):
        await taking_in.sender_of("AAAAAAAAAAAAAA==")
    with pytest.raises(Unauthenticated):
        await taking_in.keep("AAAAAAAAAAAAAA==", MADE)
    for data, code in ((PICTURE + b"\0" * 10_000, "file_too_large"), (b"no picture", "not_an_image")):
        with pytest.raises(Invalid) as caught:
            await stored(taking_in, ada, data)
        assert {"photo": [code]} == codes(caught.value)
    assert (0, 0) == await counted(database)


async def test_photos_on_a_lot_have_the_order_that_was_asked_for(database: Database) -> None:
    """A lot has exactly the photos that were named last, in that order; a photo taken off still belongs to its owner."""
    ada = await person(database)
    gid, (a, b, c) = await sells(database, ada), await sent(database, ada, 3)
    assert [] == await database.read(photos.of_lot, gid)
    for wanted in ([a, b, c], [c, a, b], [b], [b, a], [], [c, b, a]):
        assert wanted == (await database.write(photos.arrange, ada.token, gid, ids(wanted))).photos
        assert wanted == await database.read(photos.of_lot, gid)
        assert ({gid: wanted[0]} if wanted else {}) == await database.read(photos.covers, [gid, "unknown"])
    assert [b, a] == await database.read(photos.own, ada.token, [b.id, "unknown", a.id, b.id])
    with pytest.raises(UnknownAuction):
        await database.read(photos.of_lot, "unknown")


async def test_covers_of_many_lots(database: Database) -> None:
    """The first photo of each lot is found for all lots at once; a lot without photos has none."""
    ada = await person(database)
    gids = [await sells(database, ada) for _ in range(3)]
    for gid in gids[:2]:
        await database.write(photos.arrange, ada.token, gid, ids(await sent(database, ada, 2)))
    first = {gid: (await database.read(photos.of_lot, gid))[0] for gid in gids[:2]}
    assert first == await database.read(photos.covers, gids)
    assert {} == await database.read(photos.covers, [])


async def test_a_photo_of_somebody_else_is_unknown(database: Database) -> None:
    """A user cannot use or learn of another user's photo, or move a photo between lots; the lot stays as it was."""
    ada, eve = await person(database), await person(database)
    mine, gid, other = await sent(database, ada, 2), await sells(database, ada), await sells(database, ada)
    hers = await sells(database, eve)
    await database.write(photos.arrange, ada.token, gid, [mine[0].id])
    assert [] == await database.read(photos.own, eve.token, ids(mine))
    tries = [
        (eve, hers, [mine[1].id], "unknown_photo"),
        (eve, hers, [mine[0].id], "unknown_photo"),
        (ada, gid, [mine[1].id, "unknown"], "unknown_photo"),
        (ada, other, [mine[0].id], "photo_in_use"),
        (ada, gid, [mine[1].id, mine[1].id], "repeated"),
        (ada, gid, [str(n) for n in range(13)], "too_many_photos"),
    ]
    for who, lot, wanted, code in tries:
        with pytest.raises(Invalid) as caught:
            await database.write(photos.arrange, who.token, lot, wanted)
        assert {"photos": [code]} == codes(caught.value)
    assert [[mine[0]], [], []] == [await database.read(photos.of_lot, lot) for lot in (gid, other, hers)]


async def test_who_may_change_the_terms_may_change_the_photos(clocked_database: Database, clock: FakeClock) -> None:
    """As with the terms, only the author changes the photos, and not after the first bid or once the auction is over."""
    ada, bob = await person(clocked_database), await person(clocked_database)
    [photo] = await sent(clocked_database, ada)
    gids = [await sells(clocked_database, ada) for _ in range(3)]
    ending = await sells(clocked_database, ada, ends_at=T0 + timedelta(hours=1))
    assert ["accepted"] == await bid(clocked_database, bob.bids(gids[1], "100"))
    await clocked_database.write(auctions.cancel, ada.token, gids[2])
    clock.advance(hours=1)
    expected: list[tuple[str, str, type[Refusal]]] = [
        (bob.token, gids[0], NotAuthor),
        (ada.token, gids[1], HasBids),
        (ada.token, gids[2], AuctionOver),
        (ada.token, ending, AuctionOver),
        (ada.token, "unknown", UnknownAuction),
        ("AAAAAAAAAAAAAA==", gids[0], Unauthenticated),
    ]
    for token, gid, refused in expected:
        for wanted in ([photo.id], []):
            with pytest.raises(refused):
                await clocked_database.write(photos.arrange, token, gid, wanted)
        with pytest.raises(refused):
            await clocked_database.write(auctions.amend, token, gid, {"name": "Clock"})
    assert [photo] == (await clocked_database.write(photos.arrange, ada.token, gids[0], [photo.id])).photos


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_lot_comes_with_its_photos_or_not_at_all(database: Database) -> None:
    """Creating puts the photos on the new lot in the same transaction; an unknown photo means that there is no lot."""
    ada = await person(database)
    one, two = await sent(database, ada, 2)
    draft = Draft(name="Clock", starting_price=Decimal("1.000"))
    with pytest.raises(Invalid):
        await database.write(auctions.create, ada.token, draft, None, [one.id, "unknown"])
    assert 0 == await database.read(lambda tx: tx.execute(select(func.count(rows.c.auction_id))).scalar_one())
    # A repeated request has one effect, and finds its photos on its own lot.
    answers = [
        await database.write(auctions.create, ada.token, draft, once_of("key"), [two.id, one.id]) for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert [two, one] == await database.read(photos.of_lot, read(answers[0])["gid"])


def slowly(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Make PostgreSQL pause before a step of a transaction, so that other transactions come between."""
    original = getattr(storage, step)

    def slow(tx: Transaction, *args: Any, **named: Any) -> None:
        if tx.dialect == "postgresql":
            tx.execute(text("SELECT pg_sleep(0.3)"))
        original(tx, *args, **named)

    monkeypatch.setattr(storage, step, slow)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_photo_that_two_lots_want_at_once_is_on_one(
    open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If several processes put the same photo on different lots, one succeeds and the others are refused."""
    slowly(monkeypatch, "place")
    several = [open_database() for _ in range(3)]
    ada = await person(several[0])
    [photo] = await sent(several[0], ada)
    gids = [await sells(several[0], ada) for _ in several]
    answers = await asyncio.gather(
        *(one.write(photos.arrange, ada.token, gid, [photo.id]) for one, gid in zip(several, gids, strict=True)),
        return_exceptions=True,
    )
    assert [[photo]] == [answer.photos for answer in answers if isinstance(answer, LotPhotos)]
    assert [{"photos": ["photo_in_use"]}] * 2 == [codes(answer) for answer in answers if isinstance(answer, Refusal)]
    assert 1 == len(await several[0].read(photos.covers, gids))


async def test_few_photos_wait_for_a_lot(database: Database, taking_in: Photos) -> None:
    """A user with 60 photos on no lot stores no more until one is on a lot; other users still can."""
    ada, bob = await person(database), await person(database)
    kept = await sent(database, ada, UNPLACED_MAX)
    with pytest.raises(TooManyPhotos) as caught:
        await stored(taking_in, ada)
    assert {"limit": UNPLACED_MAX} == caught.value.facts
    with pytest.raises(TooManyPhotos):
        await taking_in.sender_of(ada.token)
    await stored(taking_in, bob)
    await database.write(photos.arrange, ada.token, await sells(database, ada), [kept[0].id])
    await stored(taking_in, ada)
    with pytest.raises(TooManyPhotos):
        await taking_in.sender_of(ada.token)


@pytest.mark.databases("sqlite", "postgresql")
async def test_the_last_photo_is_stored_once(open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """If several processes store the last photo that a user may have, only one succeeds."""
    several = [open_database() for _ in range(4)]
    ada = await person(several[0])
    await sent(several[0], ada, UNPLACED_MAX - 1)
    slowly(monkeypatch, "add")
    answers = await asyncio.gather(
        *(one.write(photos.keep, ada.token, MADE) for one in several), return_exceptions=True
    )
    assert 3 == sum(isinstance(answer, TooManyPhotos) for answer in answers)


async def test_a_photo_on_no_lot_is_deleted_after_a_day(clocked_database: Database, clock: FakeClock) -> None:
    """A photo on no lot for a day, counted from when it was taken off, is deleted with its files; others stay."""
    ada = await person(clocked_database)
    never, off, on = await sent(clocked_database, ada, 3)
    gid = await sells(clocked_database, ada)
    await clocked_database.write(photos.arrange, ada.token, gid, [off.id, on.id])
    clock.advance(hours=23)
    await clocked_database.write(photos.arrange, ada.token, gid, [on.id])
    clock.advance(hours=1, microseconds=-1)
    assert 0 == await clocked_database.write(photos.sweep)
    clock.advance(microseconds=1)
    assert 1 == await clocked_database.write(photos.sweep)
    assert [off, on] == await clocked_database.read(photos.own, ada.token, ids([never, off, on]))
    clock.advance(hours=23)
    assert 1 == await clocked_database.write(photos.sweep)
    clock.advance(days=400)
    assert 0 == await clocked_database.write(photos.sweep)
    assert (1, 1) == await counted(clocked_database)
    assert [on] == await clocked_database.read(photos.of_lot, gid)


async def test_the_closer_sweeps(clocked_database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The closer deletes such photos too, a few at a time and all in the end."""
    monkeypatch.setattr(photos, "SWEPT_AT_ONCE", 2)
    await sent(clocked_database, await person(clocked_database), 5)
    clock.advance(days=1)
    closing = asyncio.create_task(Closer(clocked_database).run())
    async with asyncio.timeout(SECONDS_MAX):
        while await counted(clocked_database) != (0, 0):
            await asyncio.sleep(0.01)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)


async def test_each_user_and_network_has_a_turn(taking_in: Photos, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user or network has only one picture decoded or in line at a time, so that pictures of others come between."""
    order: list[str] = []

    async def made(data: bytes) -> Renditions:
        await asyncio.sleep(0)
        order.append(data.decode())
        return MADE

    async def decoded(who: Sender, name: str) -> None:
        await taking_in.decode(who, name.encode())

    monkeypatch.setattr(taking_in, "_decoder", OneAtATime(made))
    ada, her_friend, bob = Sender("ada", "hall"), Sender("eve", "hall"), Sender("bob", "home")
    many = [decoded(ada, f"ada {n}") for n in range(5)] + [decoded(her_friend, f"eve {n}") for n in range(5)]
    await asyncio.gather(*many, *(decoded(bob, f"bob {n}") for n in range(2)))
    assert 12 == len(order)
    assert {"bob 0", "bob 1"} < set(order[:5])


class OneAtATime:
    """A quick decoder."""

    def __init__(self, make: Callable[[bytes], Awaitable[Renditions]]) -> None:
        self._make, self._turn = make, asyncio.Lock()

    async def make(self, data: bytes) -> Renditions:
        """Make pictures, one after the other."""
        async with self._turn:
            return await self._make(data)

    def close(self) -> None:
        """Do nothing: nothing is open."""


async def test_users_and_networks_have_shares(taking_in: Photos) -> None:
    """One user has six places, one network ten; the last four of the sixteen are for senders who have none."""
    ada, friend, bob, carl = (Sender(*one) for one in (("ada", "hall"), ("eve", "hall"), ("bob", "1"), ("carl", "2")))
    with ExitStack() as coming:

        def send(who: Sender, *, photos: int = 1) -> None:
            coming.enter_context(taking_in.receiving(who, photos * taking_in.bytes_max))

        for _ in range(PLACES_OF_USER):
            send(ada)
        with pytest.raises(TooManyRequests) as caught:
            send(ada)
        assert {"retry_after": 5} == caught.value.facts
        send(friend, photos=PLACES_OF_NETWORK - PLACES_OF_USER)
        with pytest.raises(TooManyRequests):
            send(friend)
        send(bob)
        send(bob)
        with pytest.raises(Busy):
            send(bob)
        send(carl, photos=PLACES_KEPT)
        with pytest.raises(Busy):
            send(Sender("dora", "3"))
    with taking_in.receiving(ada, PLACES_OF_USER * taking_in.bytes_max), pytest.raises(TooManyRequests):
        send(ada)
    assert not taking_in._places._users and not taking_in._places._networks


async def test_a_place_is_free_again_however_it_ends(taking_in: Photos) -> None:
    """A sender who is cut off gives its places back."""
    ada = Sender("ada", "hall")
    for _ in range(20):
        with suppress(ConnectionError), taking_in.receiving(ada, 6 * taking_in.bytes_max):
            raise ConnectionError


def test_strangers_of_one_network_are_one() -> None:
    """Senders of one network who are not logged in share the places of one user; an IPv6 home is one network."""
    one, other = Sender.at(None, "2001:db8::1"), Sender.at(None, "2001:db8::2")
    assert one == other != Sender.at(None, "192.0.2.1")
    assert Sender.at("ada", "192.0.2.1").user != Sender.at(None, "192.0.2.1").user
