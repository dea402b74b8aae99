"""Accounts: register, log in, log out, show the account, change the password."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.domain.accounts import (
    PASSWORD_MAX,
    PASSWORD_MIN,
    USERNAME_PATTERN,
    Account,
    parse_password,
    parse_username,
)
from saleroom.accounts.domain.agents import agent
from saleroom.accounts.domain.errors import (
    BreachedPassword,
    CodeRequired,
    InvalidAuthentication,
    ObviousPassword,
    RegistrationClosed,
    UsernameTaken,
    WrongCode,
    WrongPassword,
)
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import accounts
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, checked, string
from saleroom.http.requests import client_address
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Busy, TooManyRequests
from saleroom.kernel.instants import instant

PRIVATE = {"Cache-Control": "no-store"}


class AccountView(Struct, frozen=True, rename="camel"):
    """An account as its owner sees it."""

    username: str
    created_at: str


class TokenView(Struct, frozen=True, rename="camel"):
    """A new token. Its value is shown only once."""

    token: str
    created_at: str
    expires_at: str


def new_password(name: str, to: str) -> Field:
    """Return the field of a new password."""
    schema = {"type": "string", "minLength": PASSWORD_MIN, "maxLength": PASSWORD_MAX}
    return Field(
        name=name, to=to, parse=checked(parse_password), schema=schema, required=True, about="Used unmodified."
    )


def any_string(name: str, to: str) -> Field:
    """Return the field of a text that is only compared."""
    return Field(name=name, to=to, parse=string, schema={"type": "string"}, required=True)


_EXAMPLE = {"username": "ada", "password": "correct horse"}
NEW_USERNAME = Field(
    name="username",
    to="username",
    parse=checked(parse_username),
    schema={"type": "string", "pattern": f"^{USERNAME_PATTERN}$"},
    required=True,
    about="Not case-sensitive; stored in lower case.",
)
_REGISTRATION = Form(name="Registration", example=_EXAMPLE, fields=(NEW_USERNAME, new_password("password", "password")))
_LOGIN = Form(
    name="Login",
    example=_EXAMPLE,
    strict=False,
    fields=(
        any_string("username", "username"),
        any_string("password", "password"),
        Field(
            name="code",
            to="code",
            parse=string,
            schema={"type": "string"},
            nullable=True,
            about="For an account with one-time codes: the code of the app, or a recovery code. Otherwise ignored.",
        ),
    ),
)
_PASSWORD_CHANGE = Form(
    name="PasswordChange",
    example={"currentPassword": "correct horse", "newPassword": "battery staple"},
    fields=(any_string("currentPassword", "current"), new_password("newPassword", "new")),
)


async def register(call: Call[AccountServices]) -> Response:
    """POST /users."""
    address = client_address(call.request)
    account = await call.services.accounts.register(call.values["username"], call.values["password"], address)
    return json_response(account_view(account), 201, PRIVATE)


async def log_in(call: Call[AccountServices]) -> Response:
    """POST /login."""
    address, device = client_address(call.request), agent(call.request.headers.get("user-agent", ""))
    username, password, code = call.values["username"], call.values["password"], call.values.get("code")
    token = await call.services.accounts.log_in(username, password, address, device, code)
    view = TokenView(token.value, instant(token.created_at), instant(token.expires_at))
    return json_response(view, 200, PRIVATE)


async def log_out(call: Call[AccountServices]) -> Response:
    """DELETE /logout."""
    await call.services.tokens.write(accounts.log_out, call.token)
    return Response(status_code=204)


async def me(call: Call[AccountServices]) -> Response:
    """GET /me."""
    account = await call.services.database.read(accounts.authenticate, call.token, Right.READ)
    return json_response(account_view(account), 200, PRIVATE)


async def change_password(call: Call[AccountServices]) -> Response:
    """PUT /me/password."""
    current, new = call.values["current"], call.values["new"]
    await call.services.accounts.change_password(call.token, current, new, client_address(call.request))
    return Response(status_code=204)


def account_view(account: Account) -> AccountView:
    """Return an account as its owner sees it."""
    return AccountView(account.username, instant(account.created_at))


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="POST",
        path="/users",
        name="register",
        summary="Register",
        handler=register,
        tag="accounts",
        form=_REGISTRATION,
        status=201,
        answer=AccountView,
        errors=(UsernameTaken, BreachedPassword, ObviousPassword, RegistrationClosed, TooManyRequests, Busy),
        about="If registration is closed, only the command line adds users.",
    ),
    Endpoint(
        method="POST",
        path="/login",
        name="logIn",
        summary="Log in and get a token that is valid for 30 days",
        handler=log_in,
        tag="accounts",
        form=_LOGIN,
        answer=TokenView,
        errors=(InvalidAuthentication, CodeRequired, WrongCode, TooManyRequests, Busy),
        bare=True,
        about="The token is shown only once. An account with one-time codes needs `code` too; without it the answer is "
        "`code_required`. Other members are ignored.",
    ),
    Endpoint(
        method="DELETE",
        path="/logout",
        name="logOut",
        summary="Log out: the token stops working at once",
        handler=log_out,
        tag="accounts",
        access=Access.TOKEN,
        status=204,
        about="The user's other sessions go on.",
    ),
    Endpoint(
        method="GET",
        path="/me",
        name="me",
        summary="Show my account",
        handler=me,
        tag="accounts",
        access=Access.TOKEN,
        answer=AccountView,
        about="The account of the token's user.",
    ),
    Endpoint(
        method="PUT",
        path="/me/password",
        name="changePassword",
        summary="Change my password: all my other tokens stop working at once",
        handler=change_password,
        tag="accounts",
        access=Access.TOKEN,
        form=_PASSWORD_CHANGE,
        status=204,
        errors=(WrongPassword, BreachedPassword, ObviousPassword, TooManyRequests, Busy),
        about="The token of this request stays valid. A wrong current password counts as a failed login.",
    ),
)
