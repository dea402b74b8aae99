"""People, for staff: list and search users, show one, give a role, approve a seller; and one's own rights."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from saleroom.accounts.api.accounts import PRIVATE
from saleroom.accounts.domain.accounts import USERNAME_PATTERN, Account, parse_username
from saleroom.accounts.domain.audit import REASON_CHARACTERS_MAX
from saleroom.accounts.domain.errors import LastOwner, NotAboveThem, RoleAboveOwn, UnknownUser
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.domain.sanctions import BARS, Sanction
from saleroom.accounts.service import accounts, people, roles_of_users
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.people import PeopleFilter
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, PathIdentifier
from saleroom.http.forms import Field, Form, boolean, one_of, text
from saleroom.http.paging import paging
from saleroom.http.responses import json_response, page_response
from saleroom.kernel.instants import instant, maybe_instant

USERS = CursorKind("users", Annotated[str, Meta(max_length=32)])
USER = PathIdentifier(
    name="username",
    pattern=re.compile(USERNAME_PATTERN),
    unknown=UnknownUser,
    schema={"type": "string", "pattern": f"^{USERNAME_PATTERN}$"},
    about="The user.",
    parse=parse_username,
)
REASON = Field(
    name="reason",
    to="reason",
    parse=text(0, REASON_CHARACTERS_MAX),
    schema={"type": "string", "maxLength": REASON_CHARACTERS_MAX},
    about="Why, in words for the audit log.",
)
_ROLE = Form(
    name="RoleChange",
    example={"role": "clerk", "reason": "She works at the desk from May on."},
    fields=(
        Field(
            name="role",
            to="role",
            parse=one_of(tuple(Role)),
            schema={"enum": list(Role)},
            required=True,
            about="The user's role from now on.",
        ),
        REASON,
    ),
)
_SELLER = Form(
    name="SellerApproval",
    example={"approved": True, "reason": "We have seen the clocks."},
    fields=(
        Field(
            name="approved",
            to="approved",
            parse=boolean,
            schema={"type": "boolean"},
            required=True,
            about="Whether the user is approved as a seller from now on.",
        ),
        REASON,
    ),
)


class RightsView(Struct, frozen=True):
    """The role of the token's user, and what the token may do."""

    role: Role
    rights: list[Right]


class PersonView(Struct, frozen=True, rename="camel"):
    """A user as staff sees them."""

    username: str
    role: Role
    created_at: str
    seller_since: str | None
    barred: Sanction | None
    barred_until: str | None


class PeopleView(Struct, frozen=True):
    """A page of users. `next` is the cursor of the next page, or null on the last."""

    users: list[PersonView]
    next: str | None


async def own_rights(call: Call[AccountServices]) -> Response:
    """GET /me/rights."""
    account = await call.services.database.read(accounts.authenticate, call.token, Right.READ)
    view = RightsView(account.role, [right for right in Right if right in account.rights])
    return json_response(view, 200, PRIVATE)


async def list_people(call: Call[AccountServices]) -> Response:
    """GET /staff/users."""
    query, role = call.query, call.query.get("role")
    barred = query.get("barred")
    which = PeopleFilter(
        text=query.get("q", "").lower() or None,
        role=Role(role) if role else None,
        barred=Sanction(barred) if barred else None,
    )
    found = await call.services.database.read(people.listed, call.token, which, call.limit, call.place)
    cursor = call.services.cursors.next_page(USERS.within(call.asked), found.next)
    return page_response(call.scope, PeopleView([person_view(one) for one in found.rows], cursor), cursor)


async def show(call: Call[AccountServices]) -> Response:
    """GET /staff/users/{username}."""
    return _shown(await call.services.database.read(people.one, call.token, call.identifier))


async def give_role(call: Call[AccountServices]) -> Response:
    """PUT /staff/users/{username}/role."""
    role, reason, name = Role(call.values["role"]), call.values.get("reason", ""), call.identifier
    return _shown(await call.services.tokens.write(roles_of_users.give_role, call.token, name, role, reason))


async def approve(call: Call[AccountServices]) -> Response:
    """PUT /staff/users/{username}/seller."""
    approved, reason, name = call.values["approved"], call.values.get("reason", ""), call.identifier
    write = call.services.tokens.write
    return _shown(await write(roles_of_users.approve_seller, call.token, name, approved=approved, reason=reason))


def person_view(user: Account) -> PersonView:
    """Return a user as staff sees them."""
    bar = user.bar
    return PersonView(
        username=user.username,
        role=user.role,
        created_at=instant(user.created_at),
        seller_since=maybe_instant(user.seller_since),
        barred=None if bar is None else bar.kind,
        barred_until=None if bar is None else maybe_instant(bar.until),
    )


def _shown(user: Account) -> Response:
    return json_response(person_view(user), 200, PRIVATE)


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/rights",
        name="myRights",
        summary="Show my role, and what this token may do",
        handler=own_rights,
        tag="accounts",
        access=Access.TOKEN,
        answer=RightsView,
        about="docs/people.md has the rights of each role.",
    ),
    Endpoint(
        method="GET",
        path="/staff/users",
        name="listUsers",
        summary="List and search users, by name",
        handler=list_people,
        tag="staff",
        access=Access.TOKEN,
        query=(
            Field(
                name="q",
                to="q",
                parse=text(0, 32),
                schema={"type": "string", "maxLength": 32},
                about="Only users with this text in their name.",
            ),
            Field(
                name="role", to="role", parse=one_of(tuple(Role)), schema={"enum": list(Role)}, about="Of this role."
            ),
            Field(name="barred", to="barred", parse=one_of(BARS), schema={"enum": list(BARS)}, about="Barred by this."),
            *paging(USERS),
        ),
        answer=PeopleView,
        about="Needs the right `read_people`.",
    ),
    Endpoint(
        method="GET",
        path="/staff/users/{username}",
        name="getUser",
        summary="Show a user",
        handler=show,
        tag="staff",
        identifier=USER,
        access=Access.TOKEN,
        answer=PersonView,
        errors=(UnknownUser,),
        about="Needs the right `read_people`.",
    ),
    Endpoint(
        method="PUT",
        path="/staff/users/{username}/role",
        name="giveRole",
        summary="Give a user another role",
        handler=give_role,
        tag="staff",
        identifier=USER,
        access=Access.TOKEN,
        form=_ROLE,
        answer=PersonView,
        errors=(UnknownUser, RoleAboveOwn, NotAboveThem, LastOwner),
        about="Needs the right `manage_people`. It counts from the user's next request on. The audit log notes it.",
    ),
    Endpoint(
        method="PUT",
        path="/staff/users/{username}/seller",
        name="approveSeller",
        summary="Approve a user as a seller, or take that back",
        handler=approve,
        tag="staff",
        identifier=USER,
        access=Access.TOKEN,
        form=_SELLER,
        answer=PersonView,
        errors=(UnknownUser,),
        about="Needs the right `approve_sellers`. It counts where the setting `sellers` is `approved`. The audit log notes it.",
    ),
)
