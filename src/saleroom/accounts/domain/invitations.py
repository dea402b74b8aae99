"""Invitations: a link gives a role to anyone who takes it, once, for as long as its inviter may give that role."""

from __future__ import annotations

import hmac
from datetime import datetime, timedelta

from msgspec import Struct

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import HigherRole, InvalidInvitation, RoleAboveOwn, TooManyInvitations
from saleroom.accounts.domain.mails import Sign
from saleroom.accounts.domain.rights import Right, Role, rank

LIFETIME = timedelta(days=7)
PATH = "/join"
"""The page that the link leads to. The code stands in the fragment, which browsers send to no server."""
PER_DAY_MAX = 50
"""How many invitations one user makes within a day: nobody floods mailboxes by them."""


class Invitation(Struct, frozen=True, kw_only=True):
    """An invitation to a role. `by` is None if the command line made it. `address` is None if the inviter hands the link on."""

    id: int
    role: Role
    by_id: int | None
    by: str | None = None
    address: str | None
    made_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    used_by: str | None = None
    revoked_at: datetime | None = None

    def is_good(self, now: datetime) -> bool:
        """Return whether the invitation can still be taken."""
        return self.used_at is None and self.revoked_at is None and now < self.expires_at

    def code(self, sign: Sign) -> str:
        """Return the secret of the link, which is stored nowhere."""
        # SQLite gives the number of a deleted row again, so the instant is part of it.
        parts = (str(self.id), self.role, self.address or "", self.made_at.isoformat(), self.expires_at.isoformat())
        return f"{self.id}.{sign(' '.join(('invitation', *parts)))}"

    def has_code(self, code: str, sign: Sign) -> bool:
        """Return whether `code` is the secret of the link. The time it takes does not depend on the difference."""
        return hmac.compare_digest(self.code(sign).encode(), code.strip().encode())


def refuse_to_invite(by: Role | None, role: Role, made_today: int) -> None:
    """Raise RoleAboveOwn or TooManyInvitations unless somebody with the role `by` may invite to `role`.

    `by` is None for the command line, which stands above all.
    """
    if by is not None and rank(role) > rank(by):
        raise RoleAboveOwn
    if by is not None and made_today >= PER_DAY_MAX:
        raise TooManyInvitations(limit=PER_DAY_MAX)


def refuse_to_take(invitation: Invitation, inviter: Account | None, taker: Role) -> None:
    """Raise InvalidInvitation if the inviter could no longer give the role, HigherRole if the taker stands above it.

    `inviter` is who they are now; None for the command line.
    """
    if inviter is not None and (
        Right.MANAGE_PEOPLE not in inviter.rights or rank(invitation.role) > rank(inviter.role)
    ):
        raise InvalidInvitation
    if rank(taker) > rank(invitation.role):
        raise HigherRole
