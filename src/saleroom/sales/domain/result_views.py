"""The JSON shapes of results: a lot on the sheet of a sale, and the answer to a result."""

from __future__ import annotations

from msgspec import Struct

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Outcome
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.results import usual_below
from saleroom.sales.domain.sale import Sale

OPEN, ON_BLOCK, PASSED, WITHDRAWN = "open", "on_block", "passed", "withdrawn"
STATES = (OPEN, ON_BLOCK, Outcome.SOLD.value, Outcome.CONDITIONAL.value, PASSED, WITHDRAWN)
"""The states of a lot on the sheet."""


class SheetLot(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot on the sheet: `state` is `open`, `on_block`, `sold`, `conditional`, `passed` or `withdrawn`.

    `price` and `bidder` are those of a lot that is sold, perhaps conditionally. `tag` is the identifier of its state. From
    `usual_below` on, a price is asked for twice.
    """

    label: str
    name: str
    state: str
    price: str | None
    bidder: str | None
    tag: str
    reserve_price: str | None
    usual_below: str


class ResultView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The lots of a result, as they are after it. `lots_left` counts those of the sale that are not over."""

    sale: str
    status: str
    lots: list[SheetLot]
    lots_left: int


class Sheet(Struct, frozen=True, kw_only=True, rename="camel"):
    """All lots of a sale in the order of calling, and its paddles with their standing, for those who enter results.

    `user` is the reader, and `may_reopen` whether they may replace a result. `called` is the label of the lot that was called
    last, whose result needs no more than the right to run the sale to be taken back.
    """

    sale: str
    title: str
    status: str
    user: str
    may_reopen: bool
    called: str | None
    lots: list[SheetLot]
    paddles: list[tuple[int, str]]


def sheet_lot(lot: Lot, auction: Auction) -> SheetLot:
    """Return a lot as the sheet shows it, for staff."""
    state = _state(lot, auction)
    sold = auction.over and not auction.unsold
    return SheetLot(
        label=lot.label,
        name=auction.name,
        state=state,
        price=str(auction.current_bid) if sold else None,
        bidder=auction.leader.name if sold and auction.leader is not None else None,
        tag=auction.tag,
        reserve_price=None if auction.reserve_price is None else str(auction.reserve_price),
        usual_below=str(usual_below(lot, auction)),
    )


def result_view(sale: Sale, shown: list[SheetLot], left: int) -> ResultView:
    """Return the answer to a result."""
    return ResultView(sale=sale.gid, status=sale.status, lots=shown, lots_left=left)


def _state(lot: Lot, auction: Auction) -> str:
    if lot.is_withdrawn:
        return WITHDRAWN
    if auction.block is not None:
        return ON_BLOCK
    if not auction.over:
        return OPEN
    return PASSED if auction.unsold else (auction.outcome or Outcome.SOLD)
