"""Even with a clock that is set back, the events of an auction are in order of time."""

from itertools import cycle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.bidding.domain.errors import AuctionOver
from saleroom.bidding.domain.events import BidPlaced
from saleroom.bidding.domain.retrace import retrace
from tests.bidding.domain.examples import refusal
from tests.bidding.domain.oracle import (
    SECOND,
    Amend,
    Announce,
    Bid,
    Buy,
    Cancel,
    CloseNow,
    Oracle,
    Outage,
    SoftCloseRule,
    Terms,
)
from tests.bidding.domain.playing import Game, at, decide
from tests.histories import History, histories


@given(histories(), st.lists(st.sampled_from((0, 0, SECOND, 90 * SECOND)), min_size=1, max_size=5))
def test_events_stay_in_order_when_the_clock_goes_back(history: History, back: list[int]) -> None:
    """However far the clock is set back between two steps, the instants of the log never go back, and it retraces."""
    game, oracle = Game(history.lot), Oracle(history.lot)
    for (now, act), step in zip(history.acts(oracle), cycle(back)):
        oracle.do(act, now)
        game.do(act, max(0, now - step))
    assert sorted(event.at for event in game.log) == [event.at for event in game.log]
    assert game.auction.changed_at == game.log[-1].at
    retrace(game.log)


@pytest.mark.parametrize(
    ("lot", "act"),
    [
        (Terms(1_000), Bid(2, None, 9_000)),
        (Terms(1_000, buy_now=9_000), Buy(2)),
        (Terms(1_000), Amend(0, (("reserve", 5_000),))),
        (Terms(1_000), Cancel(0)),
        (Terms(1_000), Announce(0, 900 * SECOND)),
        (Terms(1_000), CloseNow(0)),
        (Terms(1_000, ends=110 * SECOND, soft_close=SoftCloseRule(60, 300)), Outage(10 * SECOND)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_decision_is_never_dated_before_the_last_event(lot: Terms, act: Any) -> None:
    """If the clock was set back by 40 s, a decision has the instant of the event before it."""
    game = Game(lot)
    game.do(Amend(0, (("starting", 2_000),)), 100 * SECOND)
    events = decide(game.auction, act, at(60 * SECOND))
    assert {at(100 * SECOND)} == {event.at for event in events}


def test_no_bid_enters_by_a_clock_that_was_set_back() -> None:
    """Bids placed after the clock was set back have the instant of the last event, and from the end on bids are refused."""
    game = Game(Terms(1_000, ends=100 * SECOND, soft_close=None))
    game.do(Bid(2, None, 9_000), 100 * SECOND - 1)
    game.do(Bid(3, None, 20_000), 50 * SECOND)
    placed = [event.at for event in game.log if isinstance(event, BidPlaced)]
    assert at(100 * SECOND - 1) == max(placed) == min(placed)
    assert isinstance(refusal(decide, game.auction, Bid(4, None, 90_000), at(100 * SECOND)), AuctionOver)
