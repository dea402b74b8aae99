"""Receipts: the house's statement of an accepted bid, and what is signed with it (docs/ledger.md)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct, structs

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.events import BidPlaced, BidPrices
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.kernel.parties import Party

TREE_TYPE = "saleroom-receipt-tree"
"""The `typ` of the header (RFC 7515, 4.1.9), if the signature is that of a tree of receipts."""
TYPE = "saleroom-receipt"
"""The `typ` of older houses, which signed each receipt by itself."""
ALGORITHM = "EdDSA"
"""The `alg` of the header: Ed25519 (RFC 8037)."""


class Header(Struct, frozen=True):
    """The protected header; `kid` is the thumbprint of the key (RFC 7638)."""

    alg: str
    kid: str
    typ: str


class TreeHead(Struct, frozen=True):
    """What is signed: the root of the Merkle tree over `size` receipts."""

    root: str
    size: int


class Receipt(Struct, frozen=True, kw_only=True, rename="camel"):
    """The bid, and the place in the ledger where it stands.

    `sequence` and `hash` are those of the auction's last public event. `amount` is None if only the bidder's own maximum
    rose, `asked` for a purchase.
    """

    gid: str
    sequence: int
    hash: str
    bidder: str
    asked: BidPrices | None
    amount: Decimal | None
    maximum: Decimal
    leading: bool
    received_at: datetime | None
    decided_at: datetime

    def payload(self) -> dict[str, Any]:
        """Return the receipt as it is stated, ready for canonical JSON."""
        members: dict[str, Any] = dict(zip(self.__struct_encode_fields__, structs.astuple(self), strict=True))
        members["receivedAt"] = maybe_instant(self.received_at)
        members["decidedAt"] = instant(self.decided_at)
        return members

    def stated(self) -> Receipt | dict[str, Any]:
        """Return what gives the canonical JSON of `payload` in the fewest steps: nearly always the receipt itself.

        msgspec writes an instant as `instant` does, unless it is at a whole second: then it leaves the decimals out.
        """
        for moment in (self.decided_at, self.received_at):
            if moment is not None and moment.microsecond == 0:
                return self.payload()
        return self


class SaltedReceipt(Struct, frozen=True, array_like=True):
    """A leaf of the tree. Without the salt, the hashes beside a receipt would give away the maxima of other bidders."""

    salt: str
    receipt: Receipt


def receipt_of(
    auction: Auction, bidder: Party, request: BidRequest, bid: BidPlaced | None, decided_at: datetime
) -> Receipt:
    """Return the receipt for `request`, which led to `auction`. `bid` is None if only the bidder's own maximum rose."""
    limit = request.maximum if bid is None else bid.maximum
    assert limit is not None, "a request that records no bid raises a maximum"
    return Receipt(
        gid=auction.gid,
        sequence=auction.version,
        hash=auction.chain.head,
        bidder=bidder.name,
        asked=request.asked,
        amount=None if bid is None else bid.amount,
        maximum=limit,
        leading=auction.leader is not None and auction.leader.id == bidder.id,
        received_at=request.received_at,
        decided_at=decided_at,
    )
