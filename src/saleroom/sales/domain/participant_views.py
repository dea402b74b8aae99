"""Views of participants: for staff, and of one's own registration."""

from __future__ import annotations

from msgspec import Struct

from saleroom.kernel.instants import instant, maybe_instant
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.participants import Exposure, Participant


class ParticipantView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A participant for staff. `exposure` is what they owe and may come to owe in the sale.

    `guest`: somebody without an account. `person_name` and `contact` are what staff or they themselves have noted. `strikes`
    are those for invoices that they did not pay, of all sales. `merged_into` is the participant who they are too, if
    both were merged and kept their bids.
    """

    participant: str
    username: str
    guest: bool
    person_name: str
    contact: str
    paddle: int | None
    admission: str
    declined_for: str | None
    bid_limit: str | None
    exposure: str
    strikes: int
    bids_by: str
    checked_in_at: str | None
    registered_at: str
    merged_into: str | None = None


class RegistrationView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The caller's own registration for a sale. `left` is what the limit leaves, null without a limit."""

    participant: str
    paddle: int | None
    admission: str
    declined_for: str | None
    bid_limit: str | None
    exposure: str
    left: str | None
    checked_in_at: str | None
    registered_at: str


def participant_view(
    one: Participant, exposure: Exposure, strikes: int, same_as: Participant | None
) -> ParticipantView:
    """Return a participant as staff see them."""
    return ParticipantView(
        participant=one.gid,
        username=one.user.name,
        guest=one.is_guest,
        person_name=one.name,
        contact=one.contact,
        paddle=one.paddle,
        admission=one.standing.value,
        declined_for=one.reason or None,
        bid_limit=None if one.limit is None else str(one.limit),
        exposure=str(exposure.total),
        strikes=strikes,
        bids_by=one.channel.value,
        checked_in_at=maybe_instant(one.checked_in_at),
        registered_at=instant(one.registered_at),
        merged_into=None if same_as is None else same_as.gid,
    )


def registration_view(one: Participant, exposure: Exposure) -> RegistrationView:
    """Return a registration as the participant sees it."""
    total = exposure.total
    return RegistrationView(
        participant=one.gid,
        paddle=one.paddle,
        admission=one.standing.value,
        declined_for=one.reason or None,
        bid_limit=None if one.limit is None else str(one.limit),
        exposure=str(total),
        left=None if one.limit is None else str(max(one.limit - total, ZERO)),
        checked_in_at=maybe_instant(one.checked_in_at),
        registered_at=instant(one.registered_at),
    )
