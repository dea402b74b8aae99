"""Streams that belong to a session: they end soon after it, whatever ended it, and in every process.

The browser of such a stream comes back by itself, as somebody who is not logged in, and its page is renewed as such.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from saleroom.feed.feed import Feed
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.tokens import Tokens

LOOK_SECONDS = 5.0
"""For so long a stream may outlive its session. One statement asks about 512 sessions."""


class SessionStreams:
    """The streams of one feed that belong to sessions; `run` it."""

    def __init__(self, feed: Feed, tokens: Tokens) -> None:
        self._feed = feed
        self._tokens = tokens

    async def run(self) -> None:
        """End streams with their sessions, until cancelled. Without the database, the next look comes."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with suppress(DatabaseUnavailable):
                await self.look()

    async def look(self) -> None:
        """End the streams of the sessions that have ended. Raises DatabaseUnavailable."""
        dead = await self._tokens.dead({one.session for one in self._feed.of_sessions() if one.session is not None})
        for follower in self._feed.of_sessions():
            if follower.session in dead:
                follower.end()
