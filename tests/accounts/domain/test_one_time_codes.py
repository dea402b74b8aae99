"""One-time codes and recovery codes as values."""

from datetime import UTC, datetime, timedelta

import pytest

from saleroom.accounts.domain import one_time_codes as rules

SECRET = b"12345678901234567890"
"""That of RFC 6238, appendix B."""


def at(seconds: float) -> datetime:
    """Return an instant by its seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC)


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (2000000000, "279037"), (20000000000, "353130")],
)
def test_the_codes_of_the_rfc(seconds: int, code: str) -> None:
    """An app's codes are those of RFC 6238, appendix B, to six digits."""
    assert code == rules.current_code(SECRET, at(seconds))
    assert seconds // 30 == rules.matching_step(SECRET, code, at(seconds), 0)


def test_a_code_counts_one_step_early_and_late() -> None:
    """A code counts during its own 30 seconds and those before and after, and no longer."""
    begins = 1_700_000_010
    code = rules.current_code(SECRET, at(begins))
    counts = {
        seconds for seconds in (-31, -30, 0, 29, 59, 60) if rules.matching_step(SECRET, code, at(begins + seconds), 0)
    }
    assert {-30, 0, 29, 59} == counts


def test_a_code_is_used_once() -> None:
    """A code of the step that was used last, or of one before it, is refused; the next one is not."""
    now = at(1_700_000_010)
    step = rules.matching_step(SECRET, rules.current_code(SECRET, now), now, 0)
    assert step is not None
    before = rules.current_code(SECRET, now - timedelta(seconds=30))
    after = rules.current_code(SECRET, now + timedelta(seconds=30))
    found = [rules.matching_step(SECRET, code, now, step) for code in (rules.current_code(SECRET, now), before, after)]
    assert [None, None, step + 1] == found


@pytest.mark.parametrize(("seconds", "counts"), [(0, False), (60, False), (90, True), (3600, True)])
def test_a_clock_that_is_set_back(seconds: int, counts: bool) -> None:  # a column of the table
    """If the clock is set back by more than a minute, codes count at once; until then the next one waits for the last."""
    now = at(1_700_000_010)
    last = rules.matching_step(SECRET, rules.current_code(SECRET, now + timedelta(seconds=30)), now, 0)
    assert last is not None
    now -= timedelta(seconds=seconds)
    assert counts == (rules.matching_step(SECRET, rules.current_code(SECRET, now), now, last) is not None)


def test_other_secrets_have_other_codes() -> None:
    """A code of another secret is wrong."""
    now = at(1_700_000_010)
    assert rules.matching_step(b"another secret of 20", rules.current_code(SECRET, now), now, 0) is None


def test_the_delay_after_wrong_codes() -> None:
    """Five wrong codes cost nothing, then the delay doubles from a second to an hour, and stays there."""
    seconds = [rules.delay(failures).total_seconds() for failures in (0, 4, 5, 6, 10, 16, 17, 1000)]
    assert [0, 0, 1, 2, 32, 2048, 3600, 3600] == seconds


@pytest.mark.parametrize(
    ("typed", "is_app_code"),
    [("287082", True), (" 287 082", True), ("287-082", True), ("28708", False), ("2870821", False), ("٢٨٧٠٨٢", False)],
)
def test_the_form_of_a_code(typed: str, is_app_code: bool) -> None:  # a column of the table
    """A code is six digits, whatever spaces and hyphens people put between them."""
    assert is_app_code == rules.is_app_code(rules.normalised(typed))


def test_recovery_codes_are_read_as_people_write_them() -> None:
    """Case, spaces, hyphens, and digits that look like letters make no difference to a recovery code."""
    code = rules.recovery_code(bytes(range(15)))
    assert "aaaqea-yeauda" == code[:13] and 27 == len(code)
    digest = rules.recovery_digest(rules.normalised(code))
    assert digest is not None and 64 == len(digest)
    for typed in (
        code.upper(),
        code.replace("-", " "),
        code.replace("-", ""),
        code.replace("o", "0").replace("b", "8"),
    ):
        assert digest == rules.recovery_digest(rules.normalised(typed))
    assert rules.recovery_digest(rules.normalised(code[:-1])) is None
    assert rules.recovery_digest(rules.normalised("é" + code[1:])) is None
    assert digest != rules.recovery_digest(rules.normalised("b" + code[1:]))


def test_a_long_text_costs_nothing() -> None:
    """Only the beginning of a code is read, however long it is."""
    assert rules.CODE_MAX == len(rules.normalised("7" * 1_000_000))


def test_what_an_app_reads() -> None:
    """The address for apps has the house, the user and the secret in Base32 (the Key Uri Format of authenticator apps)."""
    address = rules.app_address(SECRET, "ada", "Hall & Sons")
    assert address.startswith("otpauth://totp/Hall%20%26%20Sons:ada?")
    assert f"secret={rules.secret_text(SECRET)}" in address and "issuer=Hall+%26+Sons" in address
    assert "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" == rules.secret_text(SECRET)
