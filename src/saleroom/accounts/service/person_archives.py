"""All that the house holds about a user, as a ZIP for them alone: made beside the event loop, one at a time in a process."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from tempfile import TemporaryFile
from typing import BinaryIO

import structlog

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.service.accounts import Accounts
from saleroom.accounts.service.throttle import RateLimit
from saleroom.kernel.errors import Busy, Refusal, TooManyRequests
from saleroom.storage.database import Transaction
from saleroom.storage.faults import DatabaseUnavailable

log = structlog.get_logger()

AT_ONCE, PER_SECOND = 3, 3 / 3600
"""How many archives one user gets from a process: three at once, and three in an hour."""
PIECE_BYTES = 65_536
_OTHER_VERSION = "This house is being brought to another version; ask again in a few minutes."


class PersonArchives:
    """The archives of users who ask for their own."""

    def __init__(self, accounts: Accounts, write: Callable[[str, BinaryIO], object]) -> None:
        """`write` writes the archive of a user, by name, and blocks."""
        self._accounts = accounts
        self._write = write
        self._limit = RateLimit(PER_SECOND, AT_ONCE)
        self._writing = False

    async def make(self, token: str, password: str, address: str) -> BinaryIO:
        """Return the archive of the token's user as an open file without a name, which the caller closes.

        Raises Unauthenticated, MissingRight, WrongPassword, TooManyRequests, Busy or DatabaseUnavailable.
        """
        username = await self._accounts.with_password(token, password, address, _name)
        if self._writing:
            raise Busy("Another archive is being made; ask again in a moment.")
        wait = self._limit.take(username)
        if wait:
            raise TooManyRequests(
                "You have had your archive a few times; ask again later.", retry_after=math.ceil(wait)
            )
        self._writing, file = True, TemporaryFile()  # noqa: SIM115  # the caller closes it
        try:
            await asyncio.to_thread(self._write, username, file)
        except BaseException as error:
            file.close()  # if the client is gone, this ends the thread at its next piece
            if isinstance(error, Refusal) and isinstance(error.__cause__, DatabaseUnavailable):
                raise error.__cause__ from None
            if (
                type(error) is Refusal
            ):  # in words for the command line: the tables are of another version than this process
                log.warning("the data of a user cannot be read", reason=str(error))
                raise Busy(_OTHER_VERSION) from None
            raise
        finally:
            self._writing = False
        log.info("somebody has fetched all that is held about them", user=username, address=address)
        file.seek(0)
        return file


async def pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    """Yield a file piece by piece, and close it."""
    try:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece
    finally:
        file.close()


def _name(tx: Transaction, account: Account) -> str:
    return account.username
