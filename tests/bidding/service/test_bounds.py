"""Limits for one user: auctions, watched lots and sessions, also if requests come at the same time."""

import asyncio
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import text

from saleroom.accounts.domain import accounts as rules
from saleroom.accounts.domain.accounts import SESSIONS_MAX
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import accounts
from saleroom.accounts.service.accounts import IssuedToken, authenticate, issue_token, start_session
from saleroom.accounts.service.sessions import sessions
from saleroom.bidding.domain.errors import TooManyAuctions, TooManyChanges, TooManyWatched
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions, changes, photos, watching
from saleroom.bidding.service.auctions import OfferingRules
from saleroom.bidding.service.changes import CHANGES_MAX
from saleroom.bidding.service.lookup import get_one
from saleroom.bidding.storage import watches as storage
from saleroom.kernel.errors import Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, once_of, person, read, sells
from tests.bidding.service.test_photos import sent
from tests.fixtures_database import FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")


async def _creates(database: Database, who: Person, most: int, key: str | None = None, **terms: Any) -> str:
    draft = Draft(name="Clock", starting_price=eur("1"), **terms)
    answer = await database.write(
        auctions.create, who.token, draft, once_of(key), rules=OfferingRules(auctions_max=most)
    )
    return str(read(answer)["gid"])


def _slowly(monkeypatch: pytest.MonkeyPatch, module: ModuleType, step: str) -> None:
    """Make PostgreSQL pause between the count and the insert, so that other transactions come between."""
    original = getattr(module, step)

    def slow(tx: Transaction, *args: Any) -> Any:
        if tx.dialect == "postgresql":
            tx.execute(text("SELECT pg_sleep(0.3)"))
        return original(tx, *args)

    monkeypatch.setattr(module, step, slow)


async def test_auctions_that_run(clocked_database: Database, clock: FakeClock) -> None:
    """An author at the limit creates no auction until one is over and a day has passed; other authors still can."""
    database = clocked_database
    ada, bob = await person(database), await person(database)
    first = await _creates(database, ada, 3, "first")
    await _creates(database, ada, 3, starts_at=clock() + timedelta(days=2))
    await _creates(database, ada, 3)
    clock.advance(days=1)
    with pytest.raises(TooManyAuctions) as caught:
        await _creates(database, ada, 3)
    assert {"limit": 3} == caught.value.facts
    await _creates(database, bob, 3)
    await database.write(auctions.close, ada.token, first, None, None)
    await _creates(database, ada, 3)
    with pytest.raises(TooManyAuctions):
        await _creates(database, ada, 3)


async def test_auctions_of_a_day(clocked_database: Database, clock: FakeClock) -> None:
    """Cancelled auctions count towards the limit of a day; a repeated request still gets its answer."""
    database = clocked_database
    ada = await person(database)
    gids = []
    for n in range(3):
        gids.append(await _creates(database, ada, 3, f"key {n}"))
        await database.write(auctions.cancel, ada.token, gids[-1])
        clock.advance(hours=1)
    with pytest.raises(TooManyAuctions):
        await _creates(database, ada, 3)
    assert gids[2] == await _creates(database, ada, 3, "key 2")
    clock.advance(hours=21)
    await _creates(database, ada, 3)
    with pytest.raises(TooManyAuctions):
        await _creates(database, ada, 3)


@pytest.mark.databases("sqlite", "postgresql")
async def test_auctions_created_at_once(open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """If several processes create the last auction that an author may have, only one succeeds."""
    _slowly(monkeypatch, auctions, "begin_ledger")
    several = [open_database() for _ in range(4)]
    ada = await person(several[0])
    await _creates(several[0], ada, 2)
    answers = await asyncio.gather(*(_creates(one, ada, 2) for one in several), return_exceptions=True)
    assert 3 == sum(isinstance(answer, TooManyAuctions) for answer in answers), answers


async def _renames(database: Database, who: Person, gid: str, name: str) -> None:
    await database.write(auctions.amend, who.token, gid, {"name": name})


async def test_changes_of_lots(clocked_database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An author changes lots so often at once, and then once for each share of a day; others still can."""
    monkeypatch.setattr(changes, "CHANGES_MAX", 3)
    database = clocked_database
    ada, bob = await person(database), await person(database)
    first, second, bobs = await sells(database, ada), await sells(database, ada), await sells(database, bob)
    await _renames(database, ada, first, "A clock")
    await _renames(database, ada, second, "A chair")
    for _ in range(3):
        await _renames(database, ada, second, "A chair")  # this changes nothing
    await database.write(photos.arrange, ada.token, first, [(await sent(database, ada, 1))[0].id])
    with pytest.raises(TooManyChanges) as caught:
        await _renames(database, ada, first, "A rug")
    assert {"retry_after": 8 * 3600} == caught.value.facts
    with pytest.raises(TooManyChanges):
        await database.write(photos.arrange, ada.token, first, [])
    assert "A clock" == (await database.read(get_one, first)).name
    await _renames(database, bob, bobs, "A rug")
    clock.advance(hours=8)
    await _renames(database, ada, first, "A rug")
    with pytest.raises(TooManyChanges):
        await _renames(database, ada, first, "A carpet")
    clock.advance(days=20)
    for number in range(3):
        await _renames(database, ada, first, f"A carpet {number}")
    clock.advance(days=-10)
    await _renames(database, ada, first, "A clock that was set back")
    assert 1000 == CHANGES_MAX


@pytest.mark.databases("sqlite", "postgresql")
async def test_changes_of_lots_at_once(open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """If several processes make the last change that an author may make, only one succeeds."""
    monkeypatch.setattr(changes, "CHANGES_MAX", 1)
    several = [open_database() for _ in range(4)]
    ada = await person(several[0])
    gids = [await sells(several[0], ada) for _ in several]
    renamed = (_renames(one, ada, gid, "A rug") for one, gid in zip(several, gids, strict=True))
    answers = await asyncio.gather(*renamed, return_exceptions=True)
    assert 3 == sum(isinstance(answer, TooManyChanges) for answer in answers), answers


async def test_watched_lots(open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user watches only so many lots, even if several requests come at once; the same lot again does not count."""
    _slowly(monkeypatch, storage, "add")
    several = [open_database() for _ in range(3)]
    database = several[0]
    monkeypatch.setattr(watching, "WATCHED_MAX", 2)
    ada, bob = await person(database), await person(database)
    gids = [await sells(database, ada) for _ in range(4)]
    await database.write(watching.watch, bob.token, gids[0])
    watched = (one.write(watching.watch, bob.token, gid) for one, gid in zip(several, gids[1:], strict=True))
    answers = await asyncio.gather(*watched, return_exceptions=True)
    assert 2 == sum(isinstance(answer, TooManyWatched) for answer in answers), answers
    await database.write(watching.watch, bob.token, gids[0])
    await database.write(watching.unwatch, bob.token, gids[0])
    [left] = (await database.read(watching.watched, bob.token, 10, None))[0]
    for gid in {*gids} - {left.gid}:
        await database.write(watching.watch, bob.token, gid)
        break
    assert 2 == len((await database.read(watching.watched, bob.token, 10, None))[0])


async def test_sessions(clocked_database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A login beyond the limit ends the oldest session of that user only, and never its own."""
    database = clocked_database
    monkeypatch.setattr(accounts, "SESSIONS_MAX", 3)
    ada, bob = await person(database), await person(database)

    def log_in(tx: Transaction) -> str:
        token = start_session(tx, ada.account.id, "no digest", None, "")
        assert isinstance(token, IssuedToken)
        return token.value

    tokens = []
    for _ in range(4):
        clock.advance(1)
        tokens.append(await database.write(log_in))
    assert 3 == len(await database.read(sessions, tokens[-1]))
    for token in (ada.token, tokens[0]):
        with pytest.raises(Unauthenticated):
            await database.read(authenticate, token, Right.READ)
    for token in (*tokens[1:], bob.token):
        await database.read(authenticate, token, Right.READ)
    assert SESSIONS_MAX == rules.SESSIONS_MAX >= 100


async def test_tokens_that_are_no_logins(database: Database) -> None:
    """A token that was not made by a login, such as a test user's, ends no session."""
    ada = await person(database)
    await database.write(lambda tx: issue_token(tx, ada.account.id))
    await database.read(authenticate, ada.token, Right.READ)
