"""A sale as a value: its terms, its states, and how each event changes it.

States: draft -> published -> running <-> paused -> closed; draft or published -> cancelled (docs/rules.md, "Sales").
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs

from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.domain.increments import DEFAULT_LADDER, Ladder
from saleroom.bidding.domain.selling import DEFAULT_SOFT_CLOSE
from saleroom.kernel.parties import Party
from saleroom.sales.domain import events
from saleroom.sales.domain.errors import PublishedAlready, SaleOver
from saleroom.sales.domain.events import SaleEvent

LOTS_MAX = 5_000
"""The most lots of one sale."""
SPACING_DEFAULT, SPACING_MAX = 60, 86_400
"""Seconds between the ends of two lots of a timed sale."""
TITLE_MAX, VENUE_MAX, DESCRIPTION_MAX = 200, 200, 10_000


class Kind(StrEnum):
    """Whether clocks close the lots of a sale, or an auctioneer does."""

    TIMED = "timed"
    LIVE = "live"


class SaleStatus(StrEnum):
    """The state of a sale."""

    DRAFT = "draft"
    PUBLISHED = "published"
    RUNNING = "running"
    PAUSED = "paused"
    CLOSED = "closed"
    CANCELLED = "cancelled"


class Names(StrEnum):
    """By what name others see a bidder of a sale."""

    USERNAMES = "usernames"
    PADDLES = "paddles"


class Registration(StrEnum):
    """Who may bid in a sale: anyone, those who register, or those of them whom staff approve."""

    NONE = "none"
    OPEN = "open"
    APPROVAL = "approval"


class SaleTerms(Struct, frozen=True, kw_only=True):
    """All that those who manage a sale choose.

    `opens_at` is when bidding opens, None for at publication. `starts_at` is when the night of a live sale begins, and the
    first end of a timed one; `spacing` are the seconds between two ends. `following`: a soft close moves all later lots too.
    """

    title: str
    kind: Kind
    description: str = ""
    venue: str = ""
    opens_at: datetime | None = None
    starts_at: datetime | None = None
    spacing: int = SPACING_DEFAULT
    soft_close: SoftClose | None = DEFAULT_SOFT_CLOSE
    following: bool = False
    ladder: Ladder = DEFAULT_LADDER
    names: Names = Names.USERNAMES
    registration: Registration = Registration.NONE
    limit_default: Decimal | None = None


ALWAYS = frozenset({"title", "description", "venue", "registration", "limit_default"})
"""The terms that can be changed until the sale is over; the others only in a draft, as the lots are made from them."""
OVER = (SaleStatus.CLOSED, SaleStatus.CANCELLED)


class Sale(Struct, frozen=True, kw_only=True):
    """One sale. `owner` made it, and is the author of its auctions. `id` is the store's number.

    `version` counts its events, which begin with its publication: a sale at 0 is a draft, or a cancelled one that nobody saw.
    `block` is the gid of the lot that was called last in a live sale, None before the first call.
    """

    id: int
    gid: str
    owner: Party
    terms: SaleTerms
    created_at: datetime
    status: SaleStatus = SaleStatus.DRAFT
    cancelled_for: str | None = None
    version: int = 0
    block: str | None = None

    @property
    def over(self) -> bool:
        """Whether it is closed or cancelled."""
        return self.status in OVER

    @property
    def is_draft(self) -> bool:
        """Whether its lots have no auctions yet."""
        return self.status is SaleStatus.DRAFT

    @property
    def is_public(self) -> bool:
        """Whether anyone may see it."""
        return self.version > 0

    @property
    def is_timed(self) -> bool:
        """Whether clocks close its lots."""
        return self.terms.kind is Kind.TIMED

    def after(self, event: SaleEvent) -> Sale:
        """Return this sale once `event` has happened."""
        return structs.replace(self, version=self.version + 1, **_CHANGES[type(event)](self, event))


def refuse_if_over(sale: Sale) -> None:
    """Raise SaleOver if the sale is closed or cancelled."""
    if sale.over:
        raise SaleOver(status=sale.status.value)


def refuse_if_cancelled(sale: Sale) -> None:
    """Raise SaleOver if the sale is cancelled."""
    if sale.status is SaleStatus.CANCELLED:
        raise SaleOver(status=sale.status.value)


def refuse_unless_draft(sale: Sale) -> None:
    """Raise SaleOver or PublishedAlready unless the sale is a draft."""
    refuse_if_over(sale)
    if not sale.is_draft:
        raise PublishedAlready(status=sale.status.value)


def _same(sale: Sale, event: SaleEvent) -> dict[str, Any]:
    return {}


def _amended(sale: Sale, event: events.SaleAmended) -> dict[str, Any]:
    shown = {"title": event.title, "description": event.description, "venue": event.venue}
    return {"terms": structs.replace(sale.terms, registration=Registration(event.registration), **shown)}


def _cancelled(sale: Sale, event: events.SaleCancelled) -> dict[str, Any]:
    return {"status": SaleStatus.CANCELLED, "cancelled_for": event.reason}


def _called(sale: Sale, event: events.LotCalled) -> dict[str, Any]:
    return {"block": event.lot}


def _to(status: SaleStatus) -> Callable[[Sale, Any], dict[str, Any]]:
    return lambda sale, event: {"status": status}


_CHANGES: dict[type[SaleEvent], Callable[[Sale, Any], dict[str, Any]]] = {
    events.SalePublished: _to(SaleStatus.PUBLISHED),
    events.SaleAmended: _amended,
    events.SaleRunning: _to(SaleStatus.RUNNING),
    events.SalePaused: _to(SaleStatus.PAUSED),
    events.SaleResumed: _to(SaleStatus.RUNNING),
    events.SaleClosed: _to(SaleStatus.CLOSED),
    events.SaleCancelled: _cancelled,
    events.LotAdded: _same,
    events.LotAmended: _same,
    events.LotWithdrawn: _same,
    events.OrderSet: _same,
    events.LotCalled: _called,
    events.LotClosed: _same,
    events.LotSkipped: _same,
    events.LotReopened: _same,
    events.LotDecided: _same,
    events.LevelSet: _same,
    events.PledgeMade: _same,
    events.PledgeUndone: _same,
}
