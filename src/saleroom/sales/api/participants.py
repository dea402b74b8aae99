"""People of a sale: register for it; and staff list, admit, check in, change and merge its bidders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.responses import Response

from saleroom.accounts.domain.accounts import USERNAME_PATTERN, parse_username
from saleroom.accounts.domain.errors import IdempotencyMismatch, MailRequired, UnknownUser
from saleroom.bidding.domain.errors import OwnAuction, RegistrationDeclined
from saleroom.bidding.domain.events import Channel
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, PathIdentifier
from saleroom.http.forms import MONEY_SCHEMA, Field, Form, checked, money, one_of, text
from saleroom.http.paging import paging
from saleroom.http.responses import json_response, page_response
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID
from saleroom.sales.api.fields import SALE, paddle_field
from saleroom.sales.domain.errors import (
    BidsStay,
    MergedAlready,
    NoRegistration,
    PaddleFixed,
    PaddleTaken,
    ParticipantAlready,
    SaleOver,
    TooManyParticipants,
    UnknownParticipant,
    UnknownSale,
)
from saleroom.sales.domain.participant_views import (
    ParticipantView,
    RegistrationView,
    participant_view,
    registration_view,
)
from saleroom.sales.domain.participants import CONTACT_MAX, HOUSE_PADDLES, NAME_MAX, REASON_MAX, Standing
from saleroom.sales.service.people import merging, participants
from saleroom.sales.service.people.participants import Newcomer, ParticipantProfile
from saleroom.sales.services import SaleServices
from saleroom.storage.schema import NUMBER_MAX

PRIVATE = {"Cache-Control": "no-store"}
PARTICIPANTS = CursorKind("participants of a sale", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])
SEARCH_MAX = 100
_PARTICIPANT = PathIdentifier(
    name="participant",
    pattern=GID,
    unknown=UnknownParticipant,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The participant.",
)
_SEARCH = Field(
    name="q",
    to="q",
    parse=text(1, SEARCH_MAX),
    schema={"type": "string", "minLength": 1, "maxLength": SEARCH_MAX},
    about="Only the one with this paddle, and those whose name or username begins with it.",
)
_PADDLE = paddle_field(
    f"The paddle; null for the next free one. {HOUSE_PADDLES.start} to {HOUSE_PADDLES.stop - 1} are reserved for the "
    "house: only staff give them.",
    nullable=True,
)
_LIMIT = Field(
    name="bidLimit", to="limit", parse=money, schema=MONEY_SCHEMA, nullable=True, about="The limit; null for none."
)
_CHANNEL = Field(
    name="bidsBy",
    to="channel",
    parse=one_of(tuple(Channel)),
    schema={"type": "string", "enum": list(Channel)},
    about="How they bid: by themselves online, in the hall, or by telephone.",
)
_NAME = Field(
    name="personName",
    to="name",
    parse=text(0, NAME_MAX),
    schema={"type": "string", "maxLength": NAME_MAX},
    about="Their name, for staff. Needed of somebody without an account.",
)
_CONTACT = Field(
    name="contact",
    to="contact",
    parse=text(0, CONTACT_MAX, lines=True),
    schema={"type": "string", "maxLength": CONTACT_MAX},
    about="How to reach them, for staff.",
)
ADMIT = Form(
    name="NewParticipant",
    example={"personName": "Ada Lovelace", "contact": "0171 123", "bidsBy": "floor", "paddle": 12, "bidLimit": "500"},
    fields=(
        Field(
            name="username",
            to="username",
            parse=checked(parse_username),
            schema={"type": "string", "pattern": f"^{USERNAME_PATTERN}$"},
            nullable=True,
            about="Their account; null or left out for somebody without one.",
        ),
        _NAME,
        _CONTACT,
        _CHANNEL,
        _PADDLE,
        _LIMIT,
    ),
)
_ADMISSIONS = (Standing.PENDING.value, Standing.APPROVED.value, Standing.DECLINED.value)
CHANGE = Form(
    name="ParticipantChanges",
    example={"admission": "approved", "bidLimit": "500"},
    fields=(
        Field(
            name="admission",
            to="standing",
            parse=one_of(_ADMISSIONS),
            schema={"type": "string", "enum": list(_ADMISSIONS)},
            about="What staff decide; to decline needs a reason. A participant who is approved up to a limit is `limited`.",
        ),
        Field(
            name="reason",
            to="reason",
            parse=text(1, REASON_MAX),
            schema={"type": "string", "minLength": 1, "maxLength": REASON_MAX},
            about="Why they are declined. They can read it.",
        ),
        _LIMIT,
        _PADDLE,
        _CHANNEL,
        _NAME,
        _CONTACT,
    ),
)
CHECK_IN = Form(name="CheckIn", example={"paddle": 12}, fields=(_PADDLE,))


def _participant(sent: str) -> str | Fault:
    found = sent.strip()
    return found if GID.fullmatch(found) else Fault("participant", "must be the identifier of a participant")


_MERGE = Form(
    name="Merger",
    example={"into": "k3X9mQ2vTa1_"},
    fields=(
        Field(
            name="into",
            to="into",
            parse=checked(_participant),
            schema={"type": "string", "pattern": f"^{GID.pattern}$"},
            required=True,
            about="The participant who is left.",
        ),
    ),
)


_KINDS: Mapping[str, Callable[[str], StrEnum]] = {"standing": Standing, "channel": Channel}


class ParticipantPage(Struct, frozen=True):
    """A page of the participants of a sale, the newest first."""

    participants: list[ParticipantView]
    next: str | None


async def registration(call: Call[SaleServices]) -> Response:
    """GET /sales/{gid}/registration."""
    found = await call.services.database.read(participants.own, call.token, call.identifier)
    if found is None:
        raise UnknownParticipant
    return _own(found)


async def register(call: Call[SaleServices]) -> Response:
    """PUT /sales/{gid}/registration."""
    return _own(await call.services.tokens.write(participants.register, call.token, call.identifier))


async def list_participants(call: Call[SaleServices]) -> Response:
    """GET /sales/{gid}/participants."""
    read, search = call.services.database.read, call.query.get("q", "")
    found = await read(participants.listed, call.token, call.identifier, search, call.limit, call.place)
    cursor = call.services.cursors.next_page(PARTICIPANTS.within(call.asked), found.people.next)
    answer = page_response(call.scope, ParticipantPage([_view(one) for one in found.people.rows], cursor), cursor)
    answer.headers["Cache-Control"] = PRIVATE["Cache-Control"]
    return answer


async def admit(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/participants."""
    write = call.services.tokens.write
    body = await write(participants.admit_once, call.token, call.identifier, newcomer_of(call.values), call.key)
    return json_response(body, 201, PRIVATE)


async def change(call: Call[SaleServices]) -> Response:
    """PATCH /sales/{gid}/participants/{participant}."""
    write = call.services.tokens.write
    return _staff(await write(participants.change, call.token, call.identifier, call.part, said_of(call.values)))


async def check_in(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/participants/{participant}/check-in."""
    write, paddle = call.services.tokens.write, call.values.get("paddle")
    return _staff(await write(participants.check_in, call.token, call.identifier, call.part, paddle))


async def merge(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/participants/{participant}/merger."""
    write, into = call.services.tokens.write, call.values["into"]
    return _staff(await write(merging.merge, call.token, call.identifier, call.part, into))


def newcomer_of(values: Mapping[str, Any]) -> Newcomer:
    """Return the newcomer whom the values of `ADMIT` describe."""
    return Newcomer(**{"channel": Channel.FLOOR, **said_of(values)})


def said_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a form with the kinds of the domain."""
    return {name: _KINDS[name](value) if name in _KINDS else value for name, value in values.items()}


def _view(known: ParticipantProfile) -> ParticipantView:
    return participant_view(known.participant, known.exposure, known.strikes, known.same_as)


def _staff(known: ParticipantProfile) -> Response:
    return json_response(_view(known), 200, PRIVATE)


def _own(known: ParticipantProfile) -> Response:
    return json_response(registration_view(known.participant, known.exposure), 200, PRIVATE)


_RIGHT = "Needs the right `admit_bidders`."
_NOTED = f"{_RIGHT} The audit log notes it."
ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="GET",
        path="/sales/{gid}/registration",
        name="registration",
        summary="Show my registration for a sale: paddle, limit, and what I owe and lead by",
        handler=registration,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        answer=RegistrationView,
        errors=(UnknownSale, UnknownParticipant),
        about="`exposure` counts the hammer price of each lot that I have won, and my maximum on each that I lead.",
    ),
    Endpoint(
        method="PUT",
        path="/sales/{gid}/registration",
        name="registerForSale",
        summary="Register for a sale",
        handler=register,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        answer=RegistrationView,
        errors=(
            MailRequired,
            UnknownSale,
            SaleOver,
            NoRegistration,
            RegistrationDeclined,
            MergedAlready,
            TooManyParticipants,
        ),
        about="Who is registered already stays as they are. By the `registration` of the sale they are approved at once, or "
        "wait for staff.",
    ),
    Endpoint(
        method="GET",
        path="/sales/{gid}/participants",
        name="participants",
        summary="List the bidders of a sale, the newest first",
        handler=list_participants,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        query=(_SEARCH, *paging(PARTICIPANTS)),
        answer=ParticipantPage,
        errors=(UnknownSale,),
        about=_RIGHT,
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/participants",
        name="admitBidder",
        summary="Admit somebody to a sale, also without an account",
        handler=admit,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=ADMIT,
        status=201,
        answer=ParticipantView,
        errors=(
            UnknownSale,
            SaleOver,
            UnknownUser,
            ParticipantAlready,
            MergedAlready,
            PaddleTaken,
            TooManyParticipants,
            IdempotencyMismatch,
        ),
        once=True,
        about=f"They are approved, and checked in if they are in the hall. {_NOTED}",
    ),
    Endpoint(
        method="PATCH",
        path="/sales/{gid}/participants/{participant}",
        name="changeParticipant",
        summary="Approve, limit or decline a bidder of a sale, or give another paddle",
        handler=change,
        tag="sales",
        identifier=SALE,
        part=_PARTICIPANT,
        access=Access.TOKEN,
        form=CHANGE,
        answer=ParticipantView,
        errors=(UnknownSale, UnknownParticipant, SaleOver, PaddleTaken, PaddleFixed),
        about=f"Bids that stand go on to stand. {_NOTED}",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/participants/{participant}/check-in",
        name="checkInBidder",
        summary="Check a bidder of a sale in at the door, with a paddle",
        handler=check_in,
        tag="sales",
        identifier=SALE,
        part=_PARTICIPANT,
        access=Access.TOKEN,
        form=CHECK_IN,
        body_optional=True,
        answer=ParticipantView,
        errors=(UnknownSale, UnknownParticipant, SaleOver, RegistrationDeclined, PaddleTaken, PaddleFixed),
        about=f"Who waited for approval is approved by it. {_NOTED}",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/participants/{participant}/merger",
        name="mergeBidders",
        summary="Make one of two bidders of a sale who are the same person",
        handler=merge,
        tag="sales",
        identifier=SALE,
        part=_PARTICIPANT,
        access=Access.TOKEN,
        form=_MERGE,
        answer=ParticipantView,
        errors=(UnknownSale, UnknownParticipant, SaleOver, MergedAlready, BidsStay, OwnAuction),
        about="The bids of somebody without an account go on as those of the one who is left. So does what they owe, have paid "
        f"and have got papers for. Once the sale is closed, both may have bid: their bids stay under both paddles. {_NOTED}",
    ),
)
