"""The clocks of a sale: when it can pause and go on, and which ends follow others (docs/rules.md, "Sales")."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.sales.domain import events
from saleroom.sales.domain.clocks import earliest_ends, pause, resume
from saleroom.sales.domain.errors import SaleNotPaused, SaleNotRunning, SaleOver
from saleroom.sales.domain.sale import Sale, SaleStatus
from tests.bidding.domain.examples import an_auction
from tests.bidding.domain.playing import T0
from tests.sales.domain.examples import a_sale, at

SPACING = timedelta(seconds=60)


def in_state(status: SaleStatus) -> Sale:
    """A sale in this state."""
    return structs.replace(a_sale(), status=status)


def a_row(ends: list[tuple[datetime | None, Status]]) -> list[Auction]:
    """Lots in the order of calling, with these ends and states."""
    return [
        structs.replace(an_auction(), id=number, ends_at=end, status=status)
        for number, (end, status) in enumerate(ends, 1)
    ]


def test_only_a_running_sale_pauses_and_only_a_paused_one_goes_on() -> None:
    """In each other state it is refused, and the refusal names the state."""
    running, paused = in_state(SaleStatus.RUNNING), in_state(SaleStatus.PAUSED)
    assert [events.SalePaused(at=T0)] == pause(running, T0)
    assert SaleStatus.PAUSED is running.after(events.SalePaused(at=T0)).status
    assert [events.SaleResumed(at=T0)] == resume(paused, T0)
    assert SaleStatus.RUNNING is paused.after(events.SaleResumed(at=T0)).status
    for status in SaleStatus:
        over = status in (SaleStatus.CLOSED, SaleStatus.CANCELLED)
        if status is not SaleStatus.RUNNING:
            with pytest.raises(SaleOver if over else SaleNotRunning) as refused:
                pause(in_state(status), T0)
            assert {"status": status.value} == refused.value.facts
        if status is not SaleStatus.PAUSED:
            with pytest.raises(SaleOver if over else SaleNotPaused):
                resume(in_state(status), T0)


def test_the_lots_after_a_late_one_follow_it_one_by_one() -> None:
    """Each keeps its distance from the one before, until there is room again; one that was cancelled takes no room."""
    open_, cancelled = Status.OPEN, Status.CANCELLED
    lots = a_row([(at(2.5), open_), (at(2), open_), (at(3), cancelled), (at(4), open_), (at(9), open_)])
    moved = {auction.id: end for auction, end in earliest_ends(lots, 60)}
    assert {2: at(3.5), 4: at(4.5)} == moved


def test_a_lot_that_is_over_stays_and_one_without_an_end_too() -> None:
    """What has ended is final; the lots after it keep their distance from where it ended."""
    lots = a_row([(at(5), Status.CLOSED), (at(4), Status.CLOSED), (None, Status.OPEN), (at(4.5), Status.OPEN)])
    assert [(4, at(5))] == [(auction.id, end) for auction, end in earliest_ends(lots, 60)]


@given(st.lists(st.tuples(st.integers(0, 900), st.sampled_from([*Status])), max_size=12), st.integers(1, 300))
def test_no_two_lots_that_run_end_closer_than_the_spacing(ends: list[tuple[int, Status]], spacing: int) -> None:
    """After the move each lot that runs ends `spacing` or more after the one before it; none ends earlier than it did.

    Once moved, nothing is left to move: asking again changes nothing.
    """
    lots = a_row([(T0 + timedelta(seconds=seconds), status) for seconds, status in ends])
    moved = {auction.id: end for auction, end in earliest_ends(lots, spacing)}
    after = [structs.replace(lot, ends_at=moved.get(lot.id, lot.ends_at)) for lot in lots]
    in_turn = [lot for lot in after if lot.status is not Status.CANCELLED]
    for one, other in pairwise(in_turn):
        assert one.ends_at is not None and other.ends_at is not None
        assert other.over or other.ends_at >= one.ends_at + timedelta(seconds=spacing)
    for was, now in zip(lots, after, strict=True):
        assert was.ends_at is not None and now.ends_at is not None
        assert was.ends_at <= now.ends_at
        assert was.ends_at == now.ends_at or not was.over
    assert [] == list(earliest_ends(after, spacing))
