"""What words are sent to in the trial of the outbox: a mail server, webhooks and a push service, all of them unreliable."""

import asyncio
import random
import time
from dataclasses import dataclass, field

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.notices.push_service import PushService
from tests.notices.receiver import Receiver
from tests.outbox.mail_server import TAKEN, Post

TROUBLE = 0.02
"""The share of words for each fault of a server."""
HANGS_SECONDS = 0.9
"""Longer than a try may take in a trial."""
AWAY_SECONDS_MAX = 1.0
"""How long webhooks and the push service are away: a webhook gives up in a trial after some three seconds."""


class UnreliablePost(Post):
    """A mail server that takes its time, and sometimes refuses a mail or loses the connection."""

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd's name
        """Take a mail or not, by chance."""
        chance = random.random()
        if chance < 2 * TROUBLE:
            self.answers = ["drop" if chance < TROUBLE else "450 later"]
        answer = await super().handle_DATA(server, session, envelope)
        if answer == TAKEN:
            await asyncio.sleep(random.random() * 0.05)
        return answer


class UnreliableReceiver(Receiver):
    """A server of webhooks that sometimes fails, leads elsewhere, hangs or ends the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.away_until = 0.0
        self.taken: set[str] = set()
        """The ids of what it has answered that it took."""

    def answer(self) -> str:
        """Take what was posted or not, by chance."""
        faults = ["500", "302", "hang", "cut"]
        chance = random.random()
        if time.monotonic() < self.away_until or chance < len(faults) * TROUBLE:
            return faults[int(chance / TROUBLE) % len(faults)]
        self.taken.add(self.posts[-1][0]["webhook-id"])
        return "204"


@dataclass
class UnreliablePushService(PushService):
    """A push service that sometimes fails, asks for peace, or has a message and does not say so in time."""

    away_until: float = 0.0
    faults: tuple[int, ...] = field(default=(500, 503, 429))

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str]]:
        """Take a message or not, by chance."""
        chance = random.random()
        if time.monotonic() < self.away_until or chance < len(self.faults) * TROUBLE:
            return self.faults[int(chance / TROUBLE) % len(self.faults)], {"Retry-After": "1"}
        answer = super().take(path, headers, body)
        if random.random() < TROUBLE:
            time.sleep(HANGS_SECONDS)  # in a thread of its own
        return answer
