"""What the answers about accounts hold."""

from __future__ import annotations

from msgspec import Struct

from saleroom.accounts.domain.accounts import Account
from saleroom.http.responses import FaultView
from saleroom.kernel.instants import instant


class TokenView(Struct, frozen=True, rename="camel"):
    """A new token; the value is shown this once."""

    token: str
    created_at: str
    expires_at: str


class AccountView(Struct, frozen=True, rename="camel"):
    """An account as its owner sees it."""

    username: str
    created_at: str


class SessionView(Struct, frozen=True, rename="camel"):
    """A session of one's own: a live token, without its value."""

    id: int
    created_at: str
    expires_at: str
    agent: str
    current: bool


class SessionsView(Struct, frozen=True):
    """Where one is logged in, the latest login first."""

    sessions: list[SessionView]


class UserTokenView(Struct, frozen=True, rename="camel"):
    """A test user and its token; the value is shown this once."""

    username: str
    token: str
    expires_at: str


class UserTokensView(Struct, frozen=True):
    """The test users that were made."""

    users: list[UserTokenView]


class LoginErrorView(Struct, frozen=True):
    """An error of a login, in the specification's own shape."""

    message: str | dict[str, list[FaultView]]


def account_view(account: Account) -> AccountView:
    """Return an account as its owner sees it."""
    return AccountView(account.username, instant(account.created_at))
