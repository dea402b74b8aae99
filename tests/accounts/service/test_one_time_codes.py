"""Logins with one-time codes: what they need, what is counted, and what a copied database gives away."""

import asyncio
import base64
from datetime import timedelta

import pytest
from sqlalchemy import select

from saleroom.accounts.domain import one_time_codes as rules
from saleroom.accounts.domain.errors import (
    CodeRequired,
    CodesOff,
    CodesOn,
    InvalidAuthentication,
    LoginExpired,
    WrongCode,
    WrongPassword,
)
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import Accounts, IssuedToken, authenticate, set_digest
from saleroom.accounts.service.one_time_codes import OneTimeCodes, Security, security, switch_off
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.service.throttle import FREE_FAILURES, FailedLogins, Registrations
from saleroom.accounts.service.tickets import TICKET_LIFETIME, LoginKeys
from saleroom.accounts.storage.tables import one_time_codes, recovery_codes
from saleroom.kernel.errors import Refusal, TooManyRequests, Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.fixtures_database import FakeClock

pytestmark = pytest.mark.databases("sqlite")

PASSWORD, HERE = "correct horse", "192.0.2.1"


class Hall:
    """A house with a user, Ada, whose app shows codes once she has set them up."""

    def __init__(self, database: Database, clock: FakeClock, passwords: Passwords) -> None:
        self.database = database
        self.clock = clock
        self.key = b"k" * 32
        self.keys = LoginKeys(Sealing(lambda: self.key), Sealing(lambda: b"t" * 32))
        self.places = iter(f"198.51.{number // 250}.{number % 250 + 1}" for number in range(60_000))
        failed_logins = FailedLogins(database, 10_000, FakeClock())
        self.accounts = Accounts(database, passwords, Registrations(database, 10), failed_logins, self.keys)
        self.codes = OneTimeCodes(database, self.accounts, self.keys.secrets, "Saleroom")
        self.secret = b""

    async def set_up(self) -> list[str]:
        """Register Ada, switch her codes on, let the next step of the clock come, and return her recovery codes."""
        await self.accounts.add("ada", PASSWORD)
        self.token = (await self.accounts.log_in("ada", PASSWORD, HERE)).value
        made = await self.codes.begin(self.token, PASSWORD, HERE)
        self.secret = _read(made.secret)
        recovery = await self.codes.confirm(self.token, self.shown)
        self.clock.advance(60)
        return recovery

    @property
    def shown(self) -> str:
        """What Ada's app shows now."""
        return rules.current_code(self.secret, self.clock.now)

    @property
    def wrong(self) -> str:
        """Six digits that count at no step near now."""
        near = {rules.current_code(self.secret, self.clock.now + timedelta(seconds=s)) for s in (-30, 0, 30)}
        return next(code for code in (f"{number:06}" for number in range(9)) if code not in near)

    async def log_in(self, code: str | None = None, place: str | None = None) -> IssuedToken:
        """Log in with the right password and a code, from a new network unless a place is given."""
        return await self.accounts.log_in("ada", PASSWORD, place or next(self.places), code=code)

    async def ticket(self) -> bytes:
        """Return a ticket for the second step."""
        with pytest.raises(CodeRequired) as required:
            await self.log_in()
        return required.value.ticket


def _read(text: str) -> bytes:
    return base64.b32decode(text)


@pytest.fixture
def hall(clocked_database: Database, clock: FakeClock, passwords: Passwords) -> Hall:
    """An empty house."""
    return Hall(clocked_database, clock, passwords)


async def test_a_login_needs_both(hall: Hall) -> None:
    """With codes on, the password alone and the password with a wrong code give no session; with the right code it does."""
    await hall.set_up()
    for code in (None, "", " "):
        with pytest.raises(CodeRequired):
            await hall.log_in(code)
    for code in (hall.wrong, "12345", "x" * 24, "1" * 10_000, "\x00"):
        with pytest.raises(WrongCode):
            await hall.log_in(code)
    token = await hall.log_in(f" {hall.shown[:3]} {hall.shown[3:]}")
    assert "ada" == (await hall.database.read(authenticate, token.value, Right.READ)).username


async def test_a_code_is_good_for_one_login(hall: Hall) -> None:
    """A code that has logged in is refused afterwards, for a second login and at the same time, and so is one before it."""
    await hall.set_up()
    code = hall.shown
    answers = await asyncio.gather(*(hall.log_in(code) for _ in range(6)), return_exceptions=True)
    assert 1 == sum(isinstance(answer, IssuedToken) for answer in answers)
    assert all(isinstance(answer, IssuedToken | WrongCode | TooManyRequests) for answer in answers)
    hall.clock.advance(30)
    with pytest.raises((WrongCode, TooManyRequests)):
        await hall.log_in(code)
    hall.clock.advance(60)
    await hall.log_in(hall.shown)


async def test_the_code_that_confirmed_logs_nobody_in(hall: Hall) -> None:
    """The code that switched codes on is used up."""
    await hall.set_up()
    hall.clock.advance(-60)
    with pytest.raises(WrongCode):
        await hall.log_in(hall.shown)


async def test_wrong_codes_are_delayed_whatever_the_network(hall: Hall) -> None:
    """After five wrong codes from five networks even the right code has to wait, and a right one forgets them."""
    await hall.set_up()
    for _ in range(rules.FREE_FAILURES):
        with pytest.raises(WrongCode):
            await hall.log_in(hall.wrong)
    with pytest.raises(TooManyRequests) as refused:
        await hall.log_in(hall.shown)
    assert 1 == refused.value.facts["retry_after"]
    hall.clock.advance(1)
    with pytest.raises(WrongCode):
        await hall.log_in(hall.wrong)
    with pytest.raises(TooManyRequests) as refused:
        await hall.log_in(hall.shown)
    assert 2 == refused.value.facts["retry_after"]
    hall.clock.advance(2)
    await hall.log_in(hall.shown)
    with pytest.raises(WrongCode):
        await hall.log_in(hall.wrong)


async def test_a_clock_that_is_set_back_delays_no_code(hall: Hall) -> None:
    """The delay after wrong codes does not last for the hour that was taken back."""
    await hall.set_up()
    hall.clock.advance(hours=2)
    for _ in range(rules.FREE_FAILURES):
        with pytest.raises(WrongCode):
            await hall.log_in(hall.wrong)
    hall.clock.advance(hours=-1)
    await hall.log_in(hall.shown)


async def test_codes_count_at_once_after_the_clock_was_set_back(hall: Hall) -> None:
    """A code logs in at once although a later one was used before the clock was set back; it counts once, as any."""
    await hall.set_up()
    hall.clock.advance(hours=1)
    await hall.log_in(hall.shown)
    hall.clock.advance(hours=-1)
    await hall.log_in(hall.shown)
    with pytest.raises(WrongCode):
        await hall.log_in(hall.shown)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_recovery_code_waits_for_nothing_and_counts_once(hall: Hall) -> None:
    """While wrong codes delay an account its recovery codes let its user in, each of them once."""
    recovery = await hall.set_up()
    assert rules.RECOVERY_CODES == len(set(recovery))
    for _ in range(rules.FREE_FAILURES):
        with pytest.raises(WrongCode):
            await hall.log_in(hall.wrong)
    await hall.log_in(recovery[3].upper())
    with pytest.raises(WrongCode):
        await hall.log_in(recovery[3])
    await hall.log_in(recovery[4])
    assert 8 == (await hall.database.read(security, hall.token)).recovery_codes_left


async def test_wrong_codes_count_as_failed_logins(hall: Hall) -> None:
    """A network that sends wrong codes is delayed as one that sends wrong passwords, before the password is looked at."""
    await hall.set_up()
    for _ in range(FREE_FAILURES):
        with pytest.raises(WrongCode):
            await hall.log_in("no code at all", HERE)
    with pytest.raises(TooManyRequests):
        await hall.log_in(hall.shown, HERE)
    await hall.log_in(hall.shown)


async def test_a_thief_without_the_password_learns_nothing(hall: Hall) -> None:
    """A wrong password is refused as in an account without codes, even with the right code, which stays good."""
    await hall.set_up()
    for code in (None, hall.shown):
        with pytest.raises(InvalidAuthentication):
            await hall.accounts.log_in("ada", "another horse", next(hall.places), code=code)
    await hall.log_in(hall.shown)


async def test_the_second_step(hall: Hall) -> None:
    """A ticket stands for the password for five minutes, and needs a code as the password does."""
    await hall.set_up()
    ticket = await hall.ticket()
    with pytest.raises(WrongCode):
        await hall.accounts.log_in_by_ticket(ticket, hall.wrong, HERE)
    with pytest.raises(CodeRequired):
        await hall.accounts.log_in_by_ticket(ticket, "", HERE)
    token = await hall.accounts.log_in_by_ticket(ticket, hall.shown, HERE, "Firefox")
    assert "ada" == (await hall.database.read(authenticate, token.value, Right.READ)).username
    hall.clock.advance(TICKET_LIFETIME.total_seconds())
    with pytest.raises(LoginExpired):
        await hall.accounts.log_in_by_ticket(ticket, hall.shown, HERE)


async def test_a_ticket_ends_with_its_password(hall: Hall) -> None:
    """A ticket for a password that was replaced is worth nothing; nor is one that was changed or made by another house."""
    await hall.set_up()
    ticket = await hall.ticket()
    await hall.database.write(set_digest, "ada", "another digest")
    other = Sealing(lambda: b"o" * 32).seal(b"{}", "login")
    for one in (ticket, ticket[:-1] + bytes([ticket[-1] ^ 1]), other, b"", b"x" * 12, ticket[:12]):
        with pytest.raises(LoginExpired):
            await hall.accounts.log_in_by_ticket(one, hall.shown, HERE)


async def test_setting_up_needs_the_password_and_a_code(hall: Hall) -> None:
    """Nothing is on until a code of the new secret has come. A wrong password sets nothing up, and counts as a failure."""
    await hall.accounts.add("ada", PASSWORD)
    token = (await hall.log_in()).value
    with pytest.raises(CodesOff):
        await hall.codes.confirm(token, "000000")
    with pytest.raises(WrongPassword):
        await hall.codes.begin(token, "another horse", HERE)
    first = _read((await hall.codes.begin(token, PASSWORD, HERE)).secret)
    hall.secret = _read((await hall.codes.begin(token, PASSWORD, HERE)).secret)
    with pytest.raises(WrongCode):
        await hall.codes.confirm(token, rules.current_code(first, hall.clock.now))
    await hall.log_in()
    assert await hall.codes.unconfirmed(token) is not None
    await hall.codes.confirm(token, hall.shown)
    assert await hall.codes.unconfirmed(token) is None
    for again in (hall.codes.begin(token, PASSWORD, HERE), hall.codes.confirm(token, hall.shown)):
        with pytest.raises(CodesOn):
            await again
    with pytest.raises(Unauthenticated):
        await hall.codes.begin("no token", PASSWORD, HERE)


async def test_a_setup_that_was_left_is_over_after_half_an_hour(hall: Hall) -> None:
    """A secret that nobody confirms is shown to no later thief of the session, and counts no more; a new one does."""
    await hall.accounts.add("ada", PASSWORD)
    token = (await hall.log_in()).value
    hall.secret = _read((await hall.codes.begin(token, PASSWORD, HERE)).secret)
    hall.clock.now += rules.SETUP_LIFETIME
    assert await hall.codes.unconfirmed(token) is None
    with pytest.raises(CodesOff):
        await hall.codes.confirm(token, hall.shown)
    hall.clock.advance(-1)
    assert await hall.codes.unconfirmed(token) is not None
    hall.clock.advance(2)
    hall.secret = _read((await hall.codes.begin(token, PASSWORD, HERE)).secret)
    await hall.codes.confirm(token, hall.shown)


async def test_switching_off_needs_both(hall: Hall) -> None:
    """Codes end by the password and a code, or a recovery code; then a login needs the password alone."""
    recovery = await hall.set_up()
    for password, code, kind in (
        (PASSWORD, hall.wrong, WrongCode),
        (PASSWORD, "", CodeRequired),
        ("another horse", hall.shown, WrongPassword),
    ):
        with pytest.raises(kind):
            await hall.codes.end(hall.token, password, code, next(hall.places))
    await hall.codes.end(hall.token, PASSWORD, recovery[0], HERE)
    await hall.log_in()
    with pytest.raises(CodesOff):
        await hall.codes.end(hall.token, PASSWORD, recovery[1], HERE)
    assert Security(None, 0) == await hall.database.read(security, hall.token)


@pytest.mark.databases("sqlite", "postgresql")
async def test_new_recovery_codes_replace_the_old(hall: Hall) -> None:
    """New recovery codes need both factors; afterwards the old ones are worth nothing."""
    old = await hall.set_up()
    with pytest.raises(WrongCode):
        await hall.codes.renew_recovery_codes(hall.token, PASSWORD, hall.wrong, HERE)
    new = await hall.codes.renew_recovery_codes(hall.token, PASSWORD, hall.shown, HERE)
    assert not {*old} & {*new}
    with pytest.raises(WrongCode):
        await hall.log_in(old[0])
    await hall.log_in(new[0])


async def test_the_owner_can_switch_codes_off(hall: Hall) -> None:
    """Somebody without app and recovery codes is let in by the owner of the house, who switches the codes off."""
    await hall.set_up()
    assert [True, False] == [await hall.database.write(switch_off, "ada") for _ in range(2)]
    await hall.log_in()


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_copied_database_has_no_secret(hall: Hall) -> None:
    """A row has a sealed secret and digests of recovery codes. A secret that is moved to another user opens for nobody."""
    recovery = await hall.set_up()

    def rows(tx: Transaction) -> str:
        return repr([tuple(row) for table in (one_time_codes, recovery_codes) for row in tx.execute(select(table))])

    kept = await hall.database.read(rows)
    for secret in (hall.secret.hex(), repr(hall.secret)[2:-1], rules.secret_text(hall.secret), *recovery):
        assert secret not in kept
    sealed = hall.keys.secrets.seal(b"secret", "one-time codes of 1")
    assert b"secret" == hall.keys.secrets.open(sealed, "one-time codes of 1")
    assert hall.keys.secrets.open(sealed, "one-time codes of 2") is None


async def test_after_another_secret_of_the_house_recovery_codes_count(hall: Hall) -> None:
    """If the secret of the house was replaced no app's code counts; a recovery code still does."""
    recovery = await hall.set_up()
    hall.key = b"n" * 32
    with pytest.raises(WrongCode):
        await hall.log_in(hall.shown)
    token = (await hall.log_in(recovery[0])).value
    await hall.codes.end(token, PASSWORD, recovery[1], HERE)
    assert not isinstance(await hall.log_in(), Refusal)
