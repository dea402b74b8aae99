"""When a failed word is tried again."""

from datetime import timedelta

import pytest

from saleroom.outbox.message import TRIES_MAX, pause


@pytest.mark.parametrize(
    ("tries", "least", "most"), [(1, 45, 60), (2, 90, 120), (3, 180, 240), (8, 2700, 3600), (1000, 2700, 3600)]
)
def test_pauses_grow_up_to_an_hour(tries: int, least: float, most: float) -> None:
    """Each pause is twice as long as the one before, an hour at most, and chance takes up to a quarter of it away."""
    assert (least, most) == (pause(tries, 0).total_seconds(), pause(tries, 1).total_seconds())


def test_a_word_is_tried_for_some_hours() -> None:
    """A mail server that is back within a few hours gets every word."""
    assert timedelta(hours=5) < sum((pause(tries, 0) for tries in range(1, TRIES_MAX)), timedelta())
