"""The user's mail address: show it, change it with the password, verify it by the code of a mail."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.api.accounts import PRIVATE, any_string
from saleroom.accounts.domain.errors import InvalidLink, MailOff, WrongPassword
from saleroom.accounts.service import addresses
from saleroom.accounts.service.addresses import MailState
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, checked, string
from saleroom.http.requests import client_address
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Busy, TooManyRequests
from saleroom.kernel.instants import maybe_instant
from saleroom.kernel.mail import ADDRESS_MAX, parse_mail_address


class MailAddressView(Struct, frozen=True, rename="camel"):
    """The user's mail address, and the one that waits to be verified."""

    mail_address: str | None
    verified_at: str | None
    unverified_address: str | None
    link_expires_at: str | None


class VerifiedView(Struct, frozen=True, rename="camel"):
    """A mail address that was verified, and whose it is."""

    username: str
    mail_address: str


parse_address = checked(parse_mail_address)
"""From JSON to a mail address or its fault."""

CODE = Field(
    name="code",
    to="code",
    parse=string,
    schema={"type": "string"},
    required=True,
    about="From the mail: what stands behind the `#` of its link.",
)
_CHANGE = Form(
    name="MailAddressChange",
    example={"mailAddress": "ada@example.org", "password": "correct horse"},
    fields=(
        Field(
            name="mailAddress",
            to="address",
            parse=parse_address,
            schema={"type": "string", "maxLength": ADDRESS_MAX},
            required=True,
            nullable=True,
            about="null takes the address away.",
        ),
        any_string("password", "password"),
    ),
)
_CONFIRMATION = Form(name="MailAddressConfirmation", example={"code": "17.Zm9vYmFyZm9vYmFyZm9vYg"}, fields=(CODE,))


async def show(call: Call[AccountServices]) -> Response:
    """GET /me/mail-address."""
    return json_response(_view(await call.services.database.read(addresses.own, call.token)), 200, PRIVATE)


async def change(call: Call[AccountServices]) -> Response:
    """PUT /me/mail-address."""
    address, password = call.values["address"], call.values["password"]
    changed = await call.services.change_address(call.token, password, address, None, client_address(call.request))
    return json_response(_view(changed), 200, PRIVATE)


async def confirm(call: Call[AccountServices]) -> Response:
    """POST /mail-address-confirmations."""
    found = await call.services.database.write(addresses.verify, call.values["code"], None, call.services.sign)
    return json_response(VerifiedView(found.username, found.address), 200, PRIVATE)


def _view(state: MailState) -> MailAddressView:
    return MailAddressView(
        state.address, maybe_instant(state.verified_at), state.unverified, maybe_instant(state.link_expires_at)
    )


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/mail-address",
        name="myMailAddress",
        summary="Show my mail address",
        handler=show,
        tag="accounts",
        access=Access.TOKEN,
        answer=MailAddressView,
        about="Nobody else sees it. A new address is used only after it was verified; until then the old one is.",
    ),
    Endpoint(
        method="PUT",
        path="/me/mail-address",
        name="changeMailAddress",
        summary="Give another mail address, or take mine away",
        handler=change,
        tag="accounts",
        access=Access.TOKEN,
        form=_CHANGE,
        answer=MailAddressView,
        errors=(WrongPassword, MailOff, TooManyRequests, Busy),
        about="A mail with a link goes to the new address, which ends after 24 hours. The answer does not depend on whether "
        "others have the address. A wrong password counts as a failed login.",
    ),
    Endpoint(
        method="POST",
        path="/mail-address-confirmations",
        name="confirmMailAddress",
        summary="Verify a mail address by the code of the mail",
        handler=confirm,
        tag="accounts",
        form=_CONFIRMATION,
        answer=VerifiedView,
        errors=(InvalidLink,),
        about="Each code counts once, and only the latest one of an account. The old address is told of the change.",
    ),
)
