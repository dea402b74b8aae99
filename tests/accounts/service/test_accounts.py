"""Accounts and tokens: registration, login, logout, and the value of a copied database."""

import asyncio
import base64
import hashlib
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import func, select

from saleroom.accounts.domain.errors import InvalidAuthentication, RegistrationClosed, UnknownUser, UsernameTaken
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import (
    FAILED_LOGINS_PER_HOUR,
    Accounts,
    authenticate,
    issue_token,
    log_out,
    new_token_value,
    set_digest,
)
from saleroom.accounts.service.passwords import SHARE_MAX, THREADS, WAITING_MAX, Passwords
from saleroom.accounts.service.throttle import FREE_FAILURES, FailedLogins, Registrations
from saleroom.accounts.storage import accounts as rows
from saleroom.accounts.storage.tables import auth_tokens
from saleroom.kernel.errors import Busy, TooManyRequests, Unauthenticated
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable, HangUp
from tests.bidding.service.people import person
from tests.fixtures_database import T0, FakeClock, OpenDatabase
from tests.patience import settled
from tests.storage.test_turns import Somebody, asked_by

pytestmark = pytest.mark.databases("sqlite")

PASSWORD, HERE = "correct horse", "192.0.2.1"


class CountingPasswords(Passwords):
    """Real digests, with a count."""

    computed = 0

    def _matches(self, digest: str | None, password: str) -> bool:
        self.computed += 1
        return super()._matches(digest, password)


@pytest.fixture(scope="module")
def passwords() -> Iterator[CountingPasswords]:
    """The two threads for digests."""
    passwords = CountingPasswords()
    yield passwords
    passwords.close()


@pytest.fixture
def house(database: Database, passwords: CountingPasswords) -> Accounts:
    """The use cases, with registration open, and a clock for failed logins that stands still."""
    failed_logins = FailedLogins(database, FAILED_LOGINS_PER_HOUR, FakeClock())
    return Accounts(database, passwords, Registrations(database, 1000), failed_logins)


def test_a_token_is_10_random_bytes_in_base64() -> None:
    """A value has 16 characters of standard Base64 with padding and decodes to 10 bytes. All values differ."""
    values = [new_token_value() for _ in range(500)]
    for value in values:
        assert (16, 10, "==") == (len(value), len(base64.b64decode(value, validate=True)), value[-2:])
    assert len(values) == len(set(values))
    assert set("+/") <= set("".join(values)), "the standard alphabet, not the one for URLs"


async def test_a_token_lives_30_days_to_the_microsecond(clocked_database: Database, clock: FakeClock) -> None:
    """A token identifies its user until a microsecond before expiresAt, and is refused from expiresAt on."""
    clock.advance(microseconds=123_457)
    ada = await person(clocked_database)
    issued = await clocked_database.write(issue_token, ada.account.id)
    assert (clock.now, clock.now + timedelta(days=30)) == (issued.created_at, issued.expires_at)
    clock.now = issued.expires_at - timedelta(microseconds=1)
    assert ada.account == await clocked_database.read(authenticate, issued.value, Right.READ)
    clock.now = issued.expires_at
    with pytest.raises(Unauthenticated):
        await clocked_database.read(authenticate, issued.value, Right.READ)


@pytest.mark.parametrize("token", [None, "", "AAAAAAAAAAAAAA==", "ä", "\0"])
async def test_no_token_no_user(database: Database, token: str | None) -> None:
    """A missing, empty or unknown token identifies nobody."""
    await person(database)
    with pytest.raises(Unauthenticated):
        await database.read(authenticate, token, Right.READ)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_clash_is_retried(database: Database) -> None:
    """If another token has the value already, a new value is made, and the first token stays valid."""
    ada, bob = [await person(database) for _ in range(2)]
    taken = (await database.write(issue_token, ada.account.id)).value
    values = iter([taken, taken, "BBBBBBBBBBBBBB=="])
    issued = await database.write(issue_token, bob.account.id, lambda: next(values))
    assert "BBBBBBBBBBBBBB==" == issued.value
    assert ada.account == await database.read(authenticate, taken, Right.READ)
    assert bob.account == await database.read(authenticate, issued.value, Right.READ)
    with pytest.raises(DatabaseUnavailable):
        await database.write(issue_token, bob.account.id, lambda: taken)


@pytest.mark.databases("sqlite", "postgresql")
@pytest.mark.usefixtures("slow_digests")
async def test_a_copied_database_logs_nobody_in(database: Database, house: Accounts) -> None:
    """The column `token` holds the SHA-256 of the value, and users an Argon2id digest: 19 MiB, t=2, p=1, salted."""
    await house.register("ada", PASSWORD, HERE)
    await house.register("bob", PASSWORD, HERE)
    issued = await house.log_in("ada", PASSWORD, HERE)

    def look(tx: Transaction) -> tuple[list[str], list[str | None]]:
        digests = []
        for name in ("ada", "bob"):
            login = rows.find_login(tx, name)
            digests.append(None if login is None else login.password_digest)
        return list(tx.execute(select(auth_tokens.c.token)).scalars()), digests

    tokens, digests = await database.read(look)
    assert [hashlib.sha256(issued.value.encode()).hexdigest()] == tokens
    assert all((digest or "").startswith("$argon2id$v=19$m=19456,t=2,p=1$") for digest in digests)
    assert digests[0] != digests[1]
    with pytest.raises(Unauthenticated):
        await database.read(authenticate, tokens[0], Right.READ)


async def test_nobody_registers_a_name_that_the_house_gives(house: Accounts) -> None:
    """Such as that of a guest or of somebody who was erased; names that only look like one are free."""
    for name in ("guest-1a2b3c4d5e6f", "guest-anna", "erased.anna"):
        with pytest.raises(UsernameTaken):
            await house.register(name, PASSWORD, HERE)
    for name in ("guest", "guest.anna", "erased-anna"):
        assert name == (await house.register(name, PASSWORD, HERE)).username


async def test_a_username_is_taken_once(open_database: OpenDatabase, passwords: Passwords) -> None:
    """Of several simultaneous registrations of one name, in several processes, one succeeds."""
    several = [Accounts(one, passwords, Registrations(one, 1000)) for one in (open_database() for _ in range(3))]
    answers = await asyncio.gather(
        *(house.register("ada", PASSWORD, HERE) for house in several * 2), return_exceptions=True
    )
    assert 5 == sum(isinstance(answer, UsernameTaken) for answer in answers)


async def test_logging_in(house: Accounts, database: Database) -> None:
    """The right password gives a new token each time, whatever the case of the username."""
    ada = await house.register("ada", PASSWORD, HERE)
    first, second = await house.log_in("ada", PASSWORD, HERE), await house.log_in("ADA", PASSWORD, HERE)
    assert first.value != second.value
    for issued in (first, second):
        assert ada == await database.read(authenticate, issued.value, Right.READ)


@pytest.mark.databases("sqlite", "postgresql")
async def test_every_failed_login_costs_the_same(house: Accounts, passwords: CountingPasswords) -> None:
    """Wrong password, unknown user, user without a digest, impossible name: one computation each, and the same refusal."""
    await house.register("ada", PASSWORD, HERE)
    await house._database.write(rows.add_user, "bob", None, T0)
    for name in ("ada", "nobody", "bob", "nobody\0", "ädä", "\ud800", ""):
        before = passwords.computed
        with pytest.raises(InvalidAuthentication, match="Invalid authentication"):
            await house.log_in(name, "wrong horse", HERE)
        assert 1 == passwords.computed - before
    parameters = passwords._decoy.rpartition("$")[0].rpartition("$")[0]
    assert parameters == (await passwords.digest("ada", PASSWORD)).rpartition("$")[0].rpartition("$")[0]


@pytest.mark.parametrize("digest", ["", "plain", "$argon2id$v=19$m=19456,t=2,p=1$broken"])
async def test_a_broken_digest_is_a_wrong_password(house: Accounts, digest: str) -> None:
    """A malformed digest lets nobody in, and does not raise."""
    await house.register("ada", PASSWORD, HERE)
    await house._database.write(set_digest, "ada", digest)
    with pytest.raises(InvalidAuthentication):
        await house.log_in("ada", PASSWORD, HERE)


@pytest.mark.usefixtures("slow_digests")
async def test_an_outdated_digest_is_upgraded_at_login(house: Accounts, database: Database) -> None:
    """A digest with other parameters still lets its user in, and is replaced by a new one."""
    await house.register("ada", PASSWORD, HERE)
    await database.write(set_digest, "ada", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD))
    for _ in range(2):
        await house.log_in("ada", PASSWORD, HERE)
        login = await database.read(rows.find_login, "ada")
        assert login is not None
        assert (login.password_digest or "").startswith("$argon2id$v=19$m=19456,t=2,p=1$")


@pytest.mark.databases("sqlite", "postgresql")
async def test_logging_out_ends_one_session_everywhere(open_database: OpenDatabase) -> None:
    """The token is dead at once, also in other processes, and cannot log out again. Other tokens stay valid."""
    here, there = open_database(), open_database()
    ada = await person(here)
    other = await here.write(issue_token, ada.account.id)
    assert ada.account == await there.read(authenticate, ada.token, Right.READ)
    await here.write(log_out, ada.token)
    for act in (there.read(authenticate, ada.token, Right.READ), there.write(log_out, ada.token)):
        with pytest.raises(Unauthenticated):
            await act
    assert ada.account == await there.read(authenticate, other.value, Right.READ)


async def test_a_new_password(house: Accounts, database: Database) -> None:
    """After a change only the new password logs in, and all sessions have ended. An unknown user is refused."""
    await house.add("ada", PASSWORD)
    before = await house.log_in("ada", PASSWORD, HERE)
    await house.set_password("ada", "battery staple")
    with pytest.raises(Unauthenticated):
        await database.read(authenticate, before.value, Right.READ)
    await house.log_in("ada", "battery staple", HERE)
    with pytest.raises(InvalidAuthentication):
        await house.log_in("ada", PASSWORD, HERE)
    with pytest.raises(UnknownUser):
        await house.set_password("nobody", PASSWORD)


async def test_a_house_may_be_closed(database: Database, passwords: Passwords) -> None:
    """If registration is closed, only `add` makes users. It refuses a taken name too."""
    house = Accounts(database, passwords, None)
    with pytest.raises(RegistrationClosed):
        await house.register("ada", PASSWORD, HERE)
    assert "ada" == (await house.add("ada", PASSWORD)).username
    with pytest.raises(UsernameTaken):
        await house.add("ada", PASSWORD)


async def test_failed_logins_are_slowed_down(house: Accounts, passwords: CountingPasswords) -> None:
    """After five failures in a row this name has to wait at this address, even with the right password. Others do not."""
    await house.register("ada", PASSWORD, HERE)
    for _ in range(FREE_FAILURES):
        with pytest.raises(InvalidAuthentication):
            await house.log_in("ada", "wrong horse", HERE)
    before = passwords.computed
    with pytest.raises(TooManyRequests) as caught:
        await house.log_in("Ada", PASSWORD, HERE)
    assert ({"retry_after": 1}, 0) == (caught.value.facts, passwords.computed - before)
    await house.log_in("ada", PASSWORD, "192.0.2.2")


async def test_registrations_are_counted_per_address(database: Database, passwords: Passwords) -> None:
    """An address may register as many accounts an hour as the setting says. A refusal has the time to wait."""
    house = Accounts(database, passwords, Registrations(database, 2))
    for name in ("ada", "bob"):
        await house.register(name, PASSWORD, HERE)
    with pytest.raises(TooManyRequests) as caught:
        await house.register("cy", PASSWORD, HERE)
    wait = caught.value.facts["retry_after"]
    assert isinstance(wait, int)
    assert 0 < wait <= 3600
    await house.register("cy", PASSWORD, "192.0.2.2")


async def test_a_storm_of_logins_is_turned_away() -> None:
    """Two threads compute and 64 requests wait. Further ones are refused as busy until there is room."""
    passwords, go = Passwords(), threading.Event()
    waiting = [asyncio.create_task(passwords._run(go.wait)) for _ in range(THREADS + WAITING_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await passwords.verify(None, PASSWORD)
    go.set()
    assert all(await asyncio.gather(*waiting))
    assert not await passwords.verify(None, PASSWORD)
    passwords.close()


async def test_no_digest_is_computed_after_the_client_hung_up() -> None:
    """If a client hangs up while its login waits, no digest is computed for it. The others get theirs."""
    passwords, go, computed = Passwords(), threading.Event(), list[str]()
    asker = Somebody("bidder")
    held = [asyncio.create_task(passwords._run(go.wait)) for _ in range(THREADS)]
    waiting = [asked_by(asker, lambda: passwords._run(lambda: computed.append("gone"))) for _ in range(9)]
    stays = asyncio.create_task(passwords._run(lambda: computed.append("stays")))
    await settled()
    asker.gone = True
    go.set()
    await asyncio.gather(stays, *held)
    assert {HangUp} == {type(error) for error in await asyncio.gather(*waiting, return_exceptions=True)}
    assert ["stays"] == computed
    passwords.close()


async def test_one_place_has_half_of_the_waiting_room() -> None:
    """A network that fills its share is refused, and another network still gets in. All places are free again afterwards."""
    passwords, go = Passwords(), threading.Event()
    flood = [asyncio.create_task(passwords._run(go.wait, "there")) for _ in range(SHARE_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await passwords.verify(None, PASSWORD, "there")
    other = asyncio.create_task(passwords.verify(None, PASSWORD, "here"))
    await asyncio.sleep(0)
    assert not other.done()
    go.set()
    assert all(await asyncio.gather(*flood)) and not await other
    assert not await passwords.verify(None, PASSWORD, "there")
    assert not passwords._under_way
    passwords.close()


async def test_tokens_are_counted_in_their_table(database: Database, house: Accounts) -> None:
    """Each login stores one token, and a failed one none."""
    await house.register("ada", PASSWORD, HERE)
    await house.log_in("ada", PASSWORD, HERE)
    with pytest.raises(InvalidAuthentication):
        await house.log_in("ada", "wrong horse", HERE)
    count = await database.read(lambda tx: tx.execute(select(func.count()).select_from(auth_tokens)).scalar_one())
    assert 1 == count
