"""Shown mails: a house to look at shows its mails on a page instead of sending them."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage

KEPT_MAX = 200
"""Older mails are forgotten."""


class ShownMails:
    """The latest mails of this process, the newest first; it stands in for a mail server."""

    def __init__(self) -> None:
        self._mails: deque[tuple[int, EmailMessage]] = deque(maxlen=KEPT_MAX)
        self._count = 0

    def latest(self) -> list[tuple[int, EmailMessage]]:
        """Return the mails with their numbers."""
        return [*self._mails]

    def find(self, number: int) -> EmailMessage | None:
        """Return a mail by its number; None if it is forgotten."""
        return next((mail for found, mail in self._mails if found == number), None)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[ShownMails]:
        """Take mails, as a mail server does."""
        yield self

    async def send(self, mail: EmailMessage, sender: str, receiver: str) -> None:
        """Keep a mail, in place of sending it from one address to another."""
        self._count += 1
        self._mails.appendleft((self._count, mail))
