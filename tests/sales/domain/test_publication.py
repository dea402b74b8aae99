"""Publication: what is ready for it, and which end each lot gets."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.bidding.domain.selling import DEFAULT_SOFT_CLOSE
from saleroom.kernel.errors import Contradiction
from saleroom.sales.domain import events
from saleroom.sales.domain.errors import NoLots, PublishedAlready, SaleOver, StandsStill, TooManyLots
from saleroom.sales.domain.lots import Entry, LotTerms, refuse_contradictory_estimate
from saleroom.sales.domain.publication import (
    YEAR_END,
    begin_if_due,
    close_if_over,
    created,
    end_of_another,
    publish,
    refuse_contradictory_lot,
    refuse_contradictory_terms,
    refuse_to_add,
)
from saleroom.sales.domain.sale import LOTS_MAX, SPACING_MAX, Kind, Sale, SaleStatus
from tests.bidding.domain.examples import eur
from tests.bidding.domain.playing import T0
from tests.sales.domain.examples import a_lot, a_sale, at


def after_all(sale: Sale, happened: list[Any]) -> Sale:
    """The sale once all this has happened."""
    for event in happened:
        sale = sale.after(event)
    return sale


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(1, 86_400))
def test_ends_are_apart_by_the_spacing(withdrawn: list[bool], spacing: int) -> None:
    """The lots of a timed sale end one after the other in the order of calling; withdrawn ones leave no gap."""
    sale = a_sale(spacing=spacing)
    lots = [a_lot(rank, withdrawn_for="broken" if gone else None) for rank, gone in enumerate(withdrawn, 1)]
    if all(withdrawn):
        with pytest.raises(NoLots):
            publish(sale, lots, T0)
        return
    _, plan = publish(sale, lots[::-1], T0)
    assert [lot for lot in lots if not lot.is_withdrawn] == [lot for lot, _ in plan]
    assert [at(60) + timedelta(seconds=spacing * place) for place in range(len(plan))] == [end for _, end in plan]


def test_the_lots_of_a_live_sale_have_no_end() -> None:
    """The hammer closes them, so they have no soft close either."""
    sale = a_sale(kind=Kind.LIVE)
    happened, plan = publish(sale, [a_lot(1)], T0)
    assert [None] == [end for _, end in plan]
    assert [events.SalePublished] == [type(event) for event in happened], "the auctioneer begins it"
    auction = created(sale, *plan[0], T0, "seed")
    assert (None, None) == (auction.ends_at, auction.soft_close)


def test_a_lot_brings_its_terms_and_the_sale_the_others() -> None:
    """The auction of a lot has the price of the lot, and the soft close, the ladder and the opening of the sale."""
    sale = a_sale(opens_at=at(10))
    auction = created(sale, a_lot(1), at(60), T0, "seed")
    assert ("lot-1", "A clock", eur("100")) == (auction.gid, auction.name, auction.starting_price)
    assert (at(10), at(60), "scheduled") == (auction.starts_at, auction.ends_at, auction.status)
    assert (DEFAULT_SOFT_CLOSE, sale.terms.ladder.tiers) == (auction.soft_close, auction.increment)
    assert ("eve", 9) == (auction.author, auction.author_id)


def test_a_timed_sale_runs_once_bidding_opens() -> None:
    """It runs from its publication on, or from when its lots open."""
    at_once = after_all(a_sale(), publish(a_sale(), [a_lot(1)], T0)[0])
    assert (SaleStatus.RUNNING, 2) == (at_once.status, at_once.version)
    later = a_sale(opens_at=at(10))
    later = after_all(later, publish(later, [a_lot(1)], T0)[0])
    assert (SaleStatus.PUBLISHED, 1) == (later.status, later.version)
    assert [] == begin_if_due(later, at(9.9))
    assert [events.SaleRunning(at=at(10))] == begin_if_due(later, at(10))


def test_a_sale_closes_once_its_lots_are_over() -> None:
    """A running sale closes when no lot runs any more; a paused one waits."""
    running = structs.replace(a_sale(), status=SaleStatus.RUNNING, version=2)
    assert [] == close_if_over(running, at(99), lots_running=True)
    assert [events.SaleClosed(at=at(99))] == close_if_over(running, at(99), lots_running=False)
    paused = structs.replace(running, status=SaleStatus.PAUSED)
    assert [] == close_if_over(paused, at(99), lots_running=False)


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"starts_at": None}, "starts_at"),
        ({"starts_at": T0}, "starts_at"),
        ({"opens_at": at(60)}, "opens_at"),
        ({"following": True, "soft_close": None}, "following"),
        ({"following": True, "kind": Kind.LIVE}, "following"),
    ],
)
def test_an_unready_sale_is_not_published(terms: dict[str, Any], field: str) -> None:
    """What is missing or contradicts itself is named by its field."""
    with pytest.raises(Contradiction) as refused:
        publish(a_sale(**terms), [a_lot(1)], T0)
    assert [field] == list(refused.value.faults)


def test_a_sale_is_published_once() -> None:
    """A sale that is published or over is not published again, and one without lots not at all."""
    for status, refusal in ((SaleStatus.PUBLISHED, PublishedAlready), (SaleStatus.CANCELLED, SaleOver)):
        with pytest.raises(refusal):
            publish(structs.replace(a_sale(), status=status), [a_lot(1)], T0)
    with pytest.raises(NoLots):
        publish(a_sale(), [], T0)


def test_all_contradictions_come_at_once() -> None:
    """Terms that contradict each other are all named."""
    with pytest.raises(Contradiction) as refused:
        refuse_contradictory_terms(a_sale(opens_at=at(60), following=True, soft_close=None).terms)
    assert {"opens_at", "following"} == refused.value.faults.keys()


def test_a_lot_that_could_be_no_auction_is_refused_in_the_draft() -> None:
    """A reserve below the starting price is refused before the night of publication."""
    with pytest.raises(Contradiction):
        refuse_contradictory_lot(
            a_sale(), LotTerms(name="A clock", starting_price=eur("100"), reserve_price=eur("50")), T0
        )


@pytest.mark.parametrize(("low", "high", "field"), [("20", "10", "estimate_to"), (None, "10", "estimate_from")])
def test_an_estimate_is_a_range(low: str | None, high: str, field: str) -> None:
    """An estimate goes from an amount to one that is not lower; it may be one amount alone."""
    entry = Entry(label="1", estimate_from=None if low is None else eur(low), estimate_to=eur(high))
    with pytest.raises(Contradiction) as refused:
        refuse_contradictory_estimate(entry)
    assert [field] == list(refused.value.faults)
    refuse_contradictory_estimate(Entry(label="1", estimate_from=eur("10")))
    refuse_contradictory_estimate(Entry(label="1", estimate_from=eur("10"), estimate_to=eur("10")))


def test_lots_are_added_while_there_is_room_and_the_sale_goes_on() -> None:
    """A sale that stands still, is over or is full takes no further lot."""
    running = structs.replace(a_sale(), status=SaleStatus.RUNNING)
    refuse_to_add(running, LOTS_MAX)
    with pytest.raises(TooManyLots):
        refuse_to_add(running, LOTS_MAX + 1)
    for status, refusal in ((SaleStatus.PAUSED, StandsStill), (SaleStatus.CLOSED, SaleOver)):
        with pytest.raises(refusal):
            refuse_to_add(structs.replace(running, status=status), 1)


def test_a_lot_that_comes_late_ends_after_the_others() -> None:
    """It ends a spacing after the last one, wherever that has got to; the first one at the start; none in a live sale."""
    assert at(71) == end_of_another(a_sale(), [at(60), at(70), None])
    assert at(60) == end_of_another(a_sale(), [])
    assert None is end_of_another(a_sale(kind=Kind.LIVE), [None])


def test_the_ends_of_a_full_sale_are_dates() -> None:
    """A sale of the last year has an end for as many lots as a sale can have; a later year is refused with its remedy."""
    last = datetime(YEAR_END - 1, 12, 31, 23, 59, 59, 999_999, UTC)
    sale = a_sale(starts_at=last, spacing=SPACING_MAX)
    _, plan = publish(sale, [a_lot(rank) for rank in range(1, LOTS_MAX + 1)], T0)
    assert last + timedelta(seconds=SPACING_MAX * (LOTS_MAX - 1)) == plan[-1][1]
    later = structs.replace(sale, terms=structs.replace(sale.terms, starts_at=last + timedelta(microseconds=1)))
    with pytest.raises(Contradiction, match="before the year 9900"):
        publish(later, [a_lot(1)], T0)
