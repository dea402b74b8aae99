"""Access tokens: what their scopes leave, their end, and when their use is written."""

from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import select

from saleroom.accounts.domain.access_tokens import ACCESS_TOKENS_MAX
from saleroom.accounts.domain.errors import TooManyAccessTokens, UnknownAccessToken, WrongPassword
from saleroom.accounts.domain.rights import Right, Role, Scope, rights_of
from saleroom.accounts.service import access_tokens
from saleroom.accounts.service.access_tokens import AccessTokenTerms, NewAccessToken
from saleroom.accounts.service.accounts import Accounts, authenticate, log_out, token_digest
from saleroom.accounts.service.last_uses import COARSE, SLACK, LastUses
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.sessions import end_session, sessions
from saleroom.accounts.storage.accounts import ACCESS_TOKENS_USED, SESSIONS_USED
from saleroom.accounts.storage.tables import auth_tokens
from saleroom.bidding.service.bidding import place_bids
from saleroom.kernel.errors import MissingRight, Refusal, Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person, person, sells
from tests.fixtures_database import FakeClock

pytestmark = pytest.mark.databases("sqlite")

PASSWORD, HERE = "correct horse", "192.0.2.1"
ALL = frozenset(Scope)


@pytest.fixture
def house(clocked_database: Database, passwords: Passwords) -> Accounts:
    """The use cases."""
    return Accounts(clocked_database, passwords, None)


async def ada(house: Accounts) -> str:
    """Add Ada, and return the token of her login."""
    await house.add("ada", PASSWORD)
    return (await house.log_in("ada", PASSWORD, HERE)).value


async def made(house: Accounts, token: str, *scopes: Scope, days: int = 30) -> NewAccessToken:
    """Make an access token for Ada."""
    return await access_tokens.make(house, token, PASSWORD, HERE, AccessTokenTerms("Robot", frozenset(scopes), days))


@pytest.mark.parametrize("scope", Scope)
async def test_a_scope_leaves_the_rights_of_the_table(
    house: Accounts, clocked_database: Database, scope: Scope
) -> None:
    """A token has those rights that its scope and the role of its user have both; every other right is refused."""
    token = (await made(house, await ada(house), scope)).value
    found = set()
    for right in Right:
        with suppress(MissingRight):
            assert "ada" == (await clocked_database.read(authenticate, token, right)).username
            found.add(right)
    assert rights_of(Role.MEMBER, frozenset({scope})) == found
    assert Right.ACCOUNT not in found


async def test_no_access_token_changes_the_account(house: Accounts, clocked_database: Database) -> None:
    """A token with all scopes makes no token, ends none, lists none, and changes no password, even with the password."""
    login = await ada(house)
    robot = (await made(house, login, *Scope)).value
    [session] = await clocked_database.read(sessions, login)
    with pytest.raises(MissingRight):
        await access_tokens.make(house, robot, PASSWORD, HERE, AccessTokenTerms("Another", ALL, 1))
    with pytest.raises(MissingRight):
        await house.change_password(robot, PASSWORD, "another horse", HERE)
    for use_case, number in ((end_session, session.id), (access_tokens.revoke, 1)):
        with pytest.raises(MissingRight):
            await clocked_database.write(use_case, robot, number)
    for reading in (sessions, access_tokens.own):
        with pytest.raises(MissingRight):
            await clocked_database.read(reading, robot)


async def test_bids_by_access_tokens(house: Accounts, clocked_database: Database) -> None:
    """A token with the scope to bid bids, others do not, all decided in one transaction."""
    login = await ada(house)
    gid = await sells(clocked_database, await person(clocked_database))
    account = await clocked_database.read(authenticate, login, Right.READ)
    asked = [
        Person(account, (await made(house, login, scope)).value).bids(gid, f"{10 * number}")
        for number, scope in enumerate((Scope.READ, Scope.SELL, Scope.STAFF, Scope.BID), 10)
    ]
    answers = await clocked_database.write(place_bids, asked)
    assert [MissingRight, MissingRight, MissingRight, bytes] == [type(answer) for answer in answers]


async def test_its_end_is_chosen(house: Accounts, clocked_database: Database, clock: FakeClock) -> None:
    """A token is good until the microsecond of its end, beyond the 30 days of a login too, and is then gone from the list."""
    login = await ada(house)
    one = await made(house, login, Scope.READ, days=90)
    assert clock.now + timedelta(days=90) == one.token.expires_at
    clock.advance(days=90, microseconds=-1)
    await clocked_database.read(authenticate, one.value, Right.READ)
    clock.advance(microseconds=1)
    with pytest.raises(Unauthenticated):
        await clocked_database.read(authenticate, one.value, Right.READ)


@pytest.mark.databases("sqlite", "postgresql")
async def test_sessions_and_access_tokens_are_apart(house: Accounts, clocked_database: Database) -> None:
    """No list shows the other's, and neither is ended by the other's number; nobody else's is ended at all."""
    login = await ada(house)
    one = await made(house, login, Scope.READ, Scope.BID)
    [session] = await clocked_database.read(sessions, login)
    assert [one.token] == await clocked_database.read(access_tokens.own, login)
    with pytest.raises(UnknownAccessToken):
        await clocked_database.write(access_tokens.revoke, login, session.id)
    with pytest.raises(Refusal):
        await clocked_database.write(end_session, login, one.token.id)
    eve = await person(clocked_database)
    with pytest.raises(UnknownAccessToken):
        await clocked_database.write(access_tokens.revoke, eve.token, one.token.id)
    await clocked_database.write(access_tokens.revoke, login, one.token.id)
    with pytest.raises(Unauthenticated):
        await clocked_database.read(authenticate, one.value, Right.READ)


async def test_a_leaked_token_ends_itself(house: Accounts, clocked_database: Database) -> None:
    """Anyone who finds a token can end it by logging out with it, and ends nothing else."""
    login = await ada(house)
    one = await made(house, login, Scope.READ)
    await clocked_database.write(log_out, one.value)
    assert [] == await clocked_database.read(access_tokens.own, login)


async def test_a_new_password_ends_them(house: Accounts, clocked_database: Database) -> None:
    """A change of the password ends access tokens too: anyone who knew the old one may have made some."""
    login = await ada(house)
    one = await made(house, login, Scope.READ)
    await house.change_password(login, PASSWORD, "another horse", HERE)
    with pytest.raises(Unauthenticated):
        await clocked_database.read(authenticate, one.value, Right.READ)


async def test_the_password_and_a_bound(house: Accounts, clocked_database: Database) -> None:
    """A wrong password makes none, and a user has so many at most."""
    login = await ada(house)
    with pytest.raises(WrongPassword):
        await access_tokens.make(house, login, "another horse", HERE, AccessTokenTerms("Robot", ALL, 1))

    def fill(tx: Transaction) -> None:
        account = authenticate(tx, login, Right.ACCOUNT)
        for _ in range(ACCESS_TOKENS_MAX - 1):
            access_tokens._make(tx, account, AccessTokenTerms("Robot", ALL, 1), new_name=False)

    await clocked_database.write(fill)
    await made(house, login, Scope.READ)
    with pytest.raises(TooManyAccessTokens):
        await made(house, login, Scope.READ)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_copied_database_has_no_token(house: Accounts, clocked_database: Database) -> None:
    """The row holds the digest of the value alone."""
    one = await made(house, await ada(house), Scope.READ)
    rows = await clocked_database.read(lambda tx: repr([tuple(row) for row in tx.execute(select(auth_tokens))]))
    assert one.value not in rows and token_digest(one.value) in rows


@pytest.mark.databases("sqlite", "postgresql")
async def test_the_last_use_is_written_rarely(house: Accounts, clocked_database: Database, clock: FakeClock) -> None:
    """Uses of access tokens are written beside the requests, at most once in five minutes; those of logins are not."""
    uses = LastUses(None)
    clocked_database.after_commit(ACCESS_TOKENS_USED, uses.saw)
    login = await ada(house)
    one = await made(house, login, Scope.BID)

    async def used() -> object:
        await uses.write(clocked_database)
        [found] = await clocked_database.read(access_tokens.own, login)
        return found.used_at

    assert await used() is None
    began = clock.advance(1)
    await clocked_database.read(authenticate, one.value, Right.READ)
    assert began == await used()
    clock.advance(COARSE.total_seconds())
    await clocked_database.read(authenticate, one.value, Right.READ)
    assert began == await used()
    clock.advance(1)
    gid = await sells(clocked_database, await person(clocked_database))
    account = await clocked_database.read(authenticate, login, Right.READ)
    await clocked_database.write(place_bids, [Person(account, one.value).bids(gid, "100")])
    assert clock.now == await used()
    assert {None} == {
        row.used_at
        for row in await clocked_database.read(
            lambda tx: tx.execute(select(auth_tokens).where(auth_tokens.c.scopes.is_(None))).all()
        )
    }


@pytest.mark.databases("sqlite", "postgresql")
async def test_sessions_end_that_nobody_uses(house: Accounts, clocked_database: Database, clock: FakeClock) -> None:
    """With the setting a login ends when nobody has used it for so long; one in use and access tokens go on."""
    uses = LastUses(timedelta(minutes=30))
    clocked_database.after_commit(SESSIONS_USED, uses.saw)
    clocked_database.after_commit(ACCESS_TOKENS_USED, uses.saw)
    idle = await ada(house)
    busy = (await house.log_in("ada", PASSWORD, HERE)).value
    robot = (await made(house, busy, Scope.READ)).value
    clock.advance(days=1)
    await uses.begin(clocked_database)
    await uses.write(clocked_database)
    for _ in range(8):
        await clocked_database.read(authenticate, busy, Right.READ)
        clock.advance(minutes=5)
        await uses.write(clocked_database)
    with pytest.raises(Unauthenticated):
        await clocked_database.read(authenticate, idle, Right.READ)
    for token in (busy, robot):
        await clocked_database.read(authenticate, token, Right.READ)
    await uses.write(clocked_database)
    clock.advance(30 * 60 + SLACK.total_seconds() + 1)
    await uses.write(clocked_database)
    with pytest.raises(Unauthenticated):
        await clocked_database.read(authenticate, busy, Right.READ)
