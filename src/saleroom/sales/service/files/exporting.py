"""The export of a catalogue and of results: what an import reads, and how the lots ended."""

from __future__ import annotations

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.events import Outcome
from saleroom.kernel.instants import instant
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.columns import LotEnding
from saleroom.sales.domain.exporting import LotResult, catalogue_rows, pledge_rows, result_rows
from saleroom.sales.domain.needs import Stage, Tally
from saleroom.sales.domain.paper import BUYERS_NEED
from saleroom.sales.service import needs
from saleroom.sales.service.access import get_one
from saleroom.sales.service.files.import_writing import values_of
from saleroom.sales.service.files.importing import sale_to_read
from saleroom.sales.storage import importing, lots, pledges
from saleroom.sales.storage.lots import OfferedLot
from saleroom.storage.database import Transaction


def catalogue(tx: Transaction, token: str | None, gid: str, language: str) -> list[list[Cell]]:
    """Return all lots of a sale in the order of calling. Raises Unauthenticated, MissingRight or UnknownSale."""
    found = lots.offered(tx, sale_to_read(tx, token, gid).id)
    codes = {number: code for code, number in importing.consignor_numbers(tx).items()}
    values = [(one.lot.label, values_of(one, codes)) for one in tx.unhurried(found)]
    return list(tx.unhurried(catalogue_rows(values, language)))


def results(tx: Transaction, token: str | None, gid: str, language: str) -> list[list[Cell]]:
    """Return how all lots of a sale ended, or stand, in the order of calling. Raises as `catalogue`."""
    found = lots.offered(tx, sale_to_read(tx, token, gid).id)
    raised = pledges.tallies(tx, [one.lot.id for one in found if one.lot.need is not None])
    return result_rows([_result(one, raised.get(one.lot.id)) for one in tx.unhurried(found)], language)


def given(tx: Transaction, token: str | None, gid: str, language: str) -> list[list[Cell]]:
    """Return all pledges of a sale in the order of calling. Raises Unauthenticated, MissingRight or UnknownSale."""
    authenticate(tx, token, Right.READ).refuse_without(BUYERS_NEED)
    sale = get_one(tx, gid, staff=True)
    labels = {lot.id: lot.label for lot in lots.needs(tx, sale.id)}
    rows = [
        (labels[number], one.number, bidder, name, one.amount, instant(one.at), not one.stands)
        for number, some in needs.of_lots(tx, sale, labels).items()
        for one, bidder, name in some
    ]
    return pledge_rows(rows, language)


def _result(one: OfferedLot, raised: Tally | None) -> LotResult:
    lot, auction = one.lot, one.auction
    terms = auction or lot.terms
    assert terms is not None, "a lot has an auction or its terms"
    if lot.need is not None and raised is not None and not lot.is_withdrawn:
        result = LotEnding.FUNDED if lot.need.stage is Stage.CLOSED else LotEnding.OPEN
        return LotResult(lot.label, terms.name, result, raised.total, None, raised.count)
    sold = auction is not None and auction.outcome is Outcome.SOLD
    if sold:
        result = LotEnding.SOLD
    elif lot.is_withdrawn or (auction is not None and auction.status is Status.CANCELLED):
        result = LotEnding.WITHDRAWN
    else:
        result = LotEnding.PASSED if auction is not None and auction.over else LotEnding.OPEN
    return LotResult(
        label=lot.label,
        title=terms.name,
        result=result,
        price=auction.current_bid if sold and auction is not None else None,
        winner=auction.leader.name if sold and auction is not None and auction.leader is not None else None,
        bids=0 if auction is None else auction.bid_count,
    )
