"""Forgotten passwords: ask for a mail, set a new password by its code."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.accounts.api.accounts import any_string, new_password
from saleroom.accounts.api.mail_addresses import CODE
from saleroom.accounts.domain.errors import BreachedPassword, InvalidLink, MailOff, ObviousPassword
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Call, Endpoint
from saleroom.http.forms import Form
from saleroom.http.requests import client_address
from saleroom.kernel.errors import Busy, TooManyRequests

_REQUEST = Form(name="PasswordRequest", example={"account": "ada"}, fields=(any_string("account", "account"),))
_RESET = Form(
    name="PasswordReset",
    example={"code": "17.Zm9vYmFyZm9vYmFyZm9vYg", "newPassword": "battery staple"},
    fields=(CODE, new_password("newPassword", "new")),
)


async def ask(call: Call[AccountServices]) -> Response:
    """POST /password-requests."""
    await call.services.recovery.ask(call.values["account"], None, client_address(call.request))
    return Response(status_code=202)


async def reset(call: Call[AccountServices]) -> Response:
    """POST /password-resets."""
    await call.services.recovery.reset(call.values["code"], call.values["new"], client_address(call.request))
    return Response(status_code=204)


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="POST",
        path="/password-requests",
        name="requestPassword",
        summary="Ask for a mail with a link to set a new password",
        handler=ask,
        tag="accounts",
        form=_REQUEST,
        status=202,
        errors=(MailOff, TooManyRequests),
        about="`account` is a username or a mail address. The answer is always the same: only a verified address gets a mail, "
        "one for each account that has it. The link ends after 30 minutes.",
    ),
    Endpoint(
        method="POST",
        path="/password-resets",
        name="resetPassword",
        summary="Set a new password by the code of the mail",
        handler=reset,
        tag="accounts",
        form=_RESET,
        status=204,
        errors=(InvalidLink, BreachedPassword, ObviousPassword, Busy),
        about="All tokens of the user stop working at once. One-time codes stay as they are. Each code counts once, and only "
        "the latest one of an account.",
    ),
)
