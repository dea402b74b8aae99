"""The secret of the house: made with its tables, the same in all processes, and a key of its own for each purpose."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import StrEnum

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from saleroom.storage import secrets
from saleroom.storage.database import Database
from saleroom.storage.faults import Unavailable

KEY_BYTES = 32
RETRY_SECONDS = 1.0
LOOK_SECONDS = 30.0
"""How long a process goes by a secret that was replaced in the database."""


class Purpose(StrEnum):
    """What a key is for."""

    CURSORS = "cursors"
    FORMS = "forms"


class HouseSecret:
    """What one process knows of the secret. `run` it: the database may be away when the process begins."""

    def __init__(self) -> None:
        self._keys: dict[Purpose, bytes] = {}

    def key(self, purpose: Purpose) -> bytes:
        """Return the key for `purpose`. Raises Unavailable as long as the database could not be asked."""
        key = self._keys.get(purpose)
        if key is None:
            raise Unavailable("the secret of the house is not known yet")
        return key

    async def begin(self, database: Database) -> None:
        """Read it before the first request; where the database is away, `run` does so as soon as it can."""
        with suppress(Unavailable):
            await self.read(database)

    async def read(self, database: Database) -> None:
        """Take the secret from the database, where one is made if there is none. Raises Unavailable."""
        value = await database.read(secrets.find)
        if value is None:
            value = await database.write(secrets.find_or_make)
        self.learn(value)

    def learn(self, value: str) -> None:
        """Take this secret, in hexadecimal digits."""
        self._keys = {purpose: _derived(value, purpose) for purpose in Purpose}

    async def run(self, database: Database) -> None:
        """Keep up with the database."""
        while True:
            try:
                await self.read(database)
                await asyncio.sleep(LOOK_SECONDS)
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)


def _derived(value: str, purpose: Purpose) -> bytes:
    kdf = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=f"saleroom {purpose}".encode())
    return kdf.derive(bytes.fromhex(value))
