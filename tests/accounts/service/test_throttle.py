"""Rate limits, with a clock that the test turns."""

import math
from contextlib import suppress

import pytest

from saleroom.accounts.domain.errors import InvalidAuthentication
from saleroom.accounts.service import throttle
from saleroom.accounts.service.throttle import (
    FREE_FAILURES,
    KEY_CHARACTERS_MAX,
    FailedLogins,
    RateLimit,
    Registrations,
)
from saleroom.kernel.errors import Busy, TooManyRequests


class Seconds:
    """A clock of seconds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Seconds:
    """The throttle's clock."""
    return Seconds()


@pytest.fixture
def logins(clock: Seconds) -> FailedLogins:
    """Delays without any failure so far."""
    return FailedLogins(600, clock)


def wait(logins: FailedLogins, username: str = "ada", address: str = "here") -> int:
    """Return the seconds that a login has to wait now; 0 if it does not."""
    try:
        logins.check(username, address)
    except TooManyRequests as refused:
        seconds = refused.facts["retry_after"]
        assert isinstance(seconds, int)
        return seconds
    return 0


def test_the_delay_grows_to_a_minute(logins: FailedLogins) -> None:
    """The first five tries are free; then one waits 1 second, 2, 4 ... and never more than 60."""
    waits = []
    for _ in range(FREE_FAILURES + 20):
        waits.append(wait(logins))
        logins.failed("ada", "here")
    assert [0] * FREE_FAILURES + [1, 2, 4, 8, 16, 32] + [60] * 14 == waits


def test_the_delay_passes(logins: FailedLogins, clock: Seconds) -> None:
    """After the delay a try is allowed again. The refusal has the rest of the delay in whole seconds, rounded up."""
    for _ in range(FREE_FAILURES + 2):
        logins.failed("ada", "here")
    assert 4 == wait(logins)
    clock.now += 0.5
    assert 4 == wait(logins)
    clock.now += 3.25
    assert 1 == wait(logins)
    clock.now += 0.25
    assert 0 == wait(logins)


def test_a_rival_delays_nobody(logins: FailedLogins) -> None:
    """Failures count for a name at an address. The same name elsewhere and another name here do not wait."""
    for _ in range(50):
        logins.failed("ada", "there")
    assert (60, 0, 0) == (wait(logins, "ada", "there"), wait(logins, "ada", "here"), wait(logins, "bob", "there"))


def test_a_success_forgets(logins: FailedLogins) -> None:
    """Only failures in a row count."""
    for _ in range(FREE_FAILURES):
        logins.failed("ada", "here")
    logins.succeeded("ada", "here")
    for _ in range(FREE_FAILURES - 1):
        logins.failed("ada", "here")
    assert 0 == wait(logins)


def test_an_hour_forgets(logins: FailedLogins, clock: Seconds) -> None:
    """An hour after the last failure, the next one counts as the first."""
    for _ in range(FREE_FAILURES + 9):
        logins.failed("ada", "here")
    clock.now += 3600.5
    logins.failed("ada", "here")
    assert 0 == wait(logins)


def test_the_memory_is_bounded(logins: FailedLogins, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a limit the oldest failures are forgotten first, so invented names cannot fill the memory."""
    monkeypatch.setattr("saleroom.accounts.service.throttle.ENTRIES_MAX", 3)
    for name in ("ada", "bob", "cy", "ada", "dee"):
        for _ in range(FREE_FAILURES):
            logins.failed(name, "here")
    assert ["ada", "cy", "dee"] == [name for name in ("ada", "bob", "cy", "dee") if wait(logins, name)]


def test_a_network_has_only_so_many_failures(clock: Seconds) -> None:
    """All failures of a network count together. Names known there and other networks are free."""
    logins = FailedLogins(60, clock)
    logins.succeeded("ada", "2001:db8::1")
    for number in range(60):
        assert 0 == wait(logins, f"name{number}", f"2001:db8::{number:x}")
        logins.failed(f"name{number}", f"2001:db8::{number:x}")
    assert 60 == wait(logins, "bob", "2001:db8::ffff")
    assert (0, 0) == (wait(logins, "ada", "2001:db8::2"), wait(logins, "bob", "2001:db8:0:1::1"))
    clock.now += 60.5
    assert 0 == wait(logins, "bob", "2001:db8::1")
    logins.failed("bob", "2001:db8::1")
    assert 60 == wait(logins, "cy", "2001:db8::1")


def test_only_failures_count_for_a_network(clock: Seconds) -> None:
    """Neither successful logins nor those refused as busy count for the limit of a network."""
    logins = FailedLogins(10, clock)
    for number in range(1000):
        with logins.attempt(f"name{number}", "hall"):
            pass
        with suppress(Busy), logins.attempt(f"name{number}", "hall"):
            raise Busy
    assert 0 == wait(logins, "another", "hall")


def test_one_try_at_a_time_after_the_free_ones(clock: Seconds) -> None:
    """Once there is a delay, only one try runs at a time, because its failure may delay the next."""
    logins = FailedLogins(600, clock)
    for _ in range(FREE_FAILURES):
        logins.failed("ada", "there")
    clock.now += 1.5
    with suppress(InvalidAuthentication), logins.attempt("ada", "there"):
        assert 1 == wait(logins, "ada", "there")
        assert 0 == wait(logins, "ada", "here")
        raise InvalidAuthentication
    assert 2 == wait(logins, "ada", "there")
    assert not logins._under_way


def test_names_fill_no_memory(logins: FailedLogins) -> None:
    """Only the beginning of a name that is too long is stored."""
    logins.failed("x" * 60_000, "here")
    assert KEY_CHARACTERS_MAX == max(len(name) for name, _ in logins._failures)


def test_registrations_per_address() -> None:
    """Each address may register so many accounts an hour. The refusal has a wait of at most an hour."""
    registrations = Registrations(3)
    for address in ("here", "there"):
        for _ in range(3):
            registrations.take(address)
        with pytest.raises(TooManyRequests) as caught:
            registrations.take(address)
        seconds = caught.value.facts["retry_after"]
        assert isinstance(seconds, int)
        assert 0 < seconds <= math.ceil(3600)


def test_a_token_has_a_burst_and_then_a_rate(clock: Seconds) -> None:
    """A key may take as many at once as its bucket holds, then so many a second. Other keys do not matter."""
    rates = RateLimit(20, 40, clock)

    def taken(key: str, times: int) -> int:
        """Take so often, and return how often it succeeded."""
        allowed = 0
        for _ in range(times):
            allowed += not rates.take(key)
        return allowed

    assert 40 == taken("ada", 100)
    assert 40 == taken("bob", 41)
    clock.now += 0.5
    assert 10 == taken("ada", 100)
    clock.now += 3600
    assert 40 == taken("ada", 100)
    assert 0.05 == pytest.approx(rates.take("ada"))


def test_buckets_that_are_full_again_are_forgotten(clock: Seconds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full buckets are forgotten. If there are too many, the one unused for longest is forgotten."""
    rates = RateLimit(20, 40, clock)
    for number in range(1000):
        rates.take(f"{number}")
        clock.now += 1
    assert 1 == len(rates._full_at)
    monkeypatch.setattr(throttle, "ENTRIES_MAX", 5)
    for number in range(100):
        rates.take(f"{number}")
    assert ["95", "96", "97", "98", "99"] == list(rates._full_at)
