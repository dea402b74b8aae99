"""After-sale offers: an unsold lot is offered to somebody at a price, for a time (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from saleroom.kernel.errors import Contradiction

LASTS_MAX = timedelta(days=60)
"""The longest time for an answer."""


class OfferState(StrEnum):
    """What has become of an offer."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


class Offer(Struct, frozen=True, kw_only=True):
    """A lot offered to a user at a price `until` an instant. `settled` is how it ended, None if nobody has ended it."""

    id: int
    gid: str
    lot_id: int
    user_id: int
    price: Decimal
    offered_at: datetime
    until: datetime
    settled: OfferState | None = None

    def state(self, now: datetime) -> OfferState:
        """Return what has become of it by now."""
        if self.settled is not None:
            return self.settled
        return OfferState.OPEN if now < self.until else OfferState.EXPIRED


def refuse_end(until: datetime, now: datetime) -> None:
    """Raise Contradiction unless an offer may last until then."""
    if until <= now:
        raise Contradiction.one("until", "end_in_past", "must be in the future")
    if until > now + LASTS_MAX:
        raise Contradiction.one("until", "offer_too_long", f"must be at most {LASTS_MAX.days} days from now")
