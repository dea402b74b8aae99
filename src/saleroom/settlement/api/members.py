"""Members: list them, and mark a user or a consignor as one, or as none."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from saleroom.accounts.api.people import USER
from saleroom.accounts.domain.errors import UnknownUser
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import INSTANT_SCHEMA, Field, Form, boolean, instant
from saleroom.http.paging import paging
from saleroom.http.responses import json_response, page_response
from saleroom.sales.api.fields import CONSIGNOR
from saleroom.sales.domain.errors import UnknownConsignor
from saleroom.settlement.domain.errors import OwnMembership
from saleroom.settlement.domain.member_views import MembershipView, MembersView
from saleroom.settlement.service import members
from saleroom.settlement.service.members import Whom
from saleroom.settlement.services import SettlementServices
from saleroom.storage.schema import NUMBER_MAX

MEMBERS = CursorKind("members", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])
MARK = Form(
    name="Membership",
    example={"isMember": True, "until": "2030-12-31T23:00:00Z"},
    fields=(
        Field(
            name="isMember",
            to="member",
            parse=boolean,
            schema={"type": "boolean"},
            required=True,
            about="Whether they are a member from now on.",
        ),
        Field(
            name="until",
            to="until",
            parse=instant,
            schema=INSTANT_SCHEMA,
            nullable=True,
            about="The first instant at which they are no member any more; null for no end.",
        ),
    ),
)


async def listed(call: Call[SettlementServices]) -> Response:
    """GET /members."""
    page = await call.services.database.read(members.listed, call.token, call.limit, call.place)
    cursor = call.services.cursors.next_page(MEMBERS, page.next)
    return page_response(call.scope, MembersView(members=page.rows, next=cursor), cursor)


async def of_user(call: Call[SettlementServices]) -> Response:
    """GET /members/{username}."""
    return await _holding(call, Whom(username=call.identifier))


async def mark_user(call: Call[SettlementServices]) -> Response:
    """PUT /members/{username}."""
    return await _mark(call, Whom(username=call.identifier))


async def of_consignor(call: Call[SettlementServices]) -> Response:
    """GET /consignors/{code}/membership."""
    return await _holding(call, Whom(consignor=call.identifier))


async def mark_consignor(call: Call[SettlementServices]) -> Response:
    """PUT /consignors/{code}/membership."""
    return await _mark(call, Whom(consignor=call.identifier))


async def _holding(call: Call[SettlementServices], whom: Whom) -> Response:
    return json_response(await call.services.database.read(members.holding, call.token, whom))


async def _mark(call: Call[SettlementServices], whom: Whom) -> Response:
    sent = call.values
    return json_response(
        await call.services.tokens.write(members.mark, call.token, whom, sent.get("until"), member=sent["member"])
    )


_USERS, _CONSIGNORS = "Needs the right `admit_bidders`.", "Needs the right `set_rates`."
_NOTED = "What was sold before stays as it is. The audit log notes it."
_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        method="GET",
        path="/members",
        name="members",
        summary="List those who are members now",
        handler=listed,
        query=paging(MEMBERS),
        answer=MembersView,
        about=_USERS,
    ),
    _one(
        method="GET",
        path="/members/{username}",
        name="membership",
        summary="Show whether a user is a member",
        handler=of_user,
        identifier=USER,
        answer=MembershipView,
        errors=(UnknownUser,),
        about=_USERS,
    ),
    _one(
        method="PUT",
        path="/members/{username}",
        name="markMember",
        summary="Mark a user as a member, or as none",
        handler=mark_user,
        identifier=USER,
        form=MARK,
        answer=MembershipView,
        errors=(UnknownUser, OwnMembership),
        about=f"{_USERS} It counts for what they buy; a guest with a paddle has a username too. {_NOTED}",
    ),
    _one(
        method="GET",
        path="/consignors/{code}/membership",
        name="membershipOfConsignor",
        summary="Show whether a consignor is a member",
        handler=of_consignor,
        identifier=CONSIGNOR,
        answer=MembershipView,
        errors=(UnknownConsignor,),
        about=_CONSIGNORS,
    ),
    _one(
        method="PUT",
        path="/consignors/{code}/membership",
        name="markConsignor",
        summary="Mark a consignor as a member, or as none",
        handler=mark_consignor,
        identifier=CONSIGNOR,
        form=MARK,
        answer=MembershipView,
        errors=(UnknownConsignor,),
        about=f"{_CONSIGNORS} It counts for what is sold for them. {_NOTED}",
    ),
)
