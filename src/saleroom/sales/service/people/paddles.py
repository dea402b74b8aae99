"""Paddles: who bids by them when staff take a bid, in the hall, by telephone or on paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import (
    AlreadyLeading,
    BeyondLimit,
    NotRegistered,
    OwnAuction,
    RegistrationDeclined,
    RegistrationPending,
)
from saleroom.bidding.service.admission import Bidders
from saleroom.kernel.errors import Refusal
from saleroom.kernel.parties import Party
from saleroom.sales.domain.errors import UnknownPaddle
from saleroom.sales.storage import participants
from saleroom.storage.database import Transaction

_OF_A_PADDLE: Mapping[type[Refusal], str] = {
    AlreadyLeading: "The bidder with this paddle leads already.",
    BeyondLimit: "The bid goes beyond the limit of the bidder with this paddle; they can bid up to what is `left` on this lot.",
    NotRegistered: "The bidder with this paddle has not registered for the sale.",
    OwnAuction: "The lot is that of the bidder with this paddle, and nobody bids on their own lot.",
    RegistrationDeclined: "The house has declined the bidder with this paddle; `reason` says why. Their bids go on to stand.",
    RegistrationPending: "The house has not approved the bidder with this paddle yet.",
}
"""What clerks read who bid for somebody: the usual sentences on these refusals speak to the bidder."""


@contextmanager
def of_a_paddle() -> Iterator[None]:
    """Have refusals speak of the bidder to the clerk who bids for them."""
    try:
        yield
    except tuple(_OF_A_PADDLE) as refused:
        refused.message = _OF_A_PADDLE[type(refused)]
        raise


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
