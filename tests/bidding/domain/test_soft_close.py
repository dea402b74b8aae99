"""The soft close: by how much a late bid moves the end."""

from typing import NamedTuple

import pytest

from saleroom.bidding.domain.events import AuctionExtended, Reason, SoftClose
from tests.bidding.domain.examples import after, an_auction, place, window


class Late(NamedTuple):
    """A bid, in seconds before the end that was announced for 3,600, and the seconds by which it moves the end."""

    rule: SoftClose | None
    before_end: float
    moves: float


EXTENDED = {
    "outside the window": Late(rule=window(120), before_end=120.000001, moves=0),
    "on its edge": Late(rule=window(180), before_end=120, moves=180 - 120),
    "on its edge, without gain": Late(rule=window(120), before_end=120, moves=0),
    "within it": Late(rule=window(120), before_end=60, moves=120 - 60),
    "in the last microsecond": Late(rule=window(120), before_end=0.000001, moves=120 - 0.000001),
    "a short extension never moves it back": Late(rule=window(10), before_end=60, moves=0),
    "a short extension moves it on near the end": Late(rule=window(10), before_end=5, moves=10 - 5),
    "up to the cap": Late(rule=window(120, cap=3630), before_end=60, moves=30),
    "the cap is the end": Late(rule=window(120, cap=3600), before_end=60, moves=0),
    "below the cap": Late(rule=window(120, cap=7200), before_end=60, moves=120 - 60),
    "turned off": Late(rule=None, before_end=1, moves=0),
}


@pytest.mark.parametrize("example", EXTENDED)
def test_soft_close(example: str) -> None:
    """Rule 6: a bid in the window moves the end to now + extension, never past the cap and never earlier."""
    case = EXTENDED[example]
    now, end = after(3600 - case.before_end), after(3600 + case.moves)
    placed, log = place(an_auction(ends_at=after(3600), soft_close=case.rule), "bob 100", now=now)
    assert log[1:] == ([AuctionExtended(at=now, ends_at=end, reason=Reason.SOFT_CLOSE)] if case.moves else [])
    assert end == placed.ends_at


def test_every_change_of_price_extends() -> None:
    """Rule 6: a bid that does not take the lead changes the price, so it extends like any other; a raise does not."""
    auction, _ = place(an_auction(ends_at=after(3600)), "bob up to 150")
    held_off, _ = place(auction, "cyd 120", now=after(3590))
    raised, _ = place(auction, "bob up to 200", now=after(3590))
    assert (after(3710), after(3600)) == (held_off.ends_at, raised.ends_at)


def test_no_end_no_extension() -> None:
    """An auction without an end is never extended."""
    auction, log = place(an_auction(), "bob 100")
    assert (None, 1) == (auction.ends_at, len(log))
