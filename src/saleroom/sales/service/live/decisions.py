"""Decisions of sellers: on a bid below the reserve that the auctioneer has accepted under this condition."""

from __future__ import annotations

import structlog
from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain import calling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Event, Outcome
from saleroom.sales.domain import block
from saleroom.sales.domain.errors import UnknownLot
from saleroom.sales.domain.views import LotView
from saleroom.sales.service.access import lock_one
from saleroom.sales.service.live.block import of_a_lot
from saleroom.sales.service.reading import views
from saleroom.sales.storage import decisions, lots
from saleroom.sales.storage.decisions import OwnLot
from saleroom.storage.database import Transaction

LISTED_MAX = 100
log = structlog.get_logger()


class Question(Struct, frozen=True):
    """A lot on which its seller is to decide. `seen` names the state of the lot that the decision rests on."""

    own: OwnLot
    auction: Auction
    seen: str


def asked(tx: Transaction, token: str) -> list[Question]:
    """Return the lots on which the token's user is to decide. Raises Unauthenticated or MissingRight."""
    mine = decisions.waiting(tx, authenticate(tx, token, Right.READ).id, LISTED_MAX)
    auctions = [one.auction for one in lots.with_auctions(tx, [one.lot for one in mine])]
    return [
        Question(own, auction, block.tag(auction))
        for own, auction in zip(mine, auctions, strict=True)
        if auction is not None
    ]


def decide(tx: Transaction, token: str, gid: str, seen: str, *, accepted: bool) -> LotView:
    """Accept or decline the bid on a lot of the token's user, as the lot was seen, and return the lot.

    Raises Unauthenticated, MissingRight, UnknownLot for a lot of anybody else's, BlockChanged, and as `calling.decide` does.
    """
    seller = authenticate(tx, token, Right.SELL)
    sale = lock_one(tx, _own(tx, seller.id, gid).sale)
    own = _own(tx, seller.id, gid)  # staff may have given it another consignor while they held the lock

    def choose(auction: Auction) -> list[Event]:
        if auction.outcome is Outcome.CONDITIONAL:
            block.refuse_unless_seen(auction, seen)
        return calling.decide(auction, tx.now(), accepted=accepted)

    of_a_lot(tx, sale, own.lot.label, choose)
    log.info("a seller has decided on a bid below the reserve", user=seller.username, lot=gid, accepted=accepted)
    return views(tx, seller, [own.lot])[0]


def _own(tx: Transaction, user_id: int, gid: str) -> OwnLot:
    found = decisions.find(tx, user_id, gid)
    if found is None:
        raise UnknownLot
    return found
