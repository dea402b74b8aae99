"""Participants: who bids in a sale, how far they may go, and which paddle they have (docs/rules.md, "People of a sale")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import BeyondLimit, NotRegistered, RegistrationDeclined, RegistrationPending
from saleroom.bidding.domain.events import Channel
from saleroom.bidding.domain.paddles import name_of
from saleroom.kernel.money import ZERO
from saleroom.kernel.parties import Party
from saleroom.sales.domain.errors import BidsStay, NoRegistration, PaddleFixed, PaddleTaken
from saleroom.sales.domain.sale import Names, Registration, Sale, refuse_if_over

HOUSE_PADDLES = range(1, 100)
"""Reserved for the house: only staff give them."""
NAME_MAX, CONTACT_MAX, REASON_MAX = 100, 200, 200
PARTICIPANTS_MAX = 20_000
"""The most participants of one sale."""


class Standing(StrEnum):
    """Whether a participant may bid: `limited` is approved up to a limit."""

    PENDING = "pending"
    APPROVED = "approved"
    LIMITED = "limited"
    DECLINED = "declined"


class Participant(Struct, frozen=True, kw_only=True):
    """A user in one sale. `id` is the store's number, and `reason` that for which staff declined them, empty otherwise.

    `is_guest`: somebody without an account, whose user nobody can log in to. `name` and `contact` are for staff alone.
    `barred_for` is the reason for which the house has suspended or banned the user, while that is in force.
    """

    id: int
    gid: str
    sale_id: int
    user: Party
    standing: Standing
    registered_at: datetime
    paddle: int | None = None
    reason: str = ""
    limit: Decimal | None = None
    channel: Channel = Channel.ONLINE
    name: str = ""
    contact: str = ""
    checked_in_at: datetime | None = None
    is_guest: bool = False
    barred_for: str | None = None

    @property
    def may_bid(self) -> bool:
        """Whether staff or the rules of the sale have approved them."""
        return self.standing in (Standing.APPROVED, Standing.LIMITED)

    @property
    def is_declined(self) -> bool:
        """Whether staff have declined them."""
        return self.standing is Standing.DECLINED


class Exposure(Struct, frozen=True):
    """What a participant owes and may come to owe in the sale, by lot.

    It is the hammer price, the maximum by which they lead, or what they have pledged.
    """

    by_lot: Mapping[int, Decimal]

    @property
    def total(self) -> Decimal:
        """All of it."""
        return sum(self.by_lot.values(), ZERO)

    def beside(self, lot_id: int) -> Decimal:
        """Return that on all other lots."""
        return self.total - self.on(lot_id)

    def on(self, lot_id: int) -> Decimal:
        """Return that on one lot."""
        return self.by_lot.get(lot_id, ZERO)


def needs_registration(sale: Sale) -> bool:
    """Return whether only participants bid. Where paddles are the names of bidders, there must be paddles."""
    return sale.terms.registration is not Registration.NONE or sale.terms.names is Names.PADDLES


def standing_of(limit: Decimal | None) -> Standing:
    """Return the standing of somebody who is approved up to `limit`."""
    return Standing.APPROVED if limit is None else Standing.LIMITED


def on_registration(sale: Sale, was: Participant | None) -> tuple[Standing, Decimal | None]:
    """Return the standing and limit of a user who registers. A participant keeps theirs.

    Raises SaleOver, NoRegistration, or RegistrationDeclined for somebody whom staff have declined.
    """
    refuse_if_over(sale)
    if was is not None:
        if was.is_declined:
            raise RegistrationDeclined(sale=sale.gid, reason=was.reason)
        return was.standing, was.limit
    if not needs_registration(sale):
        raise NoRegistration
    limit = sale.terms.limit_default
    return (Standing.PENDING if sale.terms.registration is Registration.APPROVAL else standing_of(limit)), limit


def refuse_to_bid(sale: Sale, participant: Participant | None) -> None:
    """Raise NotRegistered, RegistrationPending or RegistrationDeclined unless the user may bid in the sale.

    Whom the house has suspended or banned bids neither online nor by a clerk.
    """
    if participant is not None and participant.barred_for is not None:
        raise RegistrationDeclined(sale=sale.gid, reason=participant.barred_for)
    if participant is None:
        if needs_registration(sale):
            raise NotRegistered(sale=sale.gid)
    elif participant.is_declined:
        raise RegistrationDeclined(sale=sale.gid, reason=participant.reason)
    elif needs_registration(sale) and not participant.may_bid:
        raise RegistrationPending(sale=sale.gid)


def committed(lot: Auction) -> Decimal:
    """Return what a lot adds to the exposure of the one who leads: the hammer price, or their maximum while it runs.

    A bid below the reserve on which the seller is to decide counts as sold.
    """
    if lot.over:
        return ZERO if lot.unsold else (lot.current_bid or ZERO)
    return lot.maximum or ZERO


def refuse_beyond(limit: Decimal, exposure: Exposure, lot_id: int, asked: Decimal) -> None:
    """Raise BeyondLimit if a bid of up to `asked` would take a participant beyond their limit; a maximum is never lowered."""
    elsewhere = exposure.beside(lot_id)
    if elsewhere + max(asked, exposure.on(lot_id)) > limit:
        raise BeyondLimit(limit=limit, exposure=exposure.total, asked=asked, left=max(limit - elsewhere, ZERO))


def refuse_pledge_beyond(limit: Decimal, exposure: Exposure, amount: Decimal) -> None:
    """Raise BeyondLimit if a pledge of `amount`, on top of all others, would take a participant beyond their limit."""
    total = exposure.total
    if total + amount > limit:
        raise BeyondLimit(limit=limit, exposure=total, asked=amount, left=max(limit - total, ZERO))


def free_paddle(taken: Collection[int]) -> int:
    """Return the lowest paddle that nobody has and that is not reserved for the house."""
    number = HOUSE_PADDLES.stop
    while number in taken:
        number += 1
    return number


def choose_paddle(asked: int | None, was: int | None, taken: Collection[int], *, has_bid: bool) -> int:
    """Return the paddle of somebody whom staff give one: as `asked`, what it `was`, or the next free one.

    `taken` are those of others. `has_bid`: others have seen them bid under the paddle. Raises PaddleTaken or PaddleFixed.
    """
    if asked is None or asked == was:
        return free_paddle(taken) if was is None else was
    if asked in taken:
        raise PaddleTaken(paddle=asked, free=free_paddle(taken))
    if was is not None and has_bid:
        raise PaddleFixed(paddle=was)
    return asked


def second_name(sale: Sale, participant: Participant) -> str | None:
    """Return the name under which others see a participant, None for the username. A guest has no other than the paddle."""
    if participant.paddle is None or not (participant.is_guest or sale.terms.names is Names.PADDLES):
        return None
    return name_of(participant.paddle)


def merged(source: Participant, target: Participant, *, source_has_bid: bool, target_has_bid: bool) -> Participant:
    """Return `target` once `source`, who is the same person, has gone into it.

    Who has bid keeps the paddle, as others have seen it. The lower limit holds, and who was declined stays so: a second
    registration must not help. Raises BidsStay if both have bid, as a lot would then show two names of one bidder, and if the
    bids of `source` are those of an account, which others must not be bound by.
    """
    if source_has_bid and (target_has_bid or not source.is_guest):
        raise BidsStay
    shown = source if source_has_bid or (not target_has_bid and target.paddle is None) else target
    standings = (source.standing, target.standing)
    limits = [one.limit for one in (source, target) if one.may_bid and one.limit is not None]
    limit = min(limits) if limits else None
    if Standing.DECLINED in standings:
        standing = Standing.DECLINED
    elif Standing.APPROVED in standings or Standing.LIMITED in standings:
        standing = standing_of(limit)
    else:
        standing, limit = Standing.PENDING, target.limit
    both = [one.checked_in_at for one in (source, target) if one.checked_in_at is not None]
    return Participant(
        id=target.id,
        gid=target.gid,
        sale_id=target.sale_id,
        user=target.user,
        standing=standing,
        registered_at=min(source.registered_at, target.registered_at),
        paddle=shown.paddle,
        reason=target.reason or source.reason if standing is Standing.DECLINED else "",
        limit=limit,
        channel=shown.channel,
        name=target.name or source.name,
        contact=target.contact or source.contact,
        checked_in_at=min(both) if both else None,
        is_guest=target.is_guest,
    )
