"""The receipt book: the receipts of one bidder, found again in the log of an auction."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import structs

from saleroom.bidding.domain.block_events import ActUndone, BidderNamed, BidRetracted
from saleroom.bidding.domain.events import (
    AuctionClosed,
    AuctionExtended,
    BidPlaced,
    BidPrices,
    BidVoided,
    Event,
    MaximumRaised,
    Reason,
    ReserveMet,
)
from saleroom.bidding.domain.ledger import LedgerEvent
from saleroom.bidding.domain.receipts import Receipt
from saleroom.bidding.domain.views import event_from_parts
from saleroom.kernel.chain import ZERO


class ReceiptBook:
    """The receipts of `bidder` for the auction `gid`, the oldest first; its log is read page by page.

    A receipt names the last public event of its decision, so the book knows which events belong to one decision. The log does
    not keep an `amount` that a leader named beside a higher `maximum`: it is None in `asked` of such a receipt.
    """

    def __init__(self, gid: str, bidder: str) -> None:
        self.receipts: list[Receipt] = []
        self._gid, self._bidder = gid, bidder
        self._leader: str | None = None
        self._sequence, self._hash = 0, ZERO
        self._request: BidPlaced | MaximumRaised | None = None
        """The bidder's request, as long as the next event may belong to its decision."""
        self._before: Event | None = None

    def read(self, page: Iterable[LedgerEvent]) -> None:
        """Read the next events of the log."""
        for logged in page:
            public = {}
            if logged.payload is not None:
                wire = msgspec.json.decode(logged.payload)
                public, self._sequence, self._hash = wire["data"], wire["sequence"], wire["hash"]
            self._take(event_from_parts(logged.type, logged.at, public, logged.private))

    def _take(self, event: Event) -> None:
        if self._request is not None and _belongs(event, self._request, self._before):
            self.receipts[-1] = structs.replace(self.receipts[-1], sequence=self._sequence, hash=self._hash)
        else:
            self._request = self._own(event)
            if self._request is not None:
                self.receipts.append(self._receipt(self._request))
        if isinstance(event, BidPlaced) and event.leading:
            self._leader = event.bidder
        elif isinstance(event, BidVoided | ActUndone):
            self._leader = event.current_bidder
        elif isinstance(event, BidderNamed):
            self._leader = event.bidder
        elif isinstance(event, BidRetracted):
            self._leader = None
        self._before = event

    def _own(self, event: Event) -> BidPlaced | MaximumRaised | None:
        """Return `event` if it records a request of the bidder. Requests from before there were receipts have no instant."""
        match event:
            case BidPlaced(automatic=False, bidder=self._bidder, received_at=at) if at is not None:
                return event
            case MaximumRaised(received_at=at) if at is not None and self._leader == self._bidder:
                return event
        return None

    def _receipt(self, request: BidPlaced | MaximumRaised) -> Receipt:
        bid = request if isinstance(request, BidPlaced) else None
        return Receipt(
            gid=self._gid,
            sequence=self._sequence,
            hash=self._hash,
            bidder=self._bidder,
            asked=BidPrices(None, request.maximum) if bid is None else bid.asked,
            amount=None if bid is None else bid.amount,
            maximum=request.maximum,
            leading=bid is None or bid.leading,
            received_at=request.received_at,
            decided_at=request.at,
        )


def _belongs(event: Event, request: BidPlaced | MaximumRaised, before: Event | None) -> bool:
    """Whether `event` was decided with `request`; `before` is the event right before it, which is so too."""
    match event:
        case AuctionExtended(reason=Reason.SOFT_CLOSE):
            return True
        case ReserveMet():
            return isinstance(request, MaximumRaised)
        case AuctionClosed():
            return isinstance(request, BidPlaced) and request.asked is None
        case BidPlaced(automatic=True):
            # The leader's answer comes right after a bid that was held off. At a tie it came right before, and then the
            # leader's limit is used up, so that no other automatic bid follows.
            return before is request and isinstance(request, BidPlaced) and not request.leading
    return False
