"""The stream of events of a sale."""

from __future__ import annotations

from saleroom.feed.feed import Feed
from saleroom.feed.streams import AFTER, follow
from saleroom.http.endpoints import Endpoint
from saleroom.kernel.errors import Busy, UnknownEvent
from saleroom.sales.api.fields import SALE
from saleroom.sales.domain.errors import UnknownSale

ENDPOINTS: tuple[Endpoint[Feed], ...] = (
    Endpoint(
        method="GET",
        path="/sales/{gid}/events",
        name="followSale",
        summary="Follow a sale: its own events as they happen",
        handler=follow,
        tag="events",
        identifier=SALE,
        query=AFTER,
        stream=True,
        errors=(UnknownSale, UnknownEvent, Busy),
        about="It begins with the publication. The events of a lot are in the stream of its auction. The stream ends after "
        "the sale's last event.",
    ),
)
