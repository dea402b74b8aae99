"""Paddles: who bids by them when staff take a bid, in the hall, by telephone or on paper."""

from __future__ import annotations

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.service.admission import Bidders
from saleroom.kernel.parties import Party
from saleroom.sales.domain.errors import UnknownPaddle
from saleroom.sales.storage import participants
from saleroom.storage.database import Transaction


def with_paddle(tx: Transaction, auction: Auction, paddle: int) -> Party:
    """Return the user who has a paddle in the sale of a lot. Raises UnknownPaddle."""
    assert auction.sale_id is not None, "a lot of a sale"
    found = participants.with_paddle(tx, auction.sale_id, paddle)
    if found is None:
        raise UnknownPaddle(paddle=paddle)
    return found.user


def admitted(tx: Transaction, auction: Auction, paddle: int) -> tuple[Bidders, Party]:
    """Return the bidder with a paddle as the lot shows them, once the sale has admitted them.

    Raises UnknownPaddle, or the reason why they may not bid on the lot.
    """
    user = with_paddle(tx, auction, paddle)
    of_lot = Bidders(tx, [auction], lambda: [(auction, user)])
    return of_lot, of_lot.known_as(auction, user)
