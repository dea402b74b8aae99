"""Challenges for passkeys: made for one browser, good for a few minutes, used once.

The browser keeps the challenge itself, sealed. So a stranger who asks for many fills no table, and any process can read what
another has made. Only a challenge that was answered rightly is written, by its digest, until it would have expired.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.passkeys import CHALLENGE_BYTES, CHALLENGE_LIFETIME
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.storage import passkeys
from saleroom.storage.database import Transaction


class Adding(Struct, frozen=True):
    """What a challenge is for: a new passkey of a user, who has given the password."""

    user_id: int
    handle: bytes
    name: str


class Challenge(Struct, frozen=True):
    """A challenge, and the digest of what only the browser has that it was made for. `adding` is None for a login."""

    value: bytes
    bound: str
    expires_at: datetime
    adding: Adding | None = None

    def use(self, tx: Transaction) -> bool:
        """Use it up; False if it was used before, or has expired by now."""
        if self.expires_at <= tx.now():
            return False
        return passkeys.use_challenge(tx, hashlib.sha256(self.value).hexdigest(), self.expires_at)


class Challenges:
    """Makes challenges and reads them again."""

    def __init__(self, sealing: Sealing) -> None:
        self._sealing = sealing

    def make(self, bound: str, now: datetime, adding: Adding | None = None) -> tuple[Challenge, bytes]:
        """Return a new challenge for the browser that has the secret `bound`, and the same one sealed."""
        value = secrets.token_bytes(CHALLENGE_BYTES)
        made = Challenge(value, _digest(bound), now + CHALLENGE_LIFETIME, adding)
        return made, self._sealing.seal(msgspec.json.encode(made), _about(adding))

    def read(self, ticket: bytes, bound: str, now: datetime, *, adding: bool) -> Challenge | None:
        """Return a sealed challenge; None if it is for something else, for another browser, or has expired."""
        opened = self._sealing.open(ticket, _about(adding))
        found = None if opened is None else msgspec.json.decode(opened, type=Challenge)
        if found is None or found.bound != _digest(bound) or found.expires_at <= now:
            return None
        return found


def _about(adding: object) -> str:
    return "new passkey" if adding else "login by passkey"


def _digest(bound: str) -> str:
    return hashlib.sha256(bound.encode()).hexdigest()
