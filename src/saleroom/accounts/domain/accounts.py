"""Accounts: the form of usernames and passwords, and the lifetime of tokens."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta

from msgspec import Struct

from saleroom.accounts.domain.errors import MailRequired
from saleroom.accounts.domain.rights import (
    STAFF_RIGHTS,
    Right,
    Role,
    Scope,
    Sellers,
    missing_for_want_of_codes,
    refuse_to_offer,
    refuse_without,
    rights_of,
)
from saleroom.accounts.domain.sanctions import BARRED_RIGHTS, Bar
from saleroom.kernel.errors import Fault
from saleroom.kernel.parties import Party

TOKEN_BYTES = 10
"""Random bytes of a token; in standard Base64 with padding they are 16 characters (docs/specification.md, "AuthToken")."""
TOKEN_LIFETIME = timedelta(days=30)
"""From issue to expiry, exactly (docs/specification.md, "Limits")."""
SESSIONS_MAX = 500
"""Sessions of one user; a further login ends the oldest."""

PASSWORD_MIN, PASSWORD_MAX = 8, 256
USERNAME_PATTERN = r"[A-Za-z0-9._-]{3,32}"
_USERNAME = re.compile(USERNAME_PATTERN)
_OF_HOUSE = re.compile("#[a-z]{1,31}")


class Holder(Struct, frozen=True, kw_only=True):
    """A user with what their token lets them do; the `id` is not public. `scopes` is None for a token of a login.

    `bar` is the suspension or ban that was in force when the user was read.
    """

    id: int
    username: str
    role: Role = Role.MEMBER
    scopes: frozenset[Scope] | None = None
    bar: Bar | None = None
    needs_codes: bool = False
    """Whether the user is staff, and a member only until they have a second factor."""
    needs_mail: bool = False
    """Whether the house asks for a verified mail address, and the user has none."""

    @property
    def party(self) -> Party:
        """The user as every area knows them."""
        return Party(self.id, self.username)

    @property
    def rights(self) -> frozenset[Right]:
        """What the token lets the user do."""
        without_mail = frozenset({Right.BID} if self.needs_mail else ())
        return rights_of(self.role, self.scopes) - (frozenset() if self.bar is None else BARRED_RIGHTS) - without_mail

    def refuse_without(self, right: Right) -> None:
        """Raise MissingRight if the token does not have this right, Barred if a bar takes it, or MailRequired."""
        if self.bar is not None:
            self.bar.refuse(right)
        if self.needs_codes and right in STAFF_RIGHTS:
            raise missing_for_want_of_codes(right)
        refuse_without(right, self.role, self.scopes)
        if self.needs_mail and right is Right.BID:
            raise MailRequired


class Account(Holder, frozen=True, kw_only=True):
    """A user as those who run the house know them. `seller_since` is when staff approved them as a seller, if they did.

    `warning` is the reason of the last warning, until the user has read it. `passkey_id` is the passkey that opened the
    session, if one did.
    """

    created_at: datetime
    seller_since: datetime | None = None
    warning: str | None = None
    passkey_id: int | None = None

    def refuse_to_offer(self, sellers: Sellers) -> None:
        """Raise SellerNotApproved, OnlyStaffSells or MailRequired unless the user may offer lots where these sell."""
        refuse_to_offer(sellers, self.role, approved=self.seller_since is not None)
        if self.needs_mail:
            raise MailRequired


def name_digest(username: str) -> str:
    """Return the SHA-256 of a name, which is kept of somebody who was erased."""
    return hashlib.sha256(username.encode()).hexdigest()


def is_of_house(name: str) -> bool:
    """Return whether an account with this name is one of the house itself, such as that of the floor: no username has a `#`."""
    return _OF_HOUSE.fullmatch(name) is not None


def parse_username(text: str) -> str | Fault:
    """Return the username as it is stored, in lower case, or its fault."""
    if _USERNAME.fullmatch(text) is None:
        return Fault("username_format", "must be 3 to 32 characters of a-z, 0-9, '.', '_' and '-'")
    return text.lower()


def parse_password(text: str) -> str | Fault:
    """Return the password, unmodified, or its fault."""
    if not PASSWORD_MIN <= len(text) <= PASSWORD_MAX:
        message = f"must have {PASSWORD_MIN} to {PASSWORD_MAX} characters"
        return Fault("password_length", message, least=PASSWORD_MIN, most=PASSWORD_MAX)
    return text


def expiry(created_at: datetime) -> datetime:
    """Return the instant from which a token issued at `created_at` is refused."""
    return created_at + TOKEN_LIFETIME
