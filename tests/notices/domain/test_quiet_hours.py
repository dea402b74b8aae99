"""Quiet hours: across midnight, and where the clocks change."""

from datetime import UTC, datetime, time, timedelta

import pytest

from saleroom.notices.domain.choices import QuietHours

NIGHT = QuietHours(time(22), time(7), "Europe/Berlin")
NOON = QuietHours(time(12), time(14), "Europe/Berlin")


@pytest.mark.parametrize(
    ("hours", "now", "left"),
    [
        (NIGHT, datetime(2026, 6, 1, 19, 59, tzinfo=UTC), timedelta()),
        (NIGHT, datetime(2026, 6, 1, 20, 0, tzinfo=UTC), timedelta(hours=9)),
        (NIGHT, datetime(2026, 6, 1, 22, 30, tzinfo=UTC), timedelta(hours=6, minutes=30)),
        (NIGHT, datetime(2026, 6, 2, 5, 0, tzinfo=UTC), timedelta()),
        (NOON, datetime(2026, 6, 1, 9, 59, tzinfo=UTC), timedelta()),
        (NOON, datetime(2026, 6, 1, 11, 0, tzinfo=UTC), timedelta(hours=1)),
        (NOON, datetime(2026, 6, 1, 12, 0, tzinfo=UTC), timedelta()),
    ],
)
def test_it_is_quiet_until_the_hours_end(hours: QuietHours, now: datetime, left: timedelta) -> None:
    """The hours begin and end by the clock of their zone, also on the next day."""
    assert left == hours.left(now)


@pytest.mark.parametrize(
    ("now", "left"),
    [
        (datetime(2026, 3, 28, 21, 30, tzinfo=UTC), timedelta(hours=7, minutes=30)),  # 2 o'clock becomes 3
        (datetime(2026, 10, 24, 20, 30, tzinfo=UTC), timedelta(hours=9, minutes=30)),  # 3 o'clock becomes 2
    ],
)
def test_the_night_in_which_the_clocks_change_is_shorter_or_longer(now: datetime, left: timedelta) -> None:
    """Words go out at the end of the hours by the new clock."""
    assert left == NIGHT.left(now)


@pytest.mark.parametrize(
    ("now", "left"),
    [
        (datetime(2026, 10, 25, 0, 15, tzinfo=UTC), timedelta(minutes=15)),  # 2:15 by summer time
        (datetime(2026, 10, 25, 0, 45, tzinfo=UTC), timedelta()),
        (datetime(2026, 10, 25, 1, 15, tzinfo=UTC), timedelta(minutes=15)),  # 2:15 once more
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC), timedelta()),
    ],
)
def test_hours_that_end_in_an_hour_which_comes_twice(now: datetime, left: timedelta) -> None:
    """A word is put off to an end that is still to come: by one that is over it would be put off again at once, each time."""
    assert left == QuietHours(time(22), time(2, 30), "Europe/Berlin").left(now)


def test_hours_that_begin_when_they_end_are_never() -> None:
    """The same time twice is no time."""
    same = QuietHours(time(7), time(7), "UTC")
    assert timedelta() == same.left(datetime(2026, 6, 1, 7, 0, tzinfo=UTC))
