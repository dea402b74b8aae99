"""The export of a catalogue and of results: what an import reads, and how the lots ended."""

from __future__ import annotations

from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.events import Outcome
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.columns import Result
from saleroom.sales.domain.exporting import LotResult, catalogue_rows, result_rows
from saleroom.sales.service.import_writing import values_of
from saleroom.sales.service.importing import sale_to_read
from saleroom.sales.storage import importing, lots
from saleroom.sales.storage.lots import OfferedLot
from saleroom.storage.database import Transaction


def catalogue(tx: Transaction, token: str | None, gid: str, language: str) -> list[list[Cell]]:
    """Return all lots of a sale in the order of calling. Raises Unauthenticated, MissingRight or UnknownSale."""
    found = lots.offered(tx, sale_to_read(tx, token, gid).id)
    codes = {number: code for code, number in importing.consignor_numbers(tx).items()}
    return catalogue_rows([(one.lot.label, values_of(one, codes)) for one in found], language)


def results(tx: Transaction, token: str | None, gid: str, language: str) -> list[list[Cell]]:
    """Return how all lots of a sale ended, or stand, in the order of calling. Raises as `catalogue`."""
    return result_rows([_result(one) for one in lots.offered(tx, sale_to_read(tx, token, gid).id)], language)


def _result(one: OfferedLot) -> LotResult:
    lot, auction = one.lot, one.auction
    terms = auction or lot.terms
    assert terms is not None, "a lot has an auction or its terms"
    sold = auction is not None and auction.outcome is Outcome.SOLD
    if sold:
        result = Result.SOLD
    elif lot.is_withdrawn or (auction is not None and auction.status is Status.CANCELLED):
        result = Result.WITHDRAWN
    else:
        result = Result.PASSED if auction is not None and auction.over else Result.OPEN
    return LotResult(
        label=lot.label,
        title=terms.name,
        result=result,
        price=auction.current_bid if sold and auction is not None else None,
        winner=auction.leader.name if sold and auction is not None and auction.leader is not None else None,
        bids=0 if auction is None else auction.bid_count,
    )
