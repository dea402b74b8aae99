"""Participants of sales: they register; staff admit them, give them paddles and limits, and check them in."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct, structs
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.audit import note
from saleroom.accounts.service.idempotency import once
from saleroom.accounts.storage import accounts, people, sanctions
from saleroom.bidding.domain.errors import RegistrationDeclined
from saleroom.bidding.domain.events import Channel
from saleroom.bidding.storage import bidder_names
from saleroom.kernel.errors import Contradiction
from saleroom.kernel.identifiers import GID, GID_BYTES, IdempotencyKey
from saleroom.kernel.money import ZERO
from saleroom.kernel.page import Page, page_of
from saleroom.kernel.parties import GUEST
from saleroom.sales.domain.errors import (
    MergedAlready,
    ParticipantAlready,
    TooManyParticipants,
    UnknownParticipant,
    UnknownSale,
)
from saleroom.sales.domain.participant_views import participant_view
from saleroom.sales.domain.participants import (
    PARTICIPANTS_MAX,
    Exposure,
    Participant,
    Standing,
    choose_paddle,
    free_paddle,
    on_registration,
    second_name,
    standing_of,
)
from saleroom.sales.domain.sale import Names, Sale, refuse_if_cancelled, refuse_if_over
from saleroom.sales.service.people.people_mails import tell_of_decision
from saleroom.sales.storage import mergers, participants, pledges, sales
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

GUEST_BYTES = 6
_encode = msgspec.json.Encoder().encode


class ParticipantProfile(Struct, frozen=True):
    """A participant with what they owe and may come to owe in the sale, and their strikes for unpaid invoices.

    `same_as` is the participant with whom they were merged while the bids of both stayed.
    """

    participant: Participant
    exposure: Exposure
    strikes: int = 0
    same_as: Participant | None = None

    @property
    def left(self) -> Decimal | None:
        """What the limit leaves; None without a limit."""
        limit = self.participant.limit
        return None if limit is None else max(limit - self.exposure.total, ZERO)


class Newcomer(Struct, frozen=True, kw_only=True):
    """Whom staff admit: the user of the name `username`, or without one somebody who has no account."""

    username: str | None = None
    name: str = ""
    contact: str = ""
    channel: Channel = Channel.FLOOR
    paddle: int | None = None
    limit: Decimal | None = None


def register(tx: Transaction, token: str, gid: str) -> ParticipantProfile:
    """Register the caller for a sale, and return what they are there; who is a participant already stays as they are.

    Raises Unauthenticated, MissingRight, MailRequired, UnknownSale, SaleOver, NoRegistration, RegistrationDeclined,
    MergedAlready or TooManyParticipants.
    """
    account = authenticate(tx, token, Right.BID)
    sale = _public(tx, gid)
    was = participants.find(tx, sale.id, account.id)
    if was is None:
        # One after the other takes the next paddle. A participant who comes again waits for nobody.
        sale = locked_sale(tx, gid)
        was = participants.find(tx, sale.id, account.id)
    standing, limit = on_registration(sale, was)
    if was is not None:
        return known_of(tx, was)
    _refuse_merged(tx, sale, account)
    one = _new(tx, sale, account, standing=standing, limit=limit)
    if standing is not Standing.PENDING:
        one = _with_paddle(tx, sale, one)
    return known_of(tx, _add(tx, sale, one))


def own(tx: Transaction, token: str | None, gid: str) -> ParticipantProfile | None:
    """Return what the caller is in a sale; None if they are no participant. Raises Unauthenticated or UnknownSale."""
    account = authenticate(tx, token, Right.READ)
    found = participants.find(tx, _public(tx, gid).id, account.id)
    return None if found is None else known_of(tx, found)


class PeopleOfSale(Struct, frozen=True):
    """A sale with a page of its participants, the newest first."""

    sale: Sale
    people: Page[ParticipantProfile, int]


def listed(tx: Transaction, token: str | None, gid: str, text: str, limit: int, before: int | None) -> PeopleOfSale:
    """Return a page of the participants of a sale. Raises Unauthenticated, MissingRight or UnknownSale."""
    authenticate(tx, token, Right.ADMIT_BIDDERS)
    sale = sale_of(tx, gid)
    page = page_of(participants.page(tx, sale.id, text, limit + 1, before), limit, lambda one: one.id)
    found = page.rows
    owed = participants.commitments(tx, [sale.id], [one.user.id for one in found]) if found else {}
    struck = sanctions.strikes(tx, [one.user.id for one in found])
    same = _same_as(tx, sale.id, found)
    rows = [
        ParticipantProfile(
            one,
            Exposure(owed.get((sale.id, one.user.id), {})),
            struck.get(one.user.id, 0),
            same.get(one.user.id),
        )
        for one in found
    ]
    return PeopleOfSale(sale, page.with_rows(rows))


def own_overview(tx: Transaction, token: str | None, gid: str) -> tuple[Sale, ParticipantProfile | None]:
    """Return the sale with what the caller is in it. Raises as `own`."""
    known = own(tx, token, gid)
    return _public(tx, gid), known


def sale_gid(text: str) -> str:
    """Return the gid of a sale as it stands in an address. Raises UnknownSale if no sale can have it."""
    if GID.fullmatch(text) is None:
        raise UnknownSale
    return text


def admit(tx: Transaction, token: str, gid: str, newcomer: Newcomer) -> ParticipantProfile:
    """Make somebody a participant as staff, with a paddle; who is in the hall is checked in.

    Also after the end of the sale: a guest who has got an account is merged into it, and an unsold lot is offered to somebody.

    Raises Unauthenticated, MissingRight, UnknownSale, SaleOver, UnknownUser, ParticipantAlready, MergedAlready,
    PaddleTaken, TooManyParticipants, or Contradiction without a name.
    """
    by = authenticate(tx, token, Right.ADMIT_BIDDERS)
    sale = locked_sale(tx, gid)
    refuse_if_cancelled(sale)
    username = newcomer.username
    user = _guest(tx, newcomer) if username is None else people.find(tx, username)
    if user is None:
        raise UnknownUser
    if participants.find(tx, sale.id, user.id) is not None:
        raise ParticipantAlready
    _refuse_merged(tx, sale, user)
    one = _new(tx, sale, user, standing=standing_of(newcomer.limit), limit=newcomer.limit)
    checked_in = tx.now() if newcomer.channel is Channel.FLOOR else None
    said = {
        "name": newcomer.name,
        "contact": newcomer.contact,
        "channel": newcomer.channel,
        "checked_in_at": checked_in,
    }
    one = structs.replace(one, **said, is_guest=username is None)
    one = _add(tx, sale, _with_paddle(tx, sale, one, newcomer.paddle))
    note(tx, by, Act.BIDDER_ADMITTED, one.user.id, {}, facts_of(sale, one))
    if not sale.over:
        tell_of_decision(tx, sale, None, one)
    return known_of(tx, one)


def admit_once(tx: Transaction, token: str, gid: str, newcomer: Newcomer, asked: IdempotencyKey | None) -> bytes:
    """Do the same once for each key, and return the JSON of a `ParticipantView`. Raises IdempotencyMismatch too."""
    by = authenticate(tx, token, Right.ADMIT_BIDDERS)

    def act() -> bytes:
        known = admit(tx, token, gid, newcomer)
        return _encode(participant_view(known.participant, known.exposure, known.strikes, known.same_as))

    return once(tx, by, asked, act)


def change(tx: Transaction, token: str, gid: str, participant: str, changes: Mapping[str, Any]) -> ParticipantProfile:
    """Change what staff decide about a participant: `standing`, `reason`, `limit`, `paddle`, `channel`, `name`, `contact`.

    Raises Unauthenticated, MissingRight, UnknownSale, UnknownParticipant, SaleOver, PaddleTaken, PaddleFixed, or Contradiction
    for somebody who is declined without a reason.
    """
    by, sale = _staff(tx, token, gid)
    was = _locked(tx, sale, participant)
    said = {name: value for name, value in changes.items() if name not in ("standing", "paddle")}
    one = _decided(structs.replace(was, **said), changes.get("standing", was.standing))
    if "paddle" in changes or (one.may_bid and one.paddle is None and sale.terms.names is Names.PADDLES):
        one = _with_paddle(tx, sale, one, changes.get("paddle"))
    return _saved(tx, by, sale, was, one, Act.BIDDER_CHANGED)


def check_in(tx: Transaction, token: str, gid: str, participant: str, paddle: int | None) -> ParticipantProfile:
    """Check a participant in at the door, with a paddle; who waited for approval is approved by it.

    Raises as `change`, and RegistrationDeclined.
    """
    by, sale = _staff(tx, token, gid)
    was = _locked(tx, sale, participant)
    if was.is_declined:
        raise RegistrationDeclined(sale=sale.gid, reason=was.reason)
    one = structs.replace(was, channel=Channel.FLOOR, checked_in_at=was.checked_in_at or tx.now())
    one = _with_paddle(tx, sale, _decided(one, Standing.APPROVED), paddle)
    return _saved(tx, by, sale, was, one, Act.BIDDER_CHECKED_IN)


def sale_of(tx: Transaction, gid: str) -> Sale:
    """Return a sale. Raises UnknownSale."""
    found = sales.get(tx, gid)
    if found is None:
        raise UnknownSale
    return found


def locked_sale(tx: Transaction, gid: str) -> Sale:
    """Return a sale, locked until the transaction ends. Raises UnknownSale."""
    found = sales.lock(tx, gid)
    if found is None:
        raise UnknownSale
    return found


def _public(tx: Transaction, gid: str) -> Sale:
    found = sales.get(tx, gid)
    if found is None or not found.is_public:
        raise UnknownSale
    return found


def _staff(tx: Transaction, token: str, gid: str) -> tuple[Account, Sale]:
    """Return who acts, and the sale, locked before lots and participants: nobody else gives paddles. Raises SaleOver too."""
    by = authenticate(tx, token, Right.ADMIT_BIDDERS)
    sale = locked_sale(tx, gid)
    refuse_if_over(sale)
    return by, sale


def _locked(tx: Transaction, sale: Sale, gid: str) -> Participant:
    found = participants.lock(tx, sale.id, [gid]).get(gid)
    if found is None:
        raise UnknownParticipant
    return found


def _guest(tx: Transaction, newcomer: Newcomer) -> Account:
    """Return a user for somebody without an account: nobody can log in to it."""
    if not newcomer.name.strip():
        raise Contradiction.one("person_name", "required", "is needed of somebody without an account")
    found = accounts.add_user(tx, f"{GUEST}{secrets.token_hex(GUEST_BYTES)}", None, tx.now())
    if found is None:
        raise TryAgain("the name was taken")
    return found


def _refuse_merged(tx: Transaction, sale: Sale, user: Account) -> None:
    """Raise MergedAlready for a user who was merged in the sale: a second registration would have a limit of its own."""
    if mergers.person(tx, sale.id, user.id) != user.id:
        raise MergedAlready


def _new(tx: Transaction, sale: Sale, user: Account, *, standing: Standing, limit: Decimal | None) -> Participant:
    if participants.count(tx, sale.id) >= PARTICIPANTS_MAX:
        raise TooManyParticipants(limit=PARTICIPANTS_MAX)
    now: datetime = tx.now()
    gid = secrets.token_urlsafe(GID_BYTES)
    return Participant(
        id=0, gid=gid, sale_id=sale.id, user=user.party, standing=standing, registered_at=now, limit=limit
    )


def _with_paddle(tx: Transaction, sale: Sale, one: Participant, asked: int | None = None) -> Participant:
    """Return a participant with a paddle, as asked or the next free one. Online it is only given where it is their name."""
    taken = participants.paddles(tx, sale.id, one.id)
    if asked is None and one.paddle is None and one.channel is Channel.ONLINE and sale.terms.names is Names.USERNAMES:
        return one
    if one.id == 0:
        paddle = free_paddle(taken) if asked is None else choose_paddle(asked, None, taken, has_bid=False)
        return structs.replace(one, paddle=paddle)
    shown = bidder_names.of_pairs(tx, [(sale.id, one.user.id)])
    seen = bool(shown) and has_bid(tx, sale, one)
    return structs.replace(one, paddle=choose_paddle(asked, one.paddle, taken, has_bid=seen))


def has_bid(tx: Transaction, sale: Sale, one: Participant) -> bool:
    """Return whether somebody has bid or pledged in the sale, so that others may know them by their paddle."""
    return bidder_names.has_bid(tx, sale.id, one.user.id) or pledges.has_pledged(tx, sale.id, one.user.id)


def _add(tx: Transaction, sale: Sale, one: Participant) -> Participant:
    try:
        one = participants.add(tx, one)
        bidder_names.put(tx, sale.id, one.user.id, second_name(sale, one))
    except IntegrityError as error:
        raise TryAgain("the participant or the paddle came in between") from error
    return one


def _decided(one: Participant, standing: Standing) -> Participant:
    """Return a participant with this standing; `approved` and `limited` follow from the limit."""
    if standing is Standing.DECLINED:
        if not one.reason.strip():
            raise Contradiction.one("reason", "required", "is needed to decline somebody")
        return structs.replace(one, standing=standing)
    if standing is not Standing.PENDING:
        standing = standing_of(one.limit)
    return structs.replace(one, standing=standing, reason="")


def _saved(
    tx: Transaction, by: Account, sale: Sale, was: Participant, one: Participant, act: Act
) -> ParticipantProfile:
    if one != was:
        try:
            participants.save(tx, one)
            if one.paddle != was.paddle:
                bidder_names.put(tx, sale.id, one.user.id, second_name(sale, one))
        except IntegrityError as error:
            raise TryAgain("the paddle was taken in between") from error
        note(tx, by, act, one.user.id, facts_of(sale, was), facts_of(sale, one), one.reason)
        tell_of_decision(tx, sale, was, one)
    return known_of(tx, one)


def known_of(tx: Transaction, one: Participant) -> ParticipantProfile:
    """Return a participant with what they owe and their strikes."""
    owed = participants.commitments(tx, [one.sale_id], [one.user.id])
    struck = sanctions.strikes(tx, [one.user.id]).get(one.user.id, 0)
    same = _same_as(tx, one.sale_id, [one]).get(one.user.id)
    return ParticipantProfile(one, Exposure(owed.get((one.sale_id, one.user.id), {})), struck, same)


def _same_as(tx: Transaction, sale_id: int, found: Collection[Participant]) -> dict[int, Participant]:
    """Return the participants with whom some were merged, by the number of the user that was."""
    who = mergers.of_sale(tx, sale_id)
    theirs = {one.user.id: who[one.user.id] for one in found if one.user.id in who}
    known = participants.of_pairs(tx, [(sale_id, user) for user in {*theirs.values()}], locked=False)
    return {source: known[sale_id, target] for source, target in theirs.items() if (sale_id, target) in known}


def facts_of(sale: Sale, one: Participant) -> Facts:
    """Return for the audit log what an act on a participant changes, without what they have told of themselves."""
    limit = None if one.limit is None else str(one.limit)
    return {"sale": sale.gid, "admission": one.standing.value, "paddle": one.paddle, "limit": limit}
