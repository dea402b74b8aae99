"""The port to the provider of payments by card online: what the house asks, and what it is told."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Protocol

from msgspec import Struct

from saleroom.settlement.domain.online.card_payments import ProviderPayment, SeenRefund


class ProviderAway(Exception):
    """The provider did not answer, or asked to come back later: nothing is known, and asking again is right.

    `retry_after` is how many seconds it wants peace; 0 if it does not say.
    """

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        self.retry_after = retry_after
        super().__init__(reason)


class ProviderRefused(Exception):
    """The provider answered no; asking again would get the same answer. The text is its own code, and never a secret."""


class PageOrder(Struct, frozen=True, kw_only=True):
    """A payment for which the provider makes a page. `payment` names it, so that asking twice makes one page."""

    payment: str
    amount: Decimal
    currency: str
    title: str
    path: str
    """The page of the house to come back to."""
    expires_at: datetime


class CardPage(Struct, frozen=True):
    """The provider's page: its name for it, and the address."""

    session: str
    url: str


class Callback(Struct, frozen=True, kw_only=True):
    """What a callback is about, by the names of the house and of the provider. The house asks it what has happened."""

    payment: str | None
    session: str | None
    intent: str | None
    is_live: bool


class CardProvider(Protocol):
    """A provider of payments on a page of its own: the house never sees a card.

    All but `read` and `is_live` ask it over the network, and raise ProviderAway or ProviderRefused.
    """

    @property
    def is_live(self) -> bool:
        """Whether real money moves."""

    @property
    def origin(self) -> str:
        """The origin of its pages, to which forms of the house may lead."""

    async def open(self, asked: PageOrder) -> CardPage:
        """Make the page of a payment, or find the one that was made before."""

    async def look(self, session: str) -> ProviderPayment:
        """Return how a payment stands, with its refunds and a dispute."""

    async def close_sheet(self, session: str) -> ProviderPayment:
        """End a page that nobody has paid, and return how the payment stands."""

    async def refund(self, refund: str, intent: str, amount: Decimal, currency: str) -> SeenRefund:
        """Pay money back; asking twice with one `refund` pays once."""

    async def check(self) -> None:
        """Ask for something that changes nothing, to see whether the key is good."""

    def read(self, body: bytes, signature: str) -> Callback:
        """Return what a callback is about. Raises the refusal ForgedCallback."""

    async def close(self) -> None:
        """End the connections."""
