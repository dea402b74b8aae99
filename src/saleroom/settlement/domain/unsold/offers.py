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
    """What has become of an offer. One to all that somebody else has accepted is `taken`."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    TAKEN = "taken"


class Offer(Struct, frozen=True, kw_only=True):
    """A lot offered at a price `until` an instant. `settled` is how it ended, None if nobody has ended it.

    It is for a user, or `to_all` who have a paddle: `user_id` is then None until one of them accepts it.
    """

    id: int
    gid: str
    lot_id: int
    user_id: int | None
    price: Decimal
    offered_at: datetime
    until: datetime
    settled: OfferState | None = None
    to_all: bool = False

    def state(self, now: datetime, viewer_id: int | None = None) -> OfferState:
        """Return what has become of it by now, for one of those whom it is for or for staff."""
        if self.settled is not None:
            others = self.to_all and viewer_id is not None and viewer_id != self.user_id
            return OfferState.TAKEN if others and self.settled is OfferState.ACCEPTED else self.settled
        return OfferState.OPEN if now < self.until else OfferState.EXPIRED


class NewOffer(Struct, frozen=True):
    """An offer of a lot that staff ask for: to a paddle, or to all who have one in the sale if that is None."""

    label: str
    paddle: int | None
    price: Decimal
    until: datetime


def refuse_receiver(paddle: int | None, *, to_all: bool) -> None:
    """Raise Contradiction unless an offer is for one paddle, or for all."""
    if to_all == (paddle is not None):
        raise Contradiction.one("paddle", "one_or_all", "must be given, or toAll must be true, but not both")


def refuse_end(until: datetime, now: datetime) -> None:
    """Raise Contradiction unless an offer may last until then."""
    if until <= now:
        raise Contradiction.one("until", "end_in_past", "must be in the future")
    if until > now + LASTS_MAX:
        raise Contradiction.one("until", "offer_too_long", f"must be at most {LASTS_MAX.days} days from now")
