"""Readers of server-sent events that are cut off again and again, and go on where they were."""

import asyncio
import random
from collections.abc import Sequence
from itertools import cycle

import aiohttp

from tests.faults.house import SupervisedHouse
from tests.faults.link import PortForwarder

STAY_SECONDS_MAX = 0.2
"""How long a reader stays at most before it hangs up, until it has been cut off often enough."""
RUDE = 0.2
"""How many hang up even without an answer. On a slow machine readers like these alone would never get one."""
PAUSE_SECONDS_MAX = 0.05
GIVE_UP_SECONDS = 60.0


class StreamReader:
    """Follows one auction, or with gid None all of them, from the log's beginning; `ids` and `data` are its events."""

    away = frozenset({503})
    """The statuses that say that nobody serves at present."""

    def __init__(self, url: str, gid: str | None, cuts: int) -> None:
        self.gid = gid
        self.ids: list[str] = []
        self.data: list[bytes] = []
        self.cuts = 0
        self.over = False
        """Whether the house has said that nothing more will come."""
        self._url = f"{url}/events" if gid is None else f"{url}/auctions/{gid}/events"
        self._cuts_wanted = cuts

    async def run(self) -> None:
        """Read, and hang up at random often enough; then read to the end, or until cancelled."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(sock_read=GIVE_UP_SECONDS)) as http:
            while not self.over:
                stay = random.uniform(0, STAY_SECONDS_MAX) if not self.often_enough else None
                rude = random.random() < RUDE
                try:
                    async with asyncio.timeout(stay if rude else None):
                        await self._read(http, None if rude else stay)
                except (aiohttp.ClientError, OSError, TimeoutError):
                    pass  # cut off: by itself, on the way, or by the house's end
                await asyncio.sleep(random.uniform(0, PAUSE_SECONDS_MAX))

    @property
    def often_enough(self) -> bool:
        """Whether it was cut off as often as it should be."""
        return self.cuts >= self._cuts_wanted

    async def _read(self, http: aiohttp.ClientSession, stay: float | None) -> None:
        """Ask for the events after the last one, by header or address, and take them for `stay` seconds."""
        last = self.ids[-1] if self.ids else "0"
        by_header = bool(self.ids) and random.random() < 0.5
        headers = {"Last-Event-ID": last} if by_header else {}
        query = {} if by_header else {"after": last}
        async with http.get(self._url, headers=headers, params=query) as answer:
            if answer.status == 204:
                self.over = True
                return
            if answer.status in self.away:
                return
            assert answer.status == 200, (answer.status, await answer.text())
            self.cuts += 1  # however this ends
            async with asyncio.timeout(stay):
                await self._take(answer)

    async def _take(self, answer: aiohttp.ClientResponse) -> None:
        """Keep the events of a stream. One that is cut off before its empty line does not count; the first id has no event."""
        event: dict[bytes, bytes] = {}
        async for line in answer.content:
            name, _, value = line.removesuffix(b"\n").partition(b": ")
            if line != b"\n":
                event[name] = value
                continue
            if b"data" in event:
                self.ids.append(event[b"id"].decode())
                self.data.append(event[b"data"])
            event.clear()


def several(
    house: SupervisedHouse, link: PortForwarder, gids: Sequence[str], number: int, cuts: int
) -> list[StreamReader]:
    """Return `count` readers, half of them on everything, half on one auction each, some direct and some by the link."""
    ways = cycle([house.url, f"http://127.0.0.1:{link.port}"])
    return [StreamReader(next(ways), gid, cuts) for gid in [None] * (number - number // 2) + list(gids[: number // 2])]
