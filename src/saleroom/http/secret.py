"""The secret of the house: one value that all processes share, and a derived key for each purpose."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from contextlib import suppress
from enum import StrEnum

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from saleroom.storage import secrets
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable

KEY_BYTES = 32
SIGNATURE_BYTES = 16
RETRY_SECONDS = 1.0
LOOK_SECONDS = 30.0
"""How long a process may use a secret that was replaced in the database."""


class Purpose(StrEnum):
    """The purpose of a key."""

    CURSORS = "cursors"
    FORMS = "forms"
    LOGIN_STEPS = "login steps"
    MAILS = "mails"
    PUSHES = "pushes"
    SECOND_FACTORS = "second factors"
    WEBHOOKS = "webhooks"


class HouseSecret:
    """The secret as one process knows it. `run` it: the database may be unavailable when the process begins."""

    def __init__(self) -> None:
        self._keys: dict[Purpose, bytes] = {}

    def key(self, purpose: Purpose) -> bytes:
        """Return the key for `purpose`. Raises DatabaseUnavailable until the database has been read."""
        key = self._keys.get(purpose)
        if key is None:
            raise DatabaseUnavailable("the secret of the house is not known yet")
        return key

    def sign(self, purpose: Purpose, text: str) -> str:
        """Return what only the house can compute of `text`, fit for an address: 22 characters, as hard to guess as 128 bits.

        Raises DatabaseUnavailable until the database has been read.
        """
        digest = hmac.digest(self.key(purpose), text.encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest[:SIGNATURE_BYTES]).decode().rstrip("=")

    async def begin(self, database: Database) -> None:
        """Read the secret before the first request. If the database is unavailable, `run` does so as soon as it can."""
        with suppress(DatabaseUnavailable):
            await self.read(database)

    async def read(self, database: Database) -> None:
        """Read the secret from the database, or make it if it does not exist. Raises DatabaseUnavailable."""
        value = await database.read(secrets.find)
        if value is None:
            value = await database.write(secrets.find_or_make)
        self.learn(value)

    def learn(self, value: str) -> None:
        """Use this secret, given in hexadecimal digits."""
        self._keys = {purpose: _derived(value, purpose) for purpose in Purpose}

    async def run(self, database: Database) -> None:
        """Read the secret again and again."""
        while True:
            try:
                await self.read(database)
                await asyncio.sleep(LOOK_SECONDS)
            except DatabaseUnavailable:
                await asyncio.sleep(RETRY_SECONDS)


def _derived(value: str, purpose: Purpose) -> bytes:
    kdf = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=f"saleroom {purpose}".encode())
    return kdf.derive(bytes.fromhex(value))
