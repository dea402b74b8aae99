"""Remarks: who may add one to a lot, and how many."""

from __future__ import annotations

import pytest
from msgspec import structs

from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.errors import AuctionOver, NotAuthor, TooManyRemarks
from saleroom.bidding.domain.remarks import REMARKS_MAX, Remark, RemarkView, write
from tests.bidding.domain.examples import ADA, BOB, after, an_auction, place

LOT = place(an_auction(ends_at=after(100), soft_close=None), "bob 100")[0]
EARLIER = [Remark(number, f"{number}", after(1)) for number in range(1, REMARKS_MAX)]


def test_a_seller_adds_a_dated_remark() -> None:
    """Also after the first bid; remarks are counted from 1."""
    assert Remark(1, "The key is missing.", after(2)) == write(LOT, ADA, "The key is missing.", [], after(2))
    assert Remark(REMARKS_MAX, "new", after(2)) == write(LOT, ADA, "new", EARLIER, after(2))


def test_a_form_that_is_sent_twice_counts_once() -> None:
    """The text of the last remark again is that remark, also when the lot is over or has all its remarks."""
    full = [*EARLIER, Remark(REMARKS_MAX, "last", after(1))]
    assert full[-1] is write(LOT, ADA, "last", full, after(2))
    assert full[-1] is write(LOT, ADA, "last", full, after(200))
    assert Remark(3, "1", after(2)) == write(LOT, ADA, "1", EARLIER[:2], after(2))


def test_a_remark_that_is_refused() -> None:
    """Only the seller adds remarks, while the lot is not over, and so many."""
    with pytest.raises(NotAuthor):
        write(LOT, BOB, "x", [], after(2))
    with pytest.raises(NotAuthor):
        write(LOT, BOB, "1", EARLIER[:1], after(2))
    for over, now in ((LOT, after(100)), (structs.replace(LOT, status=Status.CLOSED), after(2))):
        with pytest.raises(AuctionOver):
            write(over, ADA, "x", [], now)
    with pytest.raises(TooManyRemarks) as refused:
        write(LOT, ADA, "new", [*EARLIER, Remark(REMARKS_MAX, "last", after(1))], after(2))
    assert {"limit": REMARKS_MAX} == refused.value.facts


def test_a_remark_is_shown_with_its_instant() -> None:
    """The view has the number, the text and the instant of a remark."""
    assert RemarkView(2, "x", "2026-11-21T12:00:01.000000Z") == RemarkView.of(Remark(2, "x", after(1)))
