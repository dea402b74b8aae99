"""Watching: the owner of a list, its order and its pages."""

import asyncio

import pytest
from sqlalchemy import text

from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.service import watching
from saleroom.bidding.storage import watches
from saleroom.kernel.errors import Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import person, sells
from tests.fixtures_database import OpenDatabase

pytestmark = pytest.mark.databases("sqlite")


async def test_a_list_is_ones_own_and_the_latest_comes_first(database: Database) -> None:
    """A user's list holds each auction that they watch once, the latest first, and none that they no longer watch."""
    ada, bob = await person(database), await person(database)
    gids = [await sells(database, ada) for _ in range(3)]
    for gid in (*gids, gids[0], gids[2]):
        await database.write(watching.watch, bob.token, gid)
    listed, _ = await database.read(watching.watched, bob.token, 10, None)
    assert gids[::-1] == [one.gid for one in listed]
    assert ([], None) == await database.read(watching.watched, ada.token, 10, None)
    for _ in range(2):
        await database.write(watching.unwatch, bob.token, gids[1])
    assert [True, False, True] == [await database.read(watching.is_watched, bob.token, gid) for gid in gids]
    assert [False] * 3 == [await database.read(watching.is_watched, ada.token, gid) for gid in gids]
    assert not await database.read(watching.is_watched, None, gids[0])
    await database.write(watching.watch, bob.token, gids[1])
    listed, _ = await database.read(watching.watched, bob.token, 10, None)
    assert [gids[1], gids[2], gids[0]] == [one.gid for one in listed]


@pytest.mark.parametrize("gone", [3, 4])
async def test_pages_neither_skip_nor_repeat(database: Database, gone: int) -> None:
    """Each page of a list begins where the last one ended, even if auctions were added or removed in between."""
    ada = await person(database)
    gids = [await sells(database, ada) for _ in range(7)]
    for gid in gids[:6]:
        await database.write(watching.watch, ada.token, gid)
    first, place = await database.read(watching.watched, ada.token, 3, None)
    await database.write(watching.watch, ada.token, gids[6])
    await database.write(watching.unwatch, ada.token, gids[gone])
    await database.write(watching.unwatch, ada.token, gids[1])
    rest, end = await database.read(watching.watched, ada.token, 3, place)
    assert [gids[n] for n in (5, 4, 3, 2, 0)] == [one.gid for one in (*first, *rest)]
    assert end is None


async def test_one_sees_ones_own_reserve_only(database: Database) -> None:
    """On a list, too, a reserve is shown to its author only."""
    ada, bob = await person(database), await person(database)
    gid = await sells(database, ada, reserve_price="200")
    seen = []
    for who in (ada, bob):
        await database.write(watching.watch, who.token, gid)
        [view] = (await database.read(watching.watched, who.token, 1, None))[0]
        seen.append(view.reserve_price)
    assert "200.000" == seen[0]
    assert "200.000" != seen[1]


async def test_an_unknown_user_or_auction_is_refused(database: Database) -> None:
    """An unknown user has no list, and an unknown auction is on none."""
    ada = await person(database)
    gid = await sells(database, ada)
    for act in (watching.watch, watching.unwatch, watching.is_watched):
        with pytest.raises(Unauthenticated):
            await database.write(act, "AAAAAAAAAAAAAA==", gid)
        with pytest.raises(UnknownAuction):
            await database.write(act, ada.token, "unknown")
    with pytest.raises(Unauthenticated):
        await database.read(watching.watched, "AAAAAAAAAAAAAA==", 1, None)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_lot_added_twice_at_once_is_listed_once(
    open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If several processes put the same auction on the same list at once, all succeed, and it is there once."""
    original = watches.exists

    def slow(tx: Transaction, user_id: int, auction_id: int) -> bool:
        found = original(tx, user_id, auction_id)
        if not found and tx.dialect == "postgresql":  # let other transactions come between
            tx.execute(text("SELECT pg_sleep(0.3)"))
        return found

    monkeypatch.setattr(watches, "exists", slow)
    several = [open_database() for _ in range(4)]
    ada = await person(several[0])
    gid = await sells(several[0], ada)
    await asyncio.gather(*(one.write(watching.watch, ada.token, gid) for one in several))
    listed, _ = await several[0].read(watching.watched, ada.token, 10, None)
    assert [gid] == [one.gid for one in listed]
