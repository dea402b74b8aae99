"""Sending: the waiting words become mails, which go out after the commit; each try is written down before it begins."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from email.message import EmailMessage
from random import SystemRandom
from typing import Protocol

import structlog

from saleroom.notices.service.letters import Letter, LetterDecision, next_letters
from saleroom.outbox import store
from saleroom.outbox.kinds import MailKind, Sign
from saleroom.outbox.message import MAIL, State
from saleroom.outbox.smtp import LastingFault, PassingFault, ServerFault
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable

LEASE = "notices-sending"
PERSONS_AT_ONCE = 40
CONNECTIONS = 4
"""Connections to the mail server at a time."""
SEND_SECONDS_MAX = 40.0
"""How long one mail may take. It is less than the shortest pause (`message.pause`), so that no other try begins meanwhile."""
POLL_SECONDS = 2.0
AWAY_SECONDS_MIN, AWAY_SECONDS_MAX = 1.0, 60.0
"""The pauses while the mail server is away."""
SWEEP_SECONDS = 600.0
SWEPT_AT_ONCE = 500

UNREADABLE = "The house cannot read what it is about."

_log = structlog.get_logger()
_CHANCE = SystemRandom()

Write = Callable[[Letter], EmailMessage]


class Connection(Protocol):
    """A connection that mails go out by."""

    async def send(self, mail: EmailMessage, sender: str, receiver: str) -> None:
        """Hand over one mail. Raises MailFault."""


class Server(Protocol):
    """Where mails go."""

    def connected(self) -> AbstractAsyncContextManager[Connection]:
        """Connect. Raises ServerFault."""


class Sender:
    """Sends the words of the channel mail; `round` is that of a Duty."""

    def __init__(
        self,
        database: Database,
        server: Server,
        sender: str,
        write: Write,
        kinds: Mapping[str, MailKind],
        sign: Sign,
    ) -> None:
        """`sender` is the address that mails come from, `write` makes a mail of a letter."""
        self._database = database
        self._server = server
        self._sender = sender
        self._write = write
        self._kinds = kinds
        self._sign = sign
        self._away = 0
        """How often in a row the mail server could not be used."""
        self._not_before = -math.inf
        """Until when it is left alone, whatever is posted."""

    async def round(self) -> float:
        """Send the letters that are due, and return in how many seconds to look again. Raises DatabaseUnavailable."""
        if (wait := self._not_before - time.monotonic()) > 0:
            return wait
        found = await self._database.read(next_letters, self._kinds, self._sign, PERSONS_AT_ONCE)
        if any(one.dropped or one.put_off for one in found):
            await self._database.write(set_aside, found)
        letters = deque(one.letter for one in found if one.letter is not None)
        if letters:
            try:
                await self._send_all(letters)
            except ServerFault as fault:
                return self._back_off(fault)
            self._recovered()
        if len(found) == PERSONS_AT_ONCE:
            return 0
        seconds = await self._database.read(store.waiting_at, MAIL)
        return POLL_SECONDS if seconds is None else min(POLL_SECONDS, max(seconds, POLL_SECONDS / 4))

    async def _send_all(self, letters: deque[Letter]) -> None:
        """Send the letters over a few connections. Raises ServerFault; the words that are left say it, and wait."""
        work = [asyncio.create_task(self._send_some(letters)) for _ in range(min(CONNECTIONS, len(letters)))]
        try:
            await asyncio.gather(*work)
        except ServerFault as fault:
            words = [word for letter in letters for word in letter.words]
            await asyncio.gather(*work, return_exceptions=True)
            if words:
                await self._database.write(store.held_up, words, str(fault))
            raise
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    async def _send_some(self, letters: deque[Letter]) -> None:
        """Send letters over one connection after the other. Raises ServerFault if a new one takes none.

        Many servers take only so many mails by a connection: one that took some and ends is no fault.
        """
        while letters:
            letter, tried = letters[0], 0
            try:
                async with self._server.connected() as connection:
                    usable = True
                    while letters and usable:
                        letter = letters.popleft()
                        usable = await self._send(connection, letter)
                        tried += 1
            except ServerFault as fault:
                if tried:
                    letters.appendleft(letter)
                    continue
                await self._database.write(store.held_up, letter.words, str(fault))
                raise

    async def _send(self, connection: Connection, letter: Letter) -> bool:
        """Try to send one letter, and write down what came of it; False if the connection is of no more use.

        Raises ServerFault.
        """
        try:
            mail = self._write(letter)
        except Exception:  # noqa: BLE001  # facts that an import brought may miss anything; other mails go on
            _log.exception("a mail could not be made of its words", word=letter.number)
            await self._database.write(store.settle, letter.words, State.GIVEN_UP, UNREADABLE)
            return True
        try:
            if not await self._database.write(store.claim, letter.words, _CHANCE.random()):
                return True
        except store.LetterChanged:
            return True
        try:
            async with asyncio.timeout(SEND_SECONDS_MAX):
                await connection.send(mail, self._sender, letter.address)
        except LastingFault as fault:
            await self._database.write(store.end_try, letter.words, State.GIVEN_UP, str(fault))
            _log.warning("a mail was refused for good", word=letter.number, reason=str(fault))
            return fault.usable
        except (PassingFault, TimeoutError) as fault:
            reason = str(fault) or "the mail server took too long"
            state = await self._database.write(store.failed, letter.words, reason)
            if state is State.GIVEN_UP:
                _log.warning("a mail was given up after the last try", word=letter.number, reason=reason)
            return isinstance(fault, PassingFault) and fault.usable
        except ServerFault as fault:
            await self._database.write(store.release, letter.words, str(fault))
            raise
        else:
            await self._database.write(store.end_try, letter.words, State.SENT)
        return True

    def _back_off(self, fault: ServerFault) -> float:
        """Log a fault once, and return how long to wait: longer each time, with jitter."""
        if self._away == 0:
            _log.warning("the mail server cannot be used; mails wait", reason=str(fault))
        self._away += 1
        limit = min(AWAY_SECONDS_MAX, AWAY_SECONDS_MIN * 2 ** min(self._away - 1, 10))
        seconds = _CHANCE.uniform(limit / 2, limit)
        self._not_before = time.monotonic() + seconds
        return seconds

    def _recovered(self) -> None:
        if self._away:
            _log.info("mails go out again")
        self._away = 0


def set_aside(tx: Transaction, found: Sequence[LetterDecision]) -> None:
    """Drop words that are not to be sent, and put off those of people who have quiet hours."""
    for one in found:
        for reason in {reason for _, reason in one.dropped}:
            store.settle(tx, [word for word, why in one.dropped if why == reason], State.DROPPED, reason)
        if one.put_off:
            store.put_off(tx, one.put_off, one.quiet)


async def sweep(database: Database, unsent: Sequence[str] = ()) -> None:
    """Drop words that have waited for too long, and delete old ones, until cancelled; also where no mails go out.

    Words of the channels `unsent`, which nobody sends, are deleted too.
    """
    while True:
        with suppress(DatabaseUnavailable):
            for channel in unsent:
                while await database.write(store.discard_all, channel, SWEPT_AT_ONCE) >= SWEPT_AT_ONCE:
                    pass
            # A few at a time, as bids wait for each transaction.
            while await database.write(store.sweep, SWEPT_AT_ONCE) >= SWEPT_AT_ONCE:
                pass
        await asyncio.sleep(SWEEP_SECONDS)
