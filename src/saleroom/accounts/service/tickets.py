"""Tickets: what stands for a name and a right password in the second step of a login on a page."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.errors import LoginExpired
from saleroom.accounts.service.sealing import Sealing

TICKET_LIFETIME = timedelta(minutes=5)
"""How long the second step of a login may take."""
_ABOUT = "login"


class Ticket(Struct, frozen=True):
    """Who has given a right password, until when that counts, and the digest of the stored digest that it belonged to."""

    user_id: int
    username: str
    verified: str
    expires_at: datetime

    def is_of(self, digest: str | None) -> bool:
        """Return whether the user's password is still the one that was given."""
        return digest is not None and hmac.compare_digest(_digest(digest), self.verified)


class LoginKeys(Struct, frozen=True):
    """The keys of logins in two steps: for the secrets at rest, and for tickets."""

    secrets: Sealing
    tickets: Sealing

    def ticket(self, user_id: int, username: str, verified: str, now: datetime) -> bytes:
        """Return a sealed ticket for the user whose password belongs to the digest `verified`."""
        ticket = Ticket(user_id, username, _digest(verified), now + TICKET_LIFETIME)
        return self.tickets.seal(msgspec.json.encode(ticket), _ABOUT)

    def read(self, ticket: bytes, now: datetime) -> Ticket:
        """Return a ticket of this house that still counts. Raises LoginExpired."""
        opened = self.tickets.open(ticket, _ABOUT)
        found = None if opened is None else msgspec.json.decode(opened, type=Ticket)
        if found is None or found.expires_at <= now:
            raise LoginExpired
        return found


def _digest(verified: str) -> str:
    return hashlib.sha256(verified.encode()).hexdigest()
