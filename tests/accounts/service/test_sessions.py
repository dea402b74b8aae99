"""Sessions: the list, and how one or all of them end."""

from collections.abc import Iterator
from functools import partial

import pytest

from saleroom.accounts.domain.accounts import TOKEN_LIFETIME
from saleroom.accounts.domain.errors import UnknownSession
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import AGENT_MAX, Accounts, authenticate, issue_token
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.sessions import end_all, end_session, sessions
from saleroom.accounts.service.throttle import Registrations
from saleroom.kernel.errors import Unauthenticated
from saleroom.storage.database import Database
from tests.bidding.service.people import person
from tests.fixtures_database import T0, FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    """A pool for digests."""
    made = Passwords()
    yield made
    made.close()


async def test_each_login_is_a_session(clocked_database: Database, clock: FakeClock, passwords: Passwords) -> None:
    """The user's sessions are listed with their instants and devices, the latest first. The current one is marked."""
    house = Accounts(clocked_database, passwords, Registrations(clocked_database, 10))
    await house.register("ada", "correct horse", "here")
    await house.register("bob", "correct horse", "here")
    first = await house.log_in("ada", "correct horse", "here", "Firefox on Android")
    clock.advance(60)
    second = await house.log_in("ada", "correct horse", "here")
    await house.log_in("bob", "correct horse", "here", "Safari on iPhone")
    listed = await clocked_database.read(sessions, first.value)
    assert [("", False), ("Firefox on Android", True)] == [(one.agent, one.current) for one in listed]
    assert [(T0, T0 + TOKEN_LIFETIME)] == [(one.created_at, one.expires_at) for one in listed[1:]]
    assert [True, False] == [one.current for one in await clocked_database.read(sessions, second.value)]
    # No member of a session can be used as a token.
    for one in listed:
        for value in (str(one.id), one.agent or "x"):
            with pytest.raises(Unauthenticated):
                await clocked_database.read(authenticate, value, Right.READ)


async def test_a_session_that_has_expired_is_none(clocked_database: Database, clock: FakeClock) -> None:
    """A dead token is not listed, and its session cannot be ended."""
    ada = await person(clocked_database)
    [old] = await clocked_database.read(sessions, ada.token)
    clock.advance(days=29)
    newer = await clocked_database.write(issue_token, ada.account.id)
    clock.advance(days=1)
    [left] = await clocked_database.read(sessions, newer.value)
    assert left.id != old.id
    with pytest.raises(UnknownSession):
        await clocked_database.write(end_session, newer.value, old.id)


async def test_the_name_of_a_device_is_short(database: Database) -> None:
    """A device's name is cut to 80 characters."""
    ada = await person(database)
    issued = await database.write(issue_token, ada.account.id, agent="x" * 500)
    assert "x" * AGENT_MAX == (await database.read(sessions, issued.value))[0].agent


async def test_ending_one_session(open_database: OpenDatabase) -> None:
    """An ended session is dead at once, also in other processes. It cannot be ended twice, and others stay alive."""
    here, there = open_database(), open_database()
    ada = await person(here)
    other = (await here.write(issue_token, ada.account.id)).value
    [ended] = [one for one in await here.read(sessions, ada.token) if not one.current]
    await here.write(end_session, ada.token, ended.id)
    with pytest.raises(Unauthenticated):
        await there.read(authenticate, other, Right.READ)
    with pytest.raises(UnknownSession):
        await there.write(end_session, ada.token, ended.id)
    assert ada.account == await there.read(authenticate, ada.token, Right.READ)
    # The current session can be ended like any other.
    [own] = await here.read(sessions, ada.token)
    await here.write(end_session, ada.token, own.id)
    with pytest.raises(Unauthenticated):
        await there.read(authenticate, ada.token, Right.READ)


@pytest.mark.databases("sqlite", "postgresql")
async def test_another_users_session_cannot_be_ended(database: Database) -> None:
    """The session of another user is unknown, and stays alive."""
    ada, eve = await person(database), await person(database)
    [hers] = await database.read(sessions, ada.token)
    with pytest.raises(UnknownSession):
        await database.write(end_session, eve.token, hers.id)
    assert ada.account == await database.read(authenticate, ada.token, Right.READ)


@pytest.mark.databases("sqlite", "postgresql")
async def test_logging_out_everywhere(open_database: OpenDatabase) -> None:
    """All tokens of the user are dead at once, in every process, and nobody else's."""
    here, there = open_database(), open_database()
    ada, bob = await person(here), await person(here)
    tokens = [ada.token, *[(await here.write(issue_token, ada.account.id)).value for _ in range(3)]]
    await here.write(end_all, tokens[2])
    for token in tokens:
        for act in (partial(authenticate, right=Right.READ), end_all, sessions):
            with pytest.raises(Unauthenticated):
                await there.write(act, token)
    assert bob.account == await there.read(authenticate, bob.token, Right.READ)
