"""The clerk's desk: the block of a live sale with all that its clerk and its auctioneer look at beside it."""

from __future__ import annotations

from msgspec import Struct

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.service.photos import covers
from saleroom.bidding.storage import auctions, bids, event_log
from saleroom.sales.domain import desk
from saleroom.sales.domain.block_views import BlockView
from saleroom.sales.domain.desk import DeskBid, DeskLots, DeskPhoto
from saleroom.sales.domain.sale import Sale
from saleroom.sales.domain.views import SaleView, sale_view
from saleroom.sales.service.access import get_one
from saleroom.sales.service.live import block
from saleroom.sales.service.reading import views
from saleroom.sales.storage import lots, moves
from saleroom.storage.database import Transaction

BIDS = 8
RESULTS = 5
PHOTO_WIDTH = 800


class Desk(Struct, frozen=True, rename="camel"):
    """The desk. `may_reopen`: whether its reader may reopen lots and decide on conditional ones."""

    block: BlockView
    lots: DeskLots
    may_reopen: bool


def opened(tx: Transaction, token: str | None, gid: str) -> tuple[SaleView, Desk]:
    """Return a sale with its desk, for those who run it. Raises Unauthenticated, MissingRight or UnknownSale."""
    sale, viewer = _sale(tx, token, gid)
    return sale_view(sale, staff=True), _desk(tx, token, viewer, sale)


def shown(tx: Transaction, token: str | None, gid: str) -> Desk:
    """Return the desk of a sale. Raises as `opened`."""
    sale, viewer = _sale(tx, token, gid)
    return _desk(tx, token, viewer, sale)


def _sale(tx: Transaction, token: str | None, gid: str) -> tuple[Sale, Holder]:
    viewer = authenticate(tx, token, Right.READ)
    viewer.refuse_without(Right.RUN_SALE)
    return get_one(tx, gid, staff=True), viewer


def _desk(tx: Transaction, token: str | None, viewer: Holder, sale: Sale) -> Desk:
    moved = desk.closed(moves.of_lots(tx, sale.id))
    last = [lots.by_gid(tx, sale.id, one.lot) for one in reversed(moved[-RESULTS:])]
    auction = None if sale.block is None else auctions.get(tx, sale.block)
    photo = None if auction is None else covers(tx, [auction.gid]).get(auction.gid)
    beside = DeskLots(
        bids=[] if auction is None else _bids(tx, auction),
        photo=None if photo is None else DeskPhoto(photo.url(PHOTO_WIDTH), photo.width, photo.height),
        results=views(tx, viewer, [lot for lot in last if lot is not None]),
        per_hour=desk.per_hour(moved),
    )
    return Desk(block.shown(tx, token, sale.gid), beside, Right.REOPEN_LOTS in viewer.rights)


def _bids(tx: Transaction, auction: Auction) -> list[DeskBid]:
    ways = desk.channels(event_log.read(tx, auction.id))
    rows = bids.newest(tx, auction.id, BIDS, None, auction.sale_id)
    return [DeskBid(str(one.amount), one.bidder, ways[one.number - 1], one.voided) for one in rows]
