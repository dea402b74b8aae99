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


class LotCalled(SaleEvent, frozen=True, kw_only=True):
    """The auctioneer of a live sale put a lot on the block, or the clerk put it back there by undoing its end."""

    TYPE: ClassVar[str] = "lot.called"

    lot: str
    label: str


class LotClosed(SaleEvent, frozen=True, kw_only=True):
    """A lot left the block with this `outcome`; `price` is the hammer price, null if it was passed.

    A fund-a-need is `funded`, and its price is the total of its pledges.
    """

    TYPE: ClassVar[str] = "lot.closed"

    lot: str
    label: str
    outcome: str
    price: str | None


class LotSkipped(SaleEvent, frozen=True, kw_only=True):
    """A lot left the block undecided, and will be called later."""

    TYPE: ClassVar[str] = "lot.skipped"

    lot: str
    label: str


class LotReopened(SaleEvent, frozen=True, kw_only=True):
    """The hammer on a lot was taken back for this `reason`; it will be called again."""

    TYPE: ClassVar[str] = "lot.reopened"

    lot: str
    label: str
    reason: str


class LotDecided(SaleEvent, frozen=True, kw_only=True):
    """The seller of a lot decided on the bid below the reserve; `price` is the hammer price, null if it is not sold."""

    TYPE: ClassVar[str] = "lot.decided"

    lot: str
    label: str
    outcome: str
    price: str | None


class LevelSet(SaleEvent, frozen=True, kw_only=True):
    """Pledges of a fund-a-need are asked for at this `amount` from here on."""

    TYPE: ClassVar[str] = "level.set"

    lot: str
    label: str
    amount: str


class PledgeMade(SaleEvent, frozen=True, kw_only=True):
    """Somebody promised this `amount`; `total` of so many `pledges` stands now. It does not name the giver."""

    TYPE: ClassVar[str] = "pledge.made"

    lot: str
    label: str
    pledge: int
    amount: str
    total: str
    pledges: int


class PledgeUndone(SaleEvent, frozen=True, kw_only=True):
    """The clerk undid a pledge of this `amount`; `total` of so many `pledges` stands now."""

    TYPE: ClassVar[str] = "pledge.undone"

    lot: str
    label: str
    pledge: int
    amount: str
    total: str
    pledges: int


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
        LotCalled,
        LotClosed,
        LotSkipped,
        LotReopened,
        LotDecided,
        LevelSet,
        PledgeMade,
        PledgeUndone,
    )
}
"""Every event of a sale by its type."""
ENDS = (SaleClosed.TYPE, SaleCancelled.TYPE)
"""The types of events that end a sale."""
