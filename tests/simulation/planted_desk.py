"""Faults in fund-a-needs, the book and the entry of results, as people make them; `planted_sales.py` has those of the block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from msgspec import structs

from saleroom.bidding.domain import calling
from saleroom.kernel.errors import Refusal
from saleroom.kernel.money import STEP
from saleroom.sales.domain import block
from saleroom.sales.domain import book as rules_of_book
from saleroom.sales.domain import needs as rules_of_needs
from saleroom.sales.domain import results as rules_of_results
from saleroom.sales.domain.results import Below
from saleroom.sales.service import needs as needs_of_sales
from saleroom.sales.service import results as results_of_sales
from saleroom.sales.storage import pledges
from tests.simulation.planted import plant

needs: Any = needs_of_sales
results: Any = results_of_sales


@plant(5)
@contextmanager
def any_level() -> Iterator[None]:
    """A pledge at another level is taken."""
    refuse = rules_of_needs.refuse_pledge

    def anything(need: Any, amount: Any, own: Any, *, again: bool) -> None:
        refuse(structs.replace(need, level=amount), amount, own, again=again)

    with patch.object(rules_of_needs, "refuse_pledge", anything):
        yield


@plant(2)
def undone_pledge_counts() -> Any:
    """An undone pledge goes on counting."""
    return patch.object(pledges, "save_undone", lambda tx, lot_id, pledge: None)


@plant(32)
def pledge_beyond_the_limit() -> Any:
    """A pledge ignores the limit."""
    return patch.object(needs, "refuse_pledge_beyond", lambda limit, exposure, amount: None)


@plant(5)
def pledged_twice() -> Any:
    """A repeated pledge counts twice."""
    return patch.object(needs, "once", lambda tx, giver, key, do: do())


@plant(11)
@contextmanager
def level_lost_by_a_skip() -> Iterator[None]:
    """A fund-a-need that is skipped begins again at its highest level."""
    skip = rules_of_needs.skip
    with patch.object(rules_of_needs, "skip", lambda need: structs.replace(skip(need), level=None)):
        yield


@plant(11)
def line_on_the_block() -> Any:
    """The book takes lines while the lot is on the block."""
    return patch.object(rules_of_book, "refuse_on_block", lambda auction, now: None)


@plant(2)
def lower_line_is_lost() -> Any:
    """A lower line of the book takes nothing back."""
    return patch.object(rules_of_book, "takes_back", lambda before, maximum: maximum is None)


@plant(2)
@contextmanager
def own_raise_is_taken_back() -> Iterator[None]:
    """Taking a line back takes away what its bidder has bid online."""
    take_back = rules_of_book.take_back

    def all_of_it(auction: Any, log: Any, before: Any, reason: Any, now: Any) -> Any:
        return take_back(auction, log, structs.replace(before, most=before.maximum), reason, now)

    with patch.object(rules_of_book, "take_back", all_of_it):
        yield


@plant(5)
def result_beside_the_block() -> Any:
    """A result is entered while a clerk sells a lot."""
    return patch.object(results, "_refuse_unless_free", lambda tx, sale: block.refuse_unless_live(sale))


@plant(11)
def replaced_unasked() -> Any:
    """A result replaces another one, and nobody is asked."""
    return patch.object(rules_of_results, "refuse_if_decided", lambda lot, auction, seen: None)


@plant(11)
def line_beyond_the_limit() -> Any:
    """A result ignores the limit."""
    return patch.object(results._Admission, "take", lambda self, auction, price, after: None)


@plant(26)
@contextmanager
def half_a_line() -> Iterator[None]:
    """A line of results that is refused halfway keeps its first lots."""
    decided = results._decided

    def one_by_one(tx: Any, staff: Any, sale: Any, found: Any, line: Any) -> Any:
        before: Any = {}
        for lot in found:
            try:
                sale, before = decided(tx, staff, sale, [lot], line)
            except Refusal:
                if lot is found[0]:
                    raise
        return sale, before

    with patch.object(results, "_decided", one_by_one):
        yield


@plant(17)
@contextmanager
def won_at_the_maximum() -> Iterator[None]:
    """The hall wins at the maximum of an absentee bid: `<` instead of `<=`."""
    bid: Any = rules_of_results._bid

    def later(lot: Any, called: Any, log: Any, result: Any, now: Any) -> Any:
        equal = called.maximum is not None and called.maximum == result.price
        return bid(lot, structs.replace(called, maximum=result.price - STEP) if equal else called, log, result, now)

    with patch.object(rules_of_results, "_bid", later):
        yield


@plant(2)
@contextmanager
def nobody_asked_below_the_reserve() -> Iterator[None]:
    """A result below the reserve is taken, and nobody is asked."""
    decide = rules_of_results.decide

    def unasked(lot: Any, auction: Any, log: Any, result: Any, now: Any) -> Any:
        return decide(lot, auction, log, structs.replace(result, below=result.below or Below.CONDITIONAL), now)

    with patch.object(rules_of_results, "decide", unasked):
        yield


@plant(2)
@contextmanager
def left_on_the_block() -> Iterator[None]:
    """A result that is taken back leaves its lot on the block."""
    with patch.object(rules_of_results, "take_back", calling.undo):
        yield
