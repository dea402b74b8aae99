"""The streams of events: of one auction, and of all."""

from __future__ import annotations

from saleroom.bidding.api.fields import AUCTION
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.feed.feed import Feed
from saleroom.feed.streams import AFTER, follow
from saleroom.http.endpoints import Endpoint
from saleroom.kernel.errors import Busy, UnknownEvent

ENDPOINTS: tuple[Endpoint[Feed], ...] = (
    Endpoint(
        method="GET",
        path="/auctions/{gid}/events",
        name="followAuction",
        summary="Follow an auction: its events as they happen",
        handler=follow,
        tag="events",
        identifier=AUCTION,
        query=AFTER,
        stream=True,
        errors=(UnknownAuction, UnknownEvent, Busy),
        about="The stream ends after the auction's last event.",
    ),
    Endpoint(
        method="GET",
        path="/events",
        name="followAll",
        summary="Follow all auctions: every event as it happens",
        handler=follow,
        tag="events",
        query=AFTER,
        stream=True,
        errors=(UnknownEvent, Busy),
        about="The stream goes on until the client or the house ends it.",
    ),
)
