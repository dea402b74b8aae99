"""A client of a house for the people of the demo: requests, repeated while the house is busy, and events without end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from saleroom.tools.clock import HouseClock
from saleroom.tools.errors import NoAnswer, ToolError
from saleroom.tools.event_stream import Comment, EventStreamParser
from saleroom.tools.http_client import HttpClient

REQUEST_SECONDS_MAX = 30.0
TRIES_MAX = 6
"""How often a busy house is asked again."""
PAUSE_SECONDS_MAX = 2.0
RECONNECT_SECONDS = 0.5


class HouseRefusal(ToolError):
    """The house refused a request, for a reason that `code` names."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(f"the house refuses with {status}: {text}")
        self.code = code


class DemoClient(HttpClient):
    """A client of the house at `url`."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "saleroom demo", total_seconds_max=REQUEST_SECONDS_MAX)
        self.clock_set = asyncio.Event()
        """Set once the house has sent its time."""
        self._clock = HouseClock()

    def now(self) -> datetime:
        """Return the time by the house's clock."""
        return self._clock.now()

    async def ask(self, method: str, path: str, token: str | None = None, body: Any = None) -> Any:
        """Return the JSON of the answer, None if it is empty. `body` is sent as JSON, or if it is bytes, as a WebP picture.

        Raises HouseRefusal, or ToolError if there is no answer.
        """
        try:
            answer = await self.send(method, path, token, body)
            for _ in range(TRIES_MAX):
                if answer.status not in (429, 503):
                    break
                await asyncio.sleep(min(PAUSE_SECONDS_MAX, answer.retry_after or 1.0))
                answer = await self.send(method, path, token, body)
        except NoAnswer as error:
            raise ToolError(f"{method} {path}: no answer ({error})") from None
        if answer.status >= 400:
            raise HouseRefusal(answer.status, _code(answer.body), answer.body[:300].decode(errors="replace"))
        return msgspec.json.decode(answer.body) if answer.body else None

    async def register(self, name: str, password: str) -> str:
        """Register a user, log in, and return the token."""
        await self.ask("POST", "/users", body={"username": name, "password": password})
        return await self.log_in(name, password)

    async def log_in(self, name: str, password: str) -> str:
        """Log a user in, and return the token."""
        return str((await self.ask("POST", "/login", body={"username": name, "password": password}))["token"])

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """Yield each event of the house as it happens, without end: a new connection resumes after the last event."""
        last = "0"
        while True:
            with suppress(NoAnswer):
                async with self.open("GET", f"/events?after={last}", endless=True) as response:
                    async for items in response.events(EventStreamParser()):
                        for item in items:
                            if isinstance(item, Comment):
                                if self._clock.hear(item.text):
                                    self.clock_set.set()
                            elif item.data and not item.name:
                                yield msgspec.json.decode(item.data)
                                last = item.id or last
            await asyncio.sleep(RECONNECT_SECONDS)


def _code(content: bytes) -> str:
    with suppress(msgspec.DecodeError):
        answer = msgspec.json.decode(content)
        if isinstance(answer, dict):
            return str(answer.get("code", ""))
    return ""
