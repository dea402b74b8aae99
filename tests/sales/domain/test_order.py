"""The order of calling: which ends move when lots change places."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.kernel.errors import Invalid
from saleroom.sales.domain.errors import BegunAlready, BidOnLots, SaleOver
from saleroom.sales.domain.order import Place, deal_ends, moved, refuse_bad_order, refuse_to_renumber, renumbered
from saleroom.sales.domain.sale import SaleStatus
from tests.sales.domain.examples import a_sale, at

THREE = [Place("1", at(60)), Place("2", at(61)), Place("3", at(62))]


def test_lots_that_change_places_change_ends() -> None:
    """The first lot in turn ends first, whichever it is; one that keeps its place keeps its end."""
    assert {"3": at(60), "1": at(62)} == deal_ends(THREE, ["3", "2", "1"])


def test_an_end_that_somebody_relies_on_does_not_move() -> None:
    """An order that would move the end of a lot with a bid is refused, and names that lot."""
    places = [THREE[0], Place("2", at(61), has_bids=True), THREE[2]]
    assert {"3": at(60), "1": at(62)} == deal_ends(places, ["3", "2", "1"])
    with pytest.raises(BidOnLots) as refused:
        deal_ends(places, ["2", "1", "3"])
    assert {"lots": "2"} == refused.value.facts


def test_lots_that_are_not_in_turn_have_no_end_to_deal_out() -> None:
    """A lot that is withdrawn or over goes anywhere, and the ends of the others stay."""
    places = [THREE[0], Place("2", at(61), in_turn=False), THREE[2]]
    assert {} == deal_ends(places, ["2", "1", "3"])


PLACES = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), max_size=8)


@given(PLACES, st.randoms(use_true_random=False))
def test_an_order_deals_out_the_ends_that_there_are(drawn: list[tuple[bool, bool, int]], chance: Any) -> None:
    """After any order the lots in turn have the same ends as before, in the same places, and no bidder's end moved."""
    places = [
        Place(str(number), at(60 + number + later), has_bids=bids, in_turn=turn)
        for number, (bids, turn, later) in enumerate(drawn, 1)
    ]
    labels = [place.label for place in places]
    chance.shuffle(labels)
    by_label = {place.label: place for place in places}
    try:
        changes = deal_ends(places, labels)
    except BidOnLots:
        assert any(place.has_bids for place in places)
        return
    after = [changes.get(label, by_label[label].ends_at) for label in labels if by_label[label].in_turn]
    assert [place.ends_at for place in places if place.in_turn] == after
    assert not any(by_label[label].has_bids or not by_label[label].in_turn for label in changes)


def test_an_order_names_each_lot_once() -> None:
    """All that is wrong with an order is said at once."""
    with pytest.raises(Invalid) as refused:
        refuse_bad_order(["1", "2", "3"], ["1", "1", "4"])
    assert ["repeated_lots", "unknown_lots", "missing_lots"] == [fault.code for fault in refused.value.faults["labels"]]
    refuse_bad_order(["1", "2"], ["2", "1"])


def test_a_lot_is_moved_before_another() -> None:
    """A lot goes before another one, or to the end; before itself it stays where it is."""
    assert ["3", "1", "2"] == moved(["1", "2", "3"], "3", "1")
    assert ["2", "3", "1"] == moved(["1", "2", "3"], "1", None)
    assert ["1", "2", "3"] == moved(["1", "2", "3"], "2", "2")


def test_numbers_follow_the_order() -> None:
    """Renumbering counts from a number on."""
    assert ["1", "2", "3"] == renumbered(3)
    assert ["101", "102"] == renumbered(2, 101)


@pytest.mark.parametrize(
    ("status", "refusal"),
    [(SaleStatus.RUNNING, BegunAlready), (SaleStatus.PAUSED, BegunAlready), (SaleStatus.CLOSED, SaleOver)],
)
def test_numbers_stay_once_people_bid_by_them(status: SaleStatus, refusal: type[Exception]) -> None:
    """A sale that has begun keeps its numbers."""
    refuse_to_renumber(structs.replace(a_sale(), status=SaleStatus.PUBLISHED))
    with pytest.raises(refusal):
        refuse_to_renumber(structs.replace(a_sale(), status=status))
