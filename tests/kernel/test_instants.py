"""Instants as text: the same form at every instant."""

from datetime import UTC, datetime

import pytest

from saleroom.kernel.instants import instant

CASES = {
    "2026-11-23T12:30:45.123456Z": datetime(2026, 11, 23, 12, 30, 45, 123456, UTC),
    "2026-11-23T12:30:45.000001Z": datetime(2026, 11, 23, 12, 30, 45, 1, UTC),
    "2026-11-23T12:30:45.120000Z": datetime(2026, 11, 23, 12, 30, 45, 120000, UTC),
    "2026-11-23T00:00:00.000000Z": datetime(2026, 11, 23, tzinfo=UTC),
    "0001-01-01T00:00:00.000000Z": datetime.min.replace(tzinfo=UTC),
    "9999-12-31T23:59:59.999999Z": datetime.max.replace(tzinfo=UTC),
}


@pytest.mark.parametrize("text", CASES)
def test_an_instant_always_has_six_decimals(text: str) -> None:
    """RFC 3339 in UTC with microseconds, also for a whole second."""
    assert text == instant(CASES[text])
    assert CASES[text] == datetime.fromisoformat(text)
