"""Access tokens for programs: list the user's own, make one, revoke one."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.api.accounts import PRIVATE
from saleroom.accounts.domain.access_tokens import DAYS_MAX, NAME_MAX, parse_name
from saleroom.accounts.domain.errors import TooManyAccessTokens, UnknownAccessToken, WrongPassword
from saleroom.accounts.domain.rights import Scope
from saleroom.accounts.service import access_tokens
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.access_tokens import AccessToken
from saleroom.http.endpoints import Access, Call, Endpoint, path_number
from saleroom.http.forms import Field, Form, checked, positive_whole, string
from saleroom.http.requests import client_address
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Busy, Fault, TooManyRequests
from saleroom.kernel.instants import instant, maybe_instant

SCOPES = tuple(scope.value for scope in Scope)
_TOKEN = path_number(UnknownAccessToken, "The access token.")


class AccessTokenView(Struct, frozen=True, rename="camel"):
    """An access token, without its value."""

    id: int
    label: str
    scopes: list[str]
    created_at: str
    valid_until: str
    used_at: str | None


class NewAccessTokenView(AccessTokenView, frozen=True, rename="camel"):
    """A new access token. Its value is shown only once."""

    access_token: str


class AccessTokensView(Struct, frozen=True, rename="camel"):
    """The user's access tokens, the newest first."""

    access_tokens: list[AccessTokenView]


def _scopes(raw: bytes) -> Any:
    try:
        sent = msgspec.json.decode(raw, type=list[str])
    except msgspec.DecodeError:
        return Fault("not_a_list", "must be a list of scopes")
    if not sent or len(set(sent)) < len(sent) or not {*sent} <= {*SCOPES}:
        return Fault("not_a_choice", f"must be one or more of: {', '.join(SCOPES)}; each of them once")
    return frozenset(map(Scope, sent))


_FORM = Form(
    name="AccessTokenRequest",
    example={"label": "Bidding robot", "scopes": ["read", "bid"], "days": 30, "password": "correct horse"},
    fields=(
        Field(
            name="label",
            to="label",
            parse=checked(parse_name),
            schema={"type": "string", "minLength": 1, "maxLength": NAME_MAX},
            required=True,
            about="What it is for.",
        ),
        Field(
            name="scopes",
            to="scopes",
            parse=_scopes,
            schema={"type": "array", "items": {"enum": list(SCOPES)}, "minItems": 1, "uniqueItems": True},
            required=True,
            about="What it lets a program do.",
        ),
        Field(
            name="days",
            to="days",
            parse=positive_whole(DAYS_MAX),
            schema={"type": "integer", "minimum": 1, "maximum": DAYS_MAX},
            required=True,
            about="After how many days it ends.",
        ),
        Field(
            name="password",
            to="password",
            parse=string,
            schema={"type": "string"},
            required=True,
            about="The current password.",
        ),
    ),
)


async def list_tokens(call: Call[AccountServices]) -> Response:
    """GET /me/access-tokens."""
    found = await call.services.database.read(access_tokens.own, call.token)
    return json_response(AccessTokensView([AccessTokenView(**_members(one)) for one in found]), 200, PRIVATE)


async def make(call: Call[AccountServices]) -> Response:
    """POST /me/access-tokens."""
    sent = call.values
    made = await access_tokens.make(
        call.services.accounts,
        call.token,
        sent["password"],
        client_address(call.request),
        access_tokens.AccessTokenTerms(sent["label"], sent["scopes"], sent["days"]),
    )
    return json_response(NewAccessTokenView(access_token=made.value, **_members(made.token)), 201, PRIVATE)


async def revoke(call: Call[AccountServices]) -> Response:
    """DELETE /me/access-tokens/{id}."""
    await call.services.tokens.write(access_tokens.revoke, call.token, int(call.identifier))
    return Response(status_code=204)


def _members(one: AccessToken) -> dict[str, Any]:
    return {
        "id": one.id,
        "label": one.name,
        "scopes": [scope for scope in SCOPES if scope in one.scopes],
        "created_at": instant(one.created_at),
        "valid_until": instant(one.expires_at),
        "used_at": maybe_instant(one.used_at),
    }


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/access-tokens",
        name="myAccessTokens",
        summary="List my access tokens for programs, the newest first",
        handler=list_tokens,
        tag="accounts",
        access=Access.TOKEN,
        answer=AccessTokensView,
        about="Never with their values. `usedAt` is written every five minutes at most.",
    ),
    Endpoint(
        method="POST",
        path="/me/access-tokens",
        name="makeAccessToken",
        summary="Make an access token for a program",
        handler=make,
        tag="accounts",
        access=Access.TOKEN,
        form=_FORM,
        status=201,
        answer=NewAccessTokenView,
        errors=(TooManyAccessTokens, WrongPassword, TooManyRequests, Busy),
        about="It is used as the token of a login is, and lets a program do what its scopes say. It is shown only once. "
        "No access token can make another or change the account.",
    ),
    Endpoint(
        method="DELETE",
        path="/me/access-tokens/{id}",
        name="revokeAccessToken",
        summary="Revoke one of my access tokens: it stops working at once",
        handler=revoke,
        tag="accounts",
        identifier=_TOKEN,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownAccessToken,),
        about="`id` comes from `GET /me/access-tokens`.",
    ),
)
