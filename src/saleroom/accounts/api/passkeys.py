"""Passkeys: list the user's own, remove one. They are added and used on the pages, where browsers have them."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.api.accounts import PRIVATE, any_string
from saleroom.accounts.domain.errors import UnknownPasskey, WrongPassword
from saleroom.accounts.service import passkeys
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Call, Endpoint, path_number
from saleroom.http.forms import Form
from saleroom.http.requests import client_address
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Busy, TooManyRequests
from saleroom.kernel.instants import instant, maybe_instant

_REMOVAL = Form(
    name="PasskeyRemoval", example={"password": "correct horse"}, fields=(any_string("password", "password"),)
)
_PASSKEY = path_number(UnknownPasskey, "The passkey.")


class PasskeyView(Struct, frozen=True, rename="camel"):
    """A passkey, as far as its user needs to tell it from others."""

    id: int
    label: str
    created_at: str
    used_at: str | None


class PasskeysView(Struct, frozen=True):
    """The user's passkeys, the newest first."""

    passkeys: list[PasskeyView]


async def list_passkeys(call: Call[AccountServices]) -> Response:
    """GET /me/passkeys."""
    found = await call.services.database.read(passkeys.own, call.token)
    views = [PasskeyView(one.id, one.name, instant(one.created_at), maybe_instant(one.used_at)) for one in found]
    return json_response(PasskeysView(views), 200, PRIVATE)


async def remove(call: Call[AccountServices]) -> Response:
    """DELETE /me/passkeys/{id}."""
    password, address = call.values["password"], client_address(call.request)
    await call.services.passkeys.remove(call.token, password, int(call.identifier), address)
    return Response(status_code=204)


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/passkeys",
        name="myPasskeys",
        summary="List my passkeys, the newest first",
        handler=list_passkeys,
        tag="accounts",
        access=Access.TOKEN,
        answer=PasskeysView,
        about="Passkeys are added on the page `/mine/security`, and used on the page `/login`.",
    ),
    Endpoint(
        method="DELETE",
        path="/me/passkeys/{id}",
        name="removePasskey",
        summary="Remove one of my passkeys: nobody logs in by it any more",
        handler=remove,
        tag="accounts",
        identifier=_PASSKEY,
        access=Access.TOKEN,
        form=_REMOVAL,
        body_optional=True,
        status=204,
        errors=(UnknownPasskey, WrongPassword, TooManyRequests, Busy),
        about="It needs the password; a wrong one counts as a failed login. Sessions that it has opened go on, and count as "
        "those by password. The user is told by mail.",
    ),
)
