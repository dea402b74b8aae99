"""The hall: the block of a live sale as all its pages show it, read once for all who follow it; and who reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.block import FLOOR
from saleroom.bidding.domain.events import Channel, Outcome
from saleroom.bidding.domain.photos import Photo
from saleroom.bidding.service.photos import covers
from saleroom.bidding.storage import auctions, bidder_names, bids, event_log
from saleroom.kernel.money import ZERO
from saleroom.kernel.parties import Party
from saleroom.sales.domain import desk
from saleroom.sales.domain.block_views import BlockView
from saleroom.sales.domain.participants import Standing, needs_registration
from saleroom.sales.domain.sale import Sale
from saleroom.sales.domain.views import LotView, SaleView, sale_view
from saleroom.sales.service.access import get_one
from saleroom.sales.service.live import block
from saleroom.sales.storage import book, lots, participants, pledges
from saleroom.storage.database import Transaction

ABSENTEE = Channel.ABSENTEE.value
BIDDERS_READ = 20
"""How many of the last bids tell who has bid on the lot."""


class Hall(Struct, frozen=True, kw_only=True):
    """The block as anyone may see it, with the first photos of its lots by gid.

    `leads_by` says how the leader bids: `absentee`, `floor`, `phone` or `online`. `sale_id`, `leader_id` and `bidder_ids` are
    the numbers of the sale, of the leader and of those with one of the last bids on the lot that was called last. `given` is
    what users have pledged on it, by number, if it is a fund-a-need. The numbers are for the house alone: no page shows them.
    """

    sale_id: int
    sale: SaleView
    block: BlockView
    covers: dict[str, Photo]
    leads_by: str | None
    leader_id: int | None
    bidder_ids: frozenset[int]
    given: Mapping[int, Decimal] = {}

    @property
    def lot(self) -> LotView | None:
        """The lot that was called last, whether it is still on the block or not."""
        return self.block.on_block or self.block.last_lot

    @property
    def over(self) -> bool:
        """Whether nothing more happens on the block."""
        return self.block.status in ("closed", "cancelled")


class Reader(Struct, frozen=True, kw_only=True):
    """Who looks at a page of the hall: their number and name in the sale, None for a stranger.

    `standing` is that of their registration; `needed` says that the sale wants one.
    """

    id: int | None = None
    name: str | None = None
    standing: Standing | None = None
    reason: str = ""
    needed: bool = False

    @property
    def may_bid(self) -> bool:
        """Whether their bids are taken."""
        if self.id is None or self.standing in (Standing.PENDING, Standing.DECLINED):
            return False
        return self.standing is not None or not self.needed


def shown(tx: Transaction, gid: str) -> Hall:
    """Return the block of a live sale with all that its pages show. Raises UnknownSale."""
    view, sale = block.shown(tx, None, gid), get_one(tx, gid, staff=False)
    visible = [one for one in (view.on_block, view.last_lot, *view.next_lots) if one is not None and not one.is_hidden]
    called = view.on_block or view.last_lot
    auction = None if called is None else auctions.get(tx, called.gid)
    leader = None if auction is None else auction.leader
    last = [] if auction is None else bids.newest(tx, auction.id, BIDDERS_READ, None, sale.id)
    return Hall(
        sale_id=sale.id,
        sale=sale_view(sale),
        block=view,
        covers=covers(tx, [one.gid for one in visible]) if visible else {},
        leads_by=None if auction is None or leader is None else _way(tx, sale, auction, leader, last),
        leader_id=None if leader is None else leader.id,
        bidder_ids=frozenset(bid.bidder_id for bid in last),
        given={} if called is None or called.need is None else _given(tx, sale, called.gid),
    )


class Evening(Struct, frozen=True, kw_only=True):
    """What a sale has brought so far: hammer prices of the lots that are sold, and what is pledged on each fund-a-need."""

    sale: SaleView
    total: Decimal
    sold: int
    pledged: Decimal


def evening(tx: Transaction, token: str | None, gid: str) -> Evening:
    """Return what a live sale has brought so far, for a projector; it tells no more than the catalogue. Raises UnknownSale."""
    sale = get_one(tx, gid, staff=False)
    found = lots.offered(tx, sale.id)
    prices = [
        one.auction.current_bid
        for one in found
        if one.auction is not None and _counts(one.auction) and not one.lot.is_withdrawn
    ]
    tallies = pledges.tallies(tx, [one.lot.id for one in found if one.lot.need is not None])
    return Evening(
        sale=sale_view(sale),
        total=sum((one for one in prices if one is not None), ZERO),
        sold=len(prices),
        pledged=sum((one.total for one in tallies.values()), ZERO),
    )


def reader(tx: Transaction, token: str | None, gid: str) -> Reader:
    """Return who looks at a page of the hall. Raises Unauthenticated or UnknownSale."""
    sale = get_one(tx, gid, staff=False)
    needed = needs_registration(sale)
    if token is None:
        return Reader(needed=needed)
    account = authenticate(tx, token, Right.READ)
    found = participants.find(tx, sale.id, account.id)
    name = bidder_names.of_pairs(tx, [(sale.id, account.id)]).get((sale.id, account.id), account.username)
    if found is None:
        return Reader(id=account.id, name=name, needed=needed)
    return Reader(id=account.id, name=name, standing=found.standing, reason=found.reason, needed=needed)


def entered(tx: Transaction, token: str | None, gid: str) -> tuple[Hall, Reader]:
    """Return both, for a page. Raises as `reader`."""
    return shown(tx, gid), reader(tx, token, gid)


def _counts(auction: Auction) -> bool:
    return auction.outcome is Outcome.SOLD and not auction.is_hidden


def _given(tx: Transaction, sale: Sale, gid: str) -> Mapping[int, Decimal]:
    lot = lots.by_gid(tx, sale.id, gid)
    return {} if lot is None else pledges.given(tx, lot.id)


def _way(tx: Transaction, sale: Sale, auction: Auction, leader: Party, last: Sequence[bids.Bid]) -> str:
    """Return how the leader bids: a maximum that the house bids for, otherwise as their own last bid came."""
    if leader.name == FLOOR:
        return Channel.FLOOR
    own = next((bid for bid in last if bid.bidder_id == leader.id and bid.voided is None), None)
    if own is not None and own.automatic:
        return ABSENTEE
    if own is not None and book.has(tx, auction.id, own.number):
        return ABSENTEE
    if own is not None:
        return desk.channels(event_log.read(tx, auction.id))[own.number - 1]
    found = participants.find(tx, sale.id, leader.id)
    return Channel.ONLINE if found is None else found.channel
