"""Changing the password: its conditions, the sessions that it ends, and races."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from argon2 import PasswordHasher
from sqlalchemy import func, select

from saleroom.accounts.domain.errors import InvalidAuthentication, WrongPassword
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import (
    FAILED_LOGINS_PER_HOUR,
    Accounts,
    IssuedToken,
    authenticate,
    start_session,
)
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.sessions import end_all, sessions
from saleroom.accounts.service.test_users import make_test_users
from saleroom.accounts.service.throttle import FREE_FAILURES, FailedLogins, Registrations
from saleroom.accounts.storage import accounts as rows
from saleroom.kernel.errors import Invalid, Refusal, TooManyRequests, Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.fixtures_database import FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""For tests that are the same on every database."""
OLD, NEW, OTHER, HERE = "correct horse", "battery staple", "another staple", "192.0.2.1"


class InterruptedPasswords(Passwords):
    """Real digests. `meanwhile` runs once, after the next verification."""

    computed = 0
    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def verify(self, digest: str | None, password: str, place: str = "") -> bool:
        self.computed += 1
        found = await super().verify(digest, password, place)
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            await happens()
        return found


@pytest.fixture(scope="module")
def passwords() -> Iterator[InterruptedPasswords]:
    """The threads for digests, shared by all of these tests."""
    made = InterruptedPasswords()
    yield made
    made.close()


@pytest.fixture
def house(database: Database, passwords: InterruptedPasswords) -> Accounts:
    """The use cases, with registration open, and a clock for failed logins that stands still."""
    failed_logins = FailedLogins(database, FAILED_LOGINS_PER_HOUR, FakeClock())
    return Accounts(database, passwords, Registrations(database, 1000), failed_logins)


async def outdate(database: Database) -> None:
    """Give ada a digest of old parameters, as if her last login was long ago."""
    digest = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(OLD)
    login = await database.read(rows.find_login, "ada")
    assert login is not None
    await database.write(rows.set_digest, login.account.id, digest)


async def test_others_end_and_this_one_lives(open_database: OpenDatabase, passwords: Passwords) -> None:
    """Only the new password logs in; all other sessions of the user end, in other processes too, and nobody else's."""
    here, there = open_database(), open_database()
    house = Accounts(here, passwords, Registrations(here, 10))
    for name in ("ada", "bob"):
        await house.add(name, OLD)
    asking, *others = [(await house.log_in("ada", OLD, HERE)).value for _ in range(3)]
    bobs = (await house.log_in("bob", OLD, HERE)).value
    await house.change_password(asking, OLD, NEW, HERE)
    for token in others:
        with pytest.raises(Unauthenticated):
            await there.read(authenticate, token, Right.READ)
    assert [True] == [one.current for one in await there.read(sessions, asking)]
    assert "bob" == (await there.read(authenticate, bobs, Right.READ)).username
    with pytest.raises(InvalidAuthentication):
        await house.log_in("ada", OLD, HERE)
    await house.log_in("ada", NEW, HERE)
    await house.log_in("bob", OLD, HERE)


async def test_a_wrong_current_password(house: Accounts, database: Database) -> None:
    """With a wrong password nothing changes and no session ends; a user without a password gets the same refusal."""
    await house.add("ada", OLD)
    token, other = [(await house.log_in("ada", OLD, HERE)).value for _ in range(2)]
    [tester] = await database.write(make_test_users, 1)
    refusals = []
    for user_token, current in ((token, NEW), (token, ""), (tester.token.value, OLD), (tester.token.value, "")):
        with pytest.raises(WrongPassword) as caught:
            await house.change_password(user_token, current, OTHER, HERE)
        refusals.append((caught.value.message, caught.value.facts))
    assert [refusals[0]] * 4 == refusals
    assert "ada" == (await database.read(authenticate, other, Right.READ)).username
    await house.log_in("ada", OLD, HERE)


@on_sqlite
async def test_a_stolen_token_guesses_no_faster(house: Accounts, passwords: InterruptedPasswords) -> None:
    """Failures here and at the login count together, by name and address. A delayed try computes nothing."""
    await house.add("ada", OLD)
    token = (await house.log_in("ada", OLD, HERE)).value
    for number in range(FREE_FAILURES):
        with pytest.raises(WrongPassword if number else InvalidAuthentication):
            await (house.change_password(token, "guess", NEW, HERE) if number else house.log_in("ada", "guess", HERE))
    before = passwords.computed
    for held_up in (house.change_password(token, OLD, NEW, HERE), house.log_in("ada", OLD, HERE)):
        with pytest.raises(TooManyRequests) as caught:
            await held_up
        assert {"retry_after": 1} == caught.value.facts
    assert 0 == passwords.computed - before
    await house.change_password(token, OLD, NEW, "192.0.2.2")


@on_sqlite
async def test_a_dead_token_verifies_nothing(house: Accounts, passwords: InterruptedPasswords) -> None:
    """Without a live token the change is refused before any work, whatever the passwords are."""
    before = passwords.computed
    for current, new in ((OLD, NEW), (OLD, OLD)):
        with pytest.raises(Unauthenticated):
            await house.change_password("AAAAAAAAAAAAAA==", current, new, HERE)
    assert 0 == passwords.computed - before


@on_sqlite
async def test_the_same_password_is_no_other(house: Accounts, database: Database) -> None:
    """The current password as the new one is a fault of the new one, right or wrong, and no session ends."""
    await house.add("ada", OLD)
    token, other = [(await house.log_in("ada", OLD, HERE)).value for _ in range(2)]
    for same in (OLD, NEW):
        with pytest.raises(Invalid, match="new_password: must differ"):
            await house.change_password(token, same, same, HERE)
    assert "ada" == (await database.read(authenticate, other, Right.READ)).username


@pytest.mark.databases("sqlite", "postgresql")
async def test_two_changes_at_once(open_database: OpenDatabase, passwords: Passwords) -> None:
    """Of two changes at once from one session, in two processes, one wins and the other has a wrong current password."""
    first, second = (Accounts(one, passwords, Registrations(one, 10)) for one in (open_database(), open_database()))
    await first.add("ada", OLD)
    token = (await first.log_in("ada", OLD, HERE)).value
    changes = (first.change_password(token, OLD, NEW, HERE), second.change_password(token, OLD, OTHER, HERE))
    ends = await asyncio.gather(*changes, return_exceptions=True)
    assert {"NoneType", "WrongPassword"} == {type(end).__name__ for end in ends}
    await first.log_in("ada", NEW if ends[0] is None else OTHER, HERE)


@pytest.mark.parametrize(("asking", "refused"), [(0, WrongPassword), (1, Unauthenticated)])
async def test_a_change_that_another_overtakes(
    house: Accounts, passwords: InterruptedPasswords, asking: int, refused: type[Refusal]
) -> None:
    """The verified digest is compared again at the end, so the first change wins. A session ended by it changes nothing."""
    await house.add("ada", OLD)
    tokens = [(await house.log_in("ada", OLD, HERE)).value for _ in range(2)]
    passwords.meanwhile = lambda: house.change_password(tokens[0], OLD, NEW, HERE)
    with pytest.raises(refused):
        await house.change_password(tokens[asking], OLD, OTHER, HERE)
    await house.log_in("ada", NEW, HERE)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_token_that_dies_meanwhile(
    house: Accounts, passwords: InterruptedPasswords, database: Database
) -> None:
    """If a session ends while its password is verified, the password does not change."""
    await house.add("ada", OLD)
    token = (await house.log_in("ada", OLD, HERE)).value
    passwords.meanwhile = lambda: database.write(end_all, token)
    with pytest.raises(Unauthenticated):
        await house.change_password(token, OLD, NEW, HERE)
    await house.log_in("ada", OLD, HERE)


async def test_a_login_that_a_change_overtakes(
    house: Accounts, passwords: InterruptedPasswords, database: Database
) -> None:
    """If a change overtakes a login with the old password, the login starts no session and does not restore its digest."""
    await house.add("ada", OLD)
    token = (await house.log_in("ada", OLD, HERE)).value
    await outdate(database)
    passwords.meanwhile = lambda: house.change_password(token, OLD, NEW, HERE)
    with pytest.raises(InvalidAuthentication):
        await house.log_in("ada", OLD, HERE)
    assert [True] == [one.current for one in await database.read(sessions, token)]
    await house.log_in("ada", NEW, HERE)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_login_that_commits_last(house: Accounts, database: Database) -> None:
    """A change waits for a login that has compared its digest but not committed. It ends that login's session too."""
    await house.add("ada", OLD)
    asking = (await house.log_in("ada", OLD, HERE)).value
    under_way = asyncio.Event()

    def slow_login(tx: Transaction) -> IssuedToken | Refusal | None:
        login = rows.find_login(tx, "ada")
        assert login is not None
        issued = start_session(tx, login.account.id, login.password_digest or "", None, "")
        under_way.set()
        tx.execute(select(func.pg_sleep(0.3)))
        return issued

    login = asyncio.create_task(database.write(slow_login))
    await under_way.wait()
    await house.change_password(asking, OLD, NEW, HERE)
    issued = await login
    assert isinstance(issued, IssuedToken)
    assert issued is not None
    with pytest.raises(Unauthenticated):
        await database.read(authenticate, issued.value, Right.READ)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_digest_that_is_upgraded_meanwhile(
    house: Accounts, passwords: InterruptedPasswords, database: Database
) -> None:
    """If a login upgrades the digest meanwhile, the same password still logs in and can be changed."""
    await house.add("ada", OLD)
    token = (await house.log_in("ada", OLD, HERE)).value
    for act in (lambda: house.log_in("ada", OLD, HERE), lambda: house.change_password(token, OLD, NEW, HERE)):
        await outdate(database)
        passwords.meanwhile = lambda: house.log_in("ada", OLD, HERE)
        await act()
    await house.log_in("ada", NEW, HERE)
