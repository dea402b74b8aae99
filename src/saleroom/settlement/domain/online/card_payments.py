"""Cards online: amounts as the provider counts them, what it says of a payment, and when to ask it again (docs/rules.md)."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum

from msgspec import Struct

from saleroom.kernel.money import STEP, ZERO


class OnlineState(StrEnum):
    """What is known of a payment by card online.

    `ASKED`: the provider may not know it yet. `OPEN`: it has a page at the provider. `EXPIRED`: nobody can pay it any more.
    `UNCLEAR`: the provider does not say, or says what cannot be booked, so a person looks.
    """

    ASKED = "asked"
    OPEN = "open"
    PAID = "paid"
    EXPIRED = "expired"
    UNCLEAR = "unclear"


class RefundState(StrEnum):
    """What is known of a refund: the provider is asked, has accepted it, has paid it back, or could not."""

    ASKED = "asked"
    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


UNDER_WAY = (RefundState.ASKED, RefundState.PENDING)


class Dispute(StrEnum):
    """What became of a payment that the holder of the card disputes."""

    OPEN = "open"
    WON = "won"
    LOST = "lost"


class PaymentPage(StrEnum):
    """The provider's page for one payment: it can be paid, is finished, or has expired."""

    OPEN = "open"
    COMPLETE = "complete"
    EXPIRED = "expired"


class SeenRefund(Struct, frozen=True, kw_only=True):
    """A refund as the provider has it. `own` is the house's name for it, None for one that was made at the provider.

    `amount` is in minor units of the payment's currency. `reason` says why it failed.
    """

    refund: str
    own: str | None
    amount: int
    state: RefundState
    reason: str = ""


class SeenDispute(Struct, frozen=True):
    """A dispute as the provider has it. `amount` is in minor units of the payment's currency."""

    state: Dispute
    amount: int


class ProviderPayment(Struct, frozen=True, kw_only=True):
    """A payment as the provider has it. `amount` is in minor units of `currency`, `intent` the provider's name of the money."""

    session: str
    sheet: PaymentPage
    paid: bool
    amount: int
    currency: str
    intent: str | None
    refunds: tuple[SeenRefund, ...] = ()
    dispute: SeenDispute | None = None


ZERO_DECIMAL = frozenset(
    {
        "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF",
    }
)  # fmt: skip
THREE_DECIMAL = frozenset({"BHD", "JOD", "KWD", "OMR", "TND"})
NOT_TAKEN = frozenset({"UGX"})
"""The provider's documents count it in two ways, so that a payment could be a hundred times what is owed."""
MINOR_MAX = 99_999_999
"""The provider takes eight digits."""


def to_minor(amount: Decimal, currency: str) -> int | None:
    """Return an amount as the provider counts it; None if it cannot be charged or paid back.

    The rules are Stripe's (docs.stripe.com/currencies, 2026-11-26): most currencies have two decimals there, also those
    without coins, such as ISK, of which only whole units can be charged; of those with three the last digit must be 0.
    """
    minor = amount.scaleb(_exponent(currency))
    if minor != minor.to_integral_value() or not 0 < minor <= MINOR_MAX or currency in NOT_TAKEN:
        return None
    found = int(minor)
    step = 1
    if currency in THREE_DECIMAL:
        step = 10
    elif currency == "ISK":
        step = 100
    return found if found % step == 0 else None


def from_minor(minor: int, currency: str) -> Decimal:
    """Return an amount from the provider's count."""
    return Decimal(minor).scaleb(-_exponent(currency)).quantize(STEP)


def to_charge(left: Decimal, currency: str) -> Decimal:
    """Return what is charged for an amount: rounded half up where the provider cannot charge the last decimal."""
    if currency not in THREE_DECIMAL:
        return left
    return left.quantize(Decimal("0.01"), ROUND_HALF_UP).quantize(STEP)


def _exponent(currency: str) -> int:
    if currency in ZERO_DECIMAL:
        return 0
    return 3 if currency in THREE_DECIMAL else 2


OPEN_FOR = timedelta(hours=2)
"""How long the provider's page can be paid."""
REUSED_FOR = timedelta(minutes=40)
"""How long a page must still be open to be shown again: the provider wants 30 minutes for a new one."""
RETRY = timedelta(minutes=2)
"""When a payment is looked at again if a look does not end, as the process is killed or the provider is away."""
UNCLEAR_AFTER = timedelta(days=3)
"""How long after its end a page is asked about that the provider does not know."""
WATCHED_FOR = timedelta(days=180)
"""How long a paid payment is looked at for refunds and disputes of which no callback came."""


def next_look(state: OnlineState, changed_at: datetime, now: datetime, *, under_way: bool) -> datetime | None:
    """Return when to ask the provider about a payment again: after half of its age, within bounds; None for never.

    `under_way` says that a refund or a dispute of it is open.
    """
    if state in (OnlineState.EXPIRED, OnlineState.UNCLEAR):
        return None
    age = now - changed_at
    if state is OnlineState.PAID and not under_way:
        if age >= WATCHED_FOR:
            return None
        return now + min(max(age / 2, timedelta(days=1)), timedelta(days=14))
    longest = timedelta(days=1) if state is OnlineState.PAID else timedelta(minutes=10)
    return now + min(max(age / 2, timedelta(minutes=1)), longest)


def back_off(failures: int, wanted: float) -> float:
    """Return for how many seconds the provider is left alone after so many failures; `wanted` is what it asks for."""
    return max(min(2.0 ** min(failures, 10), 600.0), min(wanted, 3600.0))


class OnlineBooking(Struct, frozen=True):
    """What is posted of a payment: the money that came, and by how much more or less is owed as it was rounded."""

    received: Decimal
    rounded: Decimal


def booked(seen: ProviderPayment, charged: Decimal, left: Decimal) -> OnlineBooking:
    """Return what to post of a payment of which `charged` was asked and `left` is open now, in its own currency."""
    received = from_minor(seen.amount, seen.currency)
    exact = received == charged == to_charge(left, seen.currency)
    return OnlineBooking(received, received - left if exact else ZERO)
