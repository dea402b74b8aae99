"""The events of a sale: frozen, in the past tense (docs/events.md). They begin with its publication, and all are public.

What happens to a lot itself is an event of its auction.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from msgspec import Struct


class SaleEvent(Struct, frozen=True, kw_only=True, rename="camel"):
    """The member of every event: the instant of the decision (UTC), `time` in JSON."""

    TYPE: ClassVar[str]

    at: datetime


class SalePublished(SaleEvent, frozen=True, kw_only=True):
    """The sale with `lots` lots was published: from here on each lot is an auction."""

    TYPE: ClassVar[str] = "sale.published"

    title: str
    kind: str
    opens_at: datetime | None
    starts_at: datetime | None
    lots: int


class SaleAmended(SaleEvent, frozen=True, kw_only=True):
    """Staff changed what the sale says of itself; all of it is given, changed or not."""

    TYPE: ClassVar[str] = "sale.amended"

    title: str
    description: str
    venue: str
    registration: str


class SaleRunning(SaleEvent, frozen=True, kw_only=True):
    """The sale has begun: the first lot of a timed one has opened, or the auctioneer of a live one has begun."""

    TYPE: ClassVar[str] = "sale.running"


class SalePaused(SaleEvent, frozen=True, kw_only=True):
    """The sale stands still."""

    TYPE: ClassVar[str] = "sale.paused"


class SaleResumed(SaleEvent, frozen=True, kw_only=True):
    """The sale goes on."""

    TYPE: ClassVar[str] = "sale.resumed"


class SaleClosed(SaleEvent, frozen=True, kw_only=True):
    """All lots of the sale are over."""

    TYPE: ClassVar[str] = "sale.closed"


class SaleCancelled(SaleEvent, frozen=True, kw_only=True):
    """Staff cancelled the sale with all its lots, for this `reason`."""

    TYPE: ClassVar[str] = "sale.cancelled"

    reason: str


class LotAdded(SaleEvent, frozen=True, kw_only=True):
    """A lot was added to the published sale; `lot` is the gid of its auction."""

    TYPE: ClassVar[str] = "lot.added"

    lot: str
    label: str


class LotAmended(SaleEvent, frozen=True, kw_only=True):
    """The label, the estimate or the tax scheme of a lot was changed; `label` is the present one."""

    TYPE: ClassVar[str] = "lot.amended"

    lot: str
    label: str


class LotWithdrawn(SaleEvent, frozen=True, kw_only=True):
    """A lot was withdrawn from the sale, for this `reason`; its auction is cancelled."""

    TYPE: ClassVar[str] = "lot.withdrawn"

    lot: str
    label: str
    reason: str


class OrderSet(SaleEvent, frozen=True, kw_only=True):
    """The lots were put in another order; `labels` are all of them in that order, after any renumbering."""

    TYPE: ClassVar[str] = "order.set"

    labels: tuple[str, ...]
    renumbered: bool


EVENTS: dict[str, type[SaleEvent]] = {
    kind.TYPE: kind
    for kind in (
        SalePublished,
        SaleAmended,
        SaleRunning,
        SalePaused,
        SaleResumed,
        SaleClosed,
        SaleCancelled,
        LotAdded,
        LotAmended,
        LotWithdrawn,
        OrderSet,
    )
}
"""Every event of a sale by its type."""
ENDS = (SaleClosed.TYPE, SaleCancelled.TYPE)
"""The types of events that end a sale."""
