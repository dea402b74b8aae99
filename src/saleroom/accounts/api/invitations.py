"""Invitations: staff make, list and revoke them; users and newcomers take them."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.api.accounts import NEW_USERNAME, PRIVATE, AccountView, account_view, new_password
from saleroom.accounts.api.mail_addresses import parse_address
from saleroom.accounts.api.people import RightsView
from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import (
    BreachedPassword,
    HigherRole,
    InvalidInvitation,
    MailOff,
    ObviousPassword,
    RoleAboveOwn,
    TooManyInvitations,
    UnknownInvitation,
    UsernameTaken,
)
from saleroom.accounts.domain.invitations import LIFETIME, PATH, Invitation
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.service import invitations
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Call, Endpoint, path_number
from saleroom.http.forms import Field, Form, one_of, string
from saleroom.http.requests import client_address
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Busy
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.kernel.mail import ADDRESS_MAX

_INVITATION = path_number(UnknownInvitation, "The invitation.")
_CODE = Field(
    name="code",
    to="code",
    parse=string,
    schema={"type": "string"},
    required=True,
    about="What stands behind the `#` of the link.",
)
_INVITE = Form(
    name="InvitationRequest",
    example={"role": "clerk", "mailAddress": None},
    fields=(
        Field(
            name="role",
            to="role",
            parse=one_of(tuple(Role)),
            schema={"enum": list(Role)},
            required=True,
            about="The role of anyone who takes it. Not above your own.",
        ),
        Field(
            name="mailAddress",
            to="address",
            parse=parse_address,
            schema={"type": "string", "maxLength": ADDRESS_MAX},
            nullable=True,
            about="Where the house sends the link. Without it the answer has the link, for you to hand on.",
        ),
    ),
)
_TAKE = Form(name="InvitationTaking", example={"code": "17.Zm9vYmFyZm9vYmFyZm9vYg"}, fields=(_CODE,))
_JOIN = Form(
    name="InvitedRegistration",
    example={"code": "17.Zm9vYmFyZm9vYmFyZm9vYg", "username": "eva", "password": "correct horse"},
    fields=(_CODE, NEW_USERNAME, new_password("password", "password")),
)


class InvitationView(Struct, frozen=True, rename="camel"):
    """An invitation without its code. `by` is null if the command line made it."""

    id: int
    role: Role
    sent_to: str | None
    by: str | None
    created_at: str
    valid_until: str
    taken_at: str | None
    taken_by: str | None
    revoked_at: str | None


class NewInvitationView(Struct, frozen=True, rename="camel"):
    """A new invitation. `link` is shown only once, and null if a mail brings it."""

    invitation: InvitationView
    link: str | None


class InvitationsView(Struct, frozen=True):
    """The invitations of the last weeks, the latest first."""

    invitations: list[InvitationView]


async def list_invitations(call: Call[AccountServices]) -> Response:
    """GET /staff/invitations."""
    found = await call.services.database.read(invitations.listed, call.token)
    return json_response(InvitationsView([_view(one) for one in found]), 200, PRIVATE)


async def invite(call: Call[AccountServices]) -> Response:
    """POST /staff/invitations."""
    services, role, address = call.services, Role(call.values["role"]), call.values.get("address")
    if address is not None and not services.sends_mail:
        await services.database.read(invitations.listed, call.token)  # who may not invite hears that first
        raise MailOff
    made = await services.tokens.write(invitations.invite, call.token, role, address, None, services.sign)
    link = None if made.code is None else f"{services.origin}{PATH}#{made.code}"
    return json_response(NewInvitationView(_view(made.invitation), link), 201, PRIVATE)


async def revoke(call: Call[AccountServices]) -> Response:
    """DELETE /staff/invitations/{id}."""
    await call.services.tokens.write(invitations.revoke, call.token, int(call.identifier))
    return Response(status_code=204)


async def take(call: Call[AccountServices]) -> Response:
    """POST /me/invitations."""
    code, services = call.values["code"], call.services
    account: Account = await services.tokens.write(invitations.take, call.token, code, services.sign)
    return json_response(RightsView(account.role, [right for right in Right if right in account.rights]), 200, PRIVATE)


async def join(call: Call[AccountServices]) -> Response:
    """POST /invited-users."""
    sent, address = call.values, client_address(call.request)
    account = await call.services.invitations.join(sent["code"], sent["username"], sent["password"], address)
    return json_response(account_view(account), 201, PRIVATE)


def _view(one: Invitation) -> InvitationView:
    return InvitationView(
        id=one.id,
        role=one.role,
        sent_to=one.address,
        by=one.by,
        created_at=instant(one.made_at),
        valid_until=instant(one.expires_at),
        taken_at=maybe_instant(one.used_at),
        taken_by=one.used_by,
        revoked_at=maybe_instant(one.revoked_at),
    )


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="GET",
        path="/staff/invitations",
        name="invitations",
        summary="List invitations to roles, the latest first",
        handler=list_invitations,
        tag="staff",
        access=Access.TOKEN,
        answer=InvitationsView,
        about=f"Needs the right `manage_people`. Up to {invitations.LISTED_MAX} of the last weeks, without their links.",
    ),
    Endpoint(
        method="POST",
        path="/staff/invitations",
        name="invite",
        summary="Invite somebody to a role",
        handler=invite,
        tag="staff",
        access=Access.TOKEN,
        form=_INVITE,
        status=201,
        answer=NewInvitationView,
        errors=(RoleAboveOwn, TooManyInvitations, MailOff),
        about=f"Needs the right `manage_people`. The link is good once and for {LIFETIME.days} days. The answer does not "
        "depend on whether somebody has the mail address. The audit log notes it.",
    ),
    Endpoint(
        method="DELETE",
        path="/staff/invitations/{id}",
        name="revokeInvitation",
        summary="Revoke an invitation that nobody has taken",
        handler=revoke,
        tag="staff",
        identifier=_INVITATION,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownInvitation,),
        about="Needs the right `manage_people`. The audit log notes it.",
    ),
    Endpoint(
        method="POST",
        path="/me/invitations",
        name="takeInvitation",
        summary="Take an invitation: I get its role",
        handler=take,
        tag="accounts",
        access=Access.TOKEN,
        form=_TAKE,
        answer=RightsView,
        errors=(InvalidInvitation, HigherRole),
        about="Each counts once. It takes no role from somebody who stands above it. The audit log notes it.",
    ),
    Endpoint(
        method="POST",
        path="/invited-users",
        name="join",
        summary="Register by an invitation, also if registration is closed",
        handler=join,
        tag="accounts",
        form=_JOIN,
        status=201,
        answer=AccountView,
        errors=(InvalidInvitation, UsernameTaken, BreachedPassword, ObviousPassword, Busy),
        about="The new account has the role of the invitation. `POST /login` gives its first token.",
    ),
)
