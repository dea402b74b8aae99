"""Security: one-time codes beside the password, and the recovery codes for a lost app."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.api.accounts import PRIVATE
from saleroom.accounts.domain.errors import CodeRequired, CodesOff, CodesOn, WrongCode, WrongPassword
from saleroom.accounts.service import one_time_codes
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, string
from saleroom.http.requests import client_address
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Busy, TooManyRequests
from saleroom.kernel.instants import maybe_instant


class SecurityView(Struct, frozen=True, rename="camel"):
    """How an account is secured besides its password."""

    one_time_codes: bool
    one_time_codes_since: str | None
    recovery_codes_left: int


class EnrolmentView(Struct, frozen=True, rename="camel"):
    """A new secret for an authenticator app. It is shown only once."""

    secret: str
    app_address: str


class RecoveryCodesView(Struct, frozen=True, rename="camel"):
    """New recovery codes. They are shown only once."""

    recovery_codes: list[str]


def _text(name: str, about: str) -> Field:
    return Field(name=name, to=name, parse=string, schema={"type": "string"}, required=True, about=about)


_PASSWORD = _text("password", "The current password.")
_APP_CODE = _text("code", "The code that the app shows now.")
_CODE = _text("code", "The code that the app shows now, or a recovery code.")
_EXAMPLE = {"password": "correct horse", "code": "287082"}
_SETUP = Form(name="OneTimeCodesSetup", example={"password": "correct horse"}, fields=(_PASSWORD,))
_CONFIRMATION = Form(name="OneTimeCodesConfirmation", example={"code": "287082"}, fields=(_APP_CODE,))
_BOTH = Form(name="PasswordAndCode", example=_EXAMPLE, fields=(_PASSWORD, _CODE))
_GUARDED = (WrongPassword, TooManyRequests, Busy)


async def show(call: Call[AccountServices]) -> Response:
    """GET /me/security."""
    found = await call.services.database.read(one_time_codes.security, call.token)
    since = maybe_instant(found.codes_since)
    return json_response(SecurityView(since is not None, since, found.recovery_codes_left), 200, PRIVATE)


async def begin(call: Call[AccountServices]) -> Response:
    """POST /me/one-time-codes."""
    made = await call.services.codes.begin(call.token, call.values["password"], client_address(call.request))
    return json_response(EnrolmentView(made.secret, made.address), 201, PRIVATE)


async def confirm(call: Call[AccountServices]) -> Response:
    """POST /me/one-time-codes/confirmation."""
    made = await call.services.codes.confirm(call.token, call.values["code"])
    return json_response(RecoveryCodesView(made), 200, PRIVATE)


async def renew(call: Call[AccountServices]) -> Response:
    """POST /me/recovery-codes."""
    values, address = call.values, client_address(call.request)
    made = await call.services.codes.renew_recovery_codes(call.token, values["password"], values["code"], address)
    return json_response(RecoveryCodesView(made), 201, PRIVATE)


async def end(call: Call[AccountServices]) -> Response:
    """POST /me/one-time-codes/end."""
    values = call.values
    await call.services.codes.end(call.token, values["password"], values["code"], client_address(call.request))
    return Response(status_code=204)


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/security",
        name="mySecurity",
        summary="Show how my account is secured besides its password",
        handler=show,
        tag="accounts",
        access=Access.TOKEN,
        answer=SecurityView,
        about="Whether one-time codes are on, and how many recovery codes are left.",
    ),
    Endpoint(
        method="POST",
        path="/me/one-time-codes",
        name="setUpOneTimeCodes",
        summary="Get a secret for an authenticator app",
        handler=begin,
        tag="accounts",
        access=Access.TOKEN,
        form=_SETUP,
        status=201,
        answer=EnrolmentView,
        errors=(CodesOn, *_GUARDED),
        about="One-time codes (TOTP, RFC 6238) are on once a code has confirmed the secret. Until then a repeat replaces it.",
    ),
    Endpoint(
        method="POST",
        path="/me/one-time-codes/confirmation",
        name="confirmOneTimeCodes",
        summary="Switch one-time codes on, by a first code, and get recovery codes",
        handler=confirm,
        tag="accounts",
        access=Access.TOKEN,
        form=_CONFIRMATION,
        answer=RecoveryCodesView,
        errors=(CodesOn, CodesOff, WrongCode),
        about="From now on a login needs a code. Each recovery code stands in for one code of a lost app.",
    ),
    Endpoint(
        method="POST",
        path="/me/one-time-codes/end",
        name="endOneTimeCodes",
        summary="Switch one-time codes off",
        handler=end,
        tag="accounts",
        access=Access.TOKEN,
        form=_BOTH,
        status=204,
        errors=(CodesOff, CodeRequired, WrongCode, *_GUARDED),
        about="It needs the password, and a code or a recovery code.",
    ),
    Endpoint(
        method="POST",
        path="/me/recovery-codes",
        name="renewRecoveryCodes",
        summary="Get new recovery codes in place of the old ones",
        handler=renew,
        tag="accounts",
        access=Access.TOKEN,
        form=_BOTH,
        status=201,
        answer=RecoveryCodesView,
        errors=(CodesOff, CodeRequired, WrongCode, *_GUARDED),
        about="The old ones no longer count. It needs the password, and a code or a recovery code.",
    ),
)
