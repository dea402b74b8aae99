"""Sanctions: staff warns, suspends and bans users, and lifts that; a user reads their own."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.api.accounts import PRIVATE
from saleroom.accounts.api.people import USER, PersonView, person_view
from saleroom.accounts.domain.audit import REASON_CHARACTERS_MAX
from saleroom.accounts.domain.errors import LastOwner, NotAboveThem, NotBarred, NotOneself, UnknownUser
from saleroom.accounts.domain.sanctions import IMPOSED, Sanction
from saleroom.accounts.service import sanctions
from saleroom.accounts.service.sanctions import Standing
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.sanctions import Record
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import INSTANT_SCHEMA, Field, Form, one_of, text
from saleroom.http.forms import instant as read_instant
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Invalid
from saleroom.kernel.instants import instant, maybe_instant

_REASON = Field(
    name="reason",
    to="reason",
    parse=text(1, REASON_CHARACTERS_MAX),
    schema={"type": "string", "minLength": 1, "maxLength": REASON_CHARACTERS_MAX},
    required=True,
    about="Why. The user reads it.",
)
_SANCTION = Form(
    name="SanctionRequest",
    example={"kind": "suspension", "reason": "Three lots were not paid for.", "until": "2030-01-31T12:00:00Z"},
    fields=(
        Field(
            name="kind",
            to="kind",
            parse=one_of(IMPOSED),
            schema={"enum": list(IMPOSED)},
            required=True,
            about="A suspension needs `until`, a ban may have it, a warning has none.",
        ),
        _REASON,
        Field(
            name="until",
            to="until",
            parse=read_instant,
            schema=INSTANT_SCHEMA,
            nullable=True,
            about="Its end; a ban without it has none.",
        ),
    ),
)
_LIFT = Form(name="LiftRequest", example={"reason": "She has paid."}, fields=(_REASON,))
_REFUSALS = (UnknownUser, NotOneself, NotAboveThem, LastOwner)


class SanctionView(Struct, frozen=True, rename="camel"):
    """A sanction as it was imposed, and how it ended early, if it did."""

    kind: Sanction
    reason: str
    by: str | None
    at: str
    until: str | None
    ended_at: str | None
    ended_by: str | None
    ended_reason: str | None


class StandingView(Struct, frozen=True):
    """A user with all that staff did about them, the latest first."""

    person: PersonView
    sanctions: list[SanctionView]


async def impose(call: Call[AccountServices]) -> Response:
    """POST /staff/users/{username}/sanctions."""
    sent = call.values
    asked = (call.identifier, Sanction(sent["kind"]), sent["reason"], sent.get("until"))
    return _shown(await call.services.tokens.write(sanctions.sanction, call.token, *asked), 201)


async def lift(call: Call[AccountServices]) -> Response:
    """POST /staff/users/{username}/sanctions/lift."""
    asked = (call.identifier, call.values["reason"])
    return _shown(await call.services.tokens.write(sanctions.lift, call.token, *asked))


async def show(call: Call[AccountServices]) -> Response:
    """GET /staff/users/{username}/sanctions."""
    return _shown(await call.services.database.read(sanctions.standing, call.token, call.identifier))


async def own(call: Call[AccountServices]) -> Response:
    """GET /me/sanctions."""
    return _shown(await call.services.database.read(sanctions.own, call.token))


async def read(call: Call[AccountServices]) -> Response:
    """POST /me/sanctions/read."""
    await call.services.tokens.write(sanctions.read_warnings, call.token)
    return Response(status_code=204)


def _shown(found: Standing, status: int = 200) -> Response:
    views = [_view(one) for one in found.history]
    return json_response(StandingView(person_view(found.user), views), status, PRIVATE)


def _view(one: Record) -> SanctionView:
    return SanctionView(
        kind=one.kind,
        reason=one.reason,
        by=one.by,
        at=instant(one.at),
        until=maybe_instant(one.until),
        ended_at=maybe_instant(one.ended_at),
        ended_by=one.ended_by,
        ended_reason=one.ended_reason,
    )


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/sanctions",
        name="mySanctions",
        summary="List the warnings, suspensions and bans that I have had",
        handler=own,
        tag="accounts",
        access=Access.TOKEN,
        answer=StandingView,
        about="The latest first. Users who are suspended or banned read it too.",
    ),
    Endpoint(
        method="POST",
        path="/me/sanctions/read",
        name="readWarnings",
        summary="Say that I have read my warnings",
        handler=read,
        tag="accounts",
        access=Access.TOKEN,
        status=204,
        about="The pages then no longer show them.",
    ),
    Endpoint(
        method="GET",
        path="/staff/users/{username}/sanctions",
        name="sanctionsOfUser",
        summary="List the warnings, suspensions and bans of a user",
        handler=show,
        tag="staff",
        identifier=USER,
        access=Access.TOKEN,
        answer=StandingView,
        errors=(UnknownUser,),
        about="Needs the right `read_people`.",
    ),
    Endpoint(
        method="POST",
        path="/staff/users/{username}/sanctions",
        name="sanctionUser",
        summary="Warn, suspend or ban a user",
        handler=impose,
        tag="staff",
        identifier=USER,
        access=Access.TOKEN,
        form=_SANCTION,
        status=201,
        answer=StandingView,
        errors=(*_REFUSALS, Invalid),
        about="Needs the right `sanction_people`. A suspension or a ban takes the place of the one in force, and stops bids, "
        "purchases, lots and questions of the user at once. The audit log notes it.",
    ),
    Endpoint(
        method="POST",
        path="/staff/users/{username}/sanctions/lift",
        name="liftBar",
        summary="Lift the suspension or the ban of a user",
        handler=lift,
        tag="staff",
        identifier=USER,
        access=Access.TOKEN,
        form=_LIFT,
        answer=StandingView,
        errors=(*_REFUSALS, NotBarred),
        about="Needs the right `sanction_people`. The audit log notes it.",
    ),
)
