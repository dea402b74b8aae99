"""The rows of the table of routes that are about accounts: users and tokens."""

from __future__ import annotations

import re

from saleroom.accounts.api import account_fields, accounts
from saleroom.accounts.api.wire import AccountView, SessionsView, TokenView, UserTokensView
from saleroom.accounts.domain.errors import (
    InvalidAuthentication,
    RegistrationClosed,
    UnknownSession,
    UsernameTaken,
    WrongPassword,
)
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Endpoint, PathIdentifier
from saleroom.kernel.errors import Busy, TooManyRequests

_SESSION = PathIdentifier(
    name="id",
    pattern=re.compile(r"[1-9][0-9]{0,17}"),
    unknown=UnknownSession,
    schema={"type": "integer", "minimum": 1, "maximum": 10**18 - 1},
    about="The session.",
)

ACCOUNTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="POST",
        path="/users",
        name="register",
        summary="Register",
        handler=accounts.register,
        tag="accounts",
        form=account_fields.REGISTER,
        status=201,
        answer=AccountView,
        errors=(UsernameTaken, RegistrationClosed, TooManyRequests, Busy),
        about="A house may be closed to newcomers; then the command line adds users.",
    ),
    Endpoint(
        method="POST",
        path="/login",
        name="logIn",
        summary="Log in and obtain a token, good for 30 days",
        handler=accounts.log_in,
        tag="accounts",
        form=account_fields.LOGIN,
        answer=TokenView,
        errors=(InvalidAuthentication, TooManyRequests, Busy),
        bare=True,
        about="The token is shown this once. Members other than `username` and `password` are ignored.",
    ),
    Endpoint(
        method="DELETE",
        path="/logout",
        name="logOut",
        summary="Log out: the token is dead at once",
        handler=accounts.log_out,
        tag="accounts",
        access=Access.TOKEN,
        status=204,
        about="Other sessions of the user stay alive.",
    ),
    Endpoint(
        method="GET",
        path="/me",
        name="me",
        summary="Who am I",
        handler=accounts.me,
        tag="accounts",
        access=Access.TOKEN,
        answer=AccountView,
        about="The account that the token stands for.",
    ),
    Endpoint(
        method="PUT",
        path="/me/password",
        name="changePassword",
        summary="Change my password: all my other tokens are dead at once",
        handler=accounts.change_password,
        tag="accounts",
        access=Access.TOKEN,
        form=account_fields.PASSWORD_CHANGE,
        status=204,
        errors=(WrongPassword, TooManyRequests, Busy),
        about="The token that was sent stays alive. A wrong current password counts as a failed login.",
    ),
    Endpoint(
        method="GET",
        path="/me/sessions",
        name="mySessions",
        summary="Where I am logged in, the latest login first",
        handler=accounts.sessions,
        tag="accounts",
        access=Access.TOKEN,
        answer=SessionsView,
        about="Tokens are not shown, only since when they are and on which device.",
    ),
    Endpoint(
        method="DELETE",
        path="/me/sessions/{id}",
        name="endSession",
        summary="End one of my sessions: its token is dead at once",
        handler=accounts.end_session,
        tag="accounts",
        identifier=_SESSION,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownSession,),
        about="`id` is that of `GET /me/sessions`.",
    ),
    Endpoint(
        method="DELETE",
        path="/me/sessions",
        name="endAllSessions",
        summary="Log out everywhere: all my tokens are dead at once, this one too",
        handler=accounts.end_all,
        tag="accounts",
        access=Access.TOKEN,
        status=204,
        about="For a device that was lost: log in again afterwards.",
    ),
)

TEST_USERS: Endpoint[AccountServices] = Endpoint(
    method="POST",
    path="/test-users",
    name="makeTestUsers",
    summary="Make users for a load test, with a token each",
    handler=accounts.make_test_users,
    tag="accounts",
    access=Access.TOKEN,
    form=account_fields.TEST_USERS,
    status=201,
    answer=UserTokensView,
    about="The token is the setting `load_key`. A house without that setting has no such address. Nobody can log in as them.",
)
