"""Rate limits, with a clock that the test turns: those of the house on each database, and those of a process."""

import asyncio
from contextlib import suppress
from datetime import datetime

import pytest
from sqlalchemy import select

from saleroom.accounts.domain.errors import InvalidAuthentication
from saleroom.accounts.service import throttle
from saleroom.accounts.service.throttle import (
    FREE_FAILURES,
    FailedLogins,
    RateLimit,
    Registrations,
)
from saleroom.accounts.storage import rate_limits
from saleroom.accounts.storage.tables import rate_limits as rate_limits_table
from saleroom.kernel.errors import Busy, TooManyRequests
from saleroom.storage.database import Database, Transaction
from tests.fixtures_database import FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Seconds:
    """A clock of seconds, for limits of one process."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    """The clock of a token bucket."""
    return Seconds()


@pytest.fixture
def logins(database: Database, clock: FakeClock) -> FailedLogins:
    """Delays without any failure so far."""
    return FailedLogins(database, 600, clock)


async def log_in(logins: FailedLogins, username: str = "ada", address: str = HERE, *, fails: bool = True) -> int:
    """Log in, and return 0; or return the seconds to wait, if that has to wait."""
    ends = InvalidAuthentication() if fails else None
    try:
        with suppress(InvalidAuthentication):
            async with logins.attempt(username, address):
                _end(ends)
    except TooManyRequests as refused:
        left = refused.facts["retry_after"]
        assert isinstance(left, int)
        return left
    return 0


def _end(error: Exception | None) -> None:
    if error is not None:
        raise error


async def test_the_delay_grows_to_a_minute(logins: FailedLogins, clock: FakeClock) -> None:
    """The first five failures are free; then one waits 1 second, 2, 4 ... and never more than 60."""
    waits = []
    for _ in range(FREE_FAILURES + 10):
        waits.append(wait := await log_in(logins))
        clock.advance(wait)
        if wait:
            assert 0 == await log_in(logins)
    assert [0] * FREE_FAILURES + [1, 2, 4, 8, 16, 32] + [60] * 4 == waits


async def test_the_delay_passes(logins: FailedLogins, clock: FakeClock) -> None:
    """After the delay a try is allowed again. The refusal has the rest of the delay in whole seconds, rounded up."""
    for _ in range(FREE_FAILURES):
        await log_in(logins)
    for wait in (1, 2):
        clock.advance(wait)
        assert 0 == await log_in(logins)
    waits = []
    for step in (0, 0.5, 3.25, 0.25):
        clock.advance(step)
        waits.append(await log_in(logins))
    assert [4, 4, 1, 0] == waits


async def test_a_rival_delays_nobody(logins: FailedLogins) -> None:
    """Failures count for a name at an address. The same name elsewhere and another name there do not wait."""
    for _ in range(FREE_FAILURES + 1):
        await log_in(logins, "ada", THERE)
    waits = [await log_in(logins, *of) for of in (("ada", THERE), ("ada", HERE), ("bob", THERE))]
    assert [1, 0, 0] == waits


async def test_a_success_forgets(logins: FailedLogins, clock: FakeClock) -> None:
    """Only failures in a row count, also if the delay had begun."""
    for _ in range(FREE_FAILURES + 1):
        await log_in(logins)
    clock.advance(1)
    assert 0 == await log_in(logins, fails=False)
    assert [0] * FREE_FAILURES + [1] == [await log_in(logins) for _ in range(FREE_FAILURES + 1)]


async def test_an_hour_forgets(logins: FailedLogins, clock: FakeClock) -> None:
    """An hour after the last failure, the next one counts as the first."""
    for _ in range(FREE_FAILURES + 1):
        await log_in(logins)
    clock.advance(hours=1, seconds=0.5)
    assert [0] * FREE_FAILURES + [1] == [await log_in(logins) for _ in range(FREE_FAILURES + 1)]


@pytest.mark.parametrize("failures", [1, FREE_FAILURES + 1])
async def test_a_clock_that_is_set_back_locks_nobody_out(
    open_database: OpenDatabase, clock: FakeClock, failures: int
) -> None:
    """Somebody who mistyped the password before an hour was taken back logs in, and the network has not used up its tries."""
    before, after = (FailedLogins(open_database(), 60, clock) for _ in range(2))
    for _ in range(failures):
        await log_in(before)
        clock.advance(1)
    for number in range(59):
        await log_in(before, f"name{number}")
    clock.advance(hours=-1, seconds=-70)
    assert [0, 0] == [await log_in(after, name) for name in ("ada", "bob")]
    if failures > FREE_FAILURES:
        assert 0 < await log_in(after), "the failures still count"


async def test_a_network_has_only_so_many_failures(database: Database, clock: FakeClock) -> None:
    """All failures of a network count together. Names that logged in there in the last 30 days and other networks are free."""
    logins = FailedLogins(database, 60, clock)
    await log_in(logins, "ada", "2001:db8::1", fails=False)
    failures = [await log_in(logins, f"name{number}", f"2001:db8::{number:x}") for number in range(60)]
    assert [0] * 60 == failures
    assert 60 == await log_in(logins, "bob", "2001:db8::ffff")
    free = [await log_in(logins, *of) for of in (("ada", "2001:db8::2"), ("bob", "2001:db8:0:1::1"))]
    assert [0, 0] == free
    clock.advance(60.5)
    assert [0, 60] == [await log_in(logins, name, "2001:db8::1") for name in ("bob", "cy")]
    clock.advance(days=30)
    for number in range(60):
        await log_in(logins, f"other{number}", "2001:db8::1")
    assert 0 < await log_in(logins, "ada", "2001:db8::1", fails=False)


async def test_only_failures_count_for_a_network(database: Database, clock: FakeClock) -> None:
    """Neither successful logins nor those refused as busy count for the limit of a network."""
    logins = FailedLogins(database, 10, clock)
    for number in range(30):
        await log_in(logins, f"name{number}", fails=False)
        with suppress(Busy):
            async with logins.attempt(f"name{number}", HERE):
                raise Busy
    assert 0 == await log_in(logins, "another")


async def test_one_try_at_a_time_after_the_free_ones(open_database: OpenDatabase, clock: FakeClock) -> None:
    """Once there is a delay, only one try runs at a time, in all processes, because its failure may delay the next."""
    here, there = (FailedLogins(open_database(), 600, clock) for _ in range(2))
    for number in range(FREE_FAILURES):
        await log_in((here, there)[number % 2])
    assert [1, 1] == [await log_in(logins) for logins in (here, there)]
    clock.advance(1.5)
    with suppress(InvalidAuthentication):
        async with here.attempt("ada", HERE):
            assert [2, 2] == [await log_in(logins) for logins in (there, here)]
            assert 0 == await log_in(there, "ada", THERE)
            raise InvalidAuthentication
    assert [2, 2] == [await log_in(logins) for logins in (there, here)]


@pytest.mark.databases("sqlite", "postgresql")
async def test_of_many_tries_at_once_one_is_checked(open_database: OpenDatabase, clock: FakeClock) -> None:
    """Tries that arrive together after the delay, in two processes, are one try and refusals."""
    several = [FailedLogins(open_database(), 600, clock) for _ in range(2)]
    for _ in range(FREE_FAILURES):
        await log_in(several[0])
    clock.advance(1)
    waits = await asyncio.gather(*(log_in(several[number % 2]) for number in range(12)))
    assert [0, *[2] * 11] == sorted(waits)


async def test_a_try_that_is_neither_right_nor_wrong_is_not_counted(logins: FailedLogins, clock: FakeClock) -> None:
    """A try that ends as busy after the free ones makes the next delay no longer."""
    for _ in range(FREE_FAILURES):
        await log_in(logins)
    for _ in range(3):
        clock.advance(1)
        with suppress(Busy):
            async with logins.attempt("ada", HERE):
                raise Busy
    clock.advance(1)
    assert [0, 2] == [await log_in(logins) for _ in range(2)]


async def test_a_known_name_logs_in_by_one_read(logins: FailedLogins, database: Database, clock: FakeClock) -> None:
    """A login of a name that is known at its network writes no count, except once a day."""
    await log_in(logins, fails=False)
    before = await database.read(_stored)
    for hours in (1, 22):
        clock.advance(hours=hours)
        await log_in(logins, fails=False)
        assert before == await database.read(_stored)
    clock.advance(hours=1)
    await log_in(logins, fails=False)
    assert before != await database.read(_stored)


async def test_a_refused_name_asks_the_database_no_more(
    logins: FailedLogins, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a name has to wait, its tries cost a process no question to the database."""
    for _ in range(FREE_FAILURES + 1):
        await log_in(logins)
    monkeypatch.setattr(database, "read", None)
    monkeypatch.setattr(database, "write", None)
    assert 1 == await log_in(logins)


async def test_rows_are_swept_and_bounded(
    logins: FailedLogins, database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A count is deleted when it is of no use, and beyond the bound those that end first; no row names a user or an address."""
    for name in ("ada", "bob", "x" * 60_000):
        await log_in(logins, name)
        clock.advance(minutes=10)
    rows = await database.read(_stored)
    assert 4 == len(rows)  # three names and their network
    assert all(len(key) == 32 for key, _ in rows)
    monkeypatch.setattr(rate_limits, "ROWS_MAX", 2)
    until = await database.read(rate_limits.overflow)
    assert until is not None
    assert 2 == await database.write(rate_limits.sweep, until, 100)
    assert None is await database.read(rate_limits.overflow)
    assert 2 == await database.write(rate_limits.sweep, clock.advance(hours=2), 100)
    assert 0 == await log_in(logins)


async def test_registrations_per_address(open_database: OpenDatabase, clock: FakeClock) -> None:
    """Each address may register so many accounts within any hour, in all processes. The refusal says when there is one."""
    several = [Registrations(open_database(), 3, clock) for _ in range(2)]

    async def register(number: int, address: str = HERE) -> int:
        try:
            await several[number % 2].take(address)
        except TooManyRequests as refused:
            left = refused.facts["retry_after"]
            assert isinstance(left, int)
            return left
        return 0

    for number in range(3):
        assert 0 == await register(number)
        clock.advance(minutes=1)
    assert [3420, 3420, 0] == [await register(0), await register(1), await register(1, THERE)]
    clock.advance(seconds=3420)
    assert [0, 60, 60] == [await register(number) for number in (0, 1, 0)]
    clock.advance(seconds=60)
    assert [0, 60] == [await register(number) for number in (1, 0)]


@pytest.mark.databases("sqlite", "postgresql")
async def test_registrations_at_once(open_database: OpenDatabase, clock: FakeClock) -> None:
    """Of registrations that arrive together in two processes, only so many pass."""
    several = [Registrations(open_database(), 5, clock) for _ in range(2)]
    taken = await asyncio.gather(*(several[n % 2].take(HERE) for n in range(20)), return_exceptions=True)
    assert 5 == sum(one is None for one in taken)
    assert 15 == sum(isinstance(one, TooManyRequests) for one in taken)


def _stored(tx: Transaction) -> list[tuple[str, datetime]]:
    return sorted((row.key, row.at) for row in tx.execute(select(rate_limits_table)))


def test_a_token_has_a_burst_and_then_a_rate(seconds: Seconds) -> None:
    """A key may take as many at once as its bucket holds, then so many a second. Other keys do not matter."""
    rates = RateLimit(20, 40, seconds)

    def taken(key: str, times: int) -> int:
        """Take so often, and return how often it succeeded."""
        allowed = 0
        for _ in range(times):
            allowed += not rates.take(key)
        return allowed

    assert 40 == taken("ada", 100)
    assert 40 == taken("bob", 41)
    seconds.now += 0.5
    assert 10 == taken("ada", 100)
    seconds.now += 3600
    assert 40 == taken("ada", 100)
    assert 0.05 == pytest.approx(rates.take("ada"))


def test_buckets_that_are_full_again_are_forgotten(seconds: Seconds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full buckets are forgotten. If there are too many, the one unused for longest is forgotten."""
    rates = RateLimit(20, 40, seconds)
    for number in range(1000):
        rates.take(f"{number}")
        seconds.now += 1
    assert 1 == len(rates._full_at)
    monkeypatch.setattr(throttle, "ENTRIES_MAX", 5)
    for number in range(100):
        rates.take(f"{number}")
    assert ["95", "96", "97", "98", "99"] == list(rates._full_at)
