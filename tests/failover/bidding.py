"""Bidders and readers who know three addresses of the house, and go to the next one if one does not serve them."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, cycle
from typing import Any

import aiohttp

from tests.failover.cluster import LOAD_KEY
from tests.faults.bidding import RESERVES, BidStorm, Doubt, headers
from tests.faults.readers import StreamReader

ANSWER_SECONDS_MAX = 5.0
HOT_BIDDERS = 4
"""How many bidders more the first place has than the others."""
SILENCE_SECONDS_MAX = 20.0
"""A stream says something every few seconds."""


@dataclass(frozen=True)
class Acceptance:
    """An acknowledged bid: its place among the lots, and when it was answered, by the loop's clock."""

    place: int
    answered: float


@dataclass
class ClusterStorm(BidStorm):
    """The storm of bids, at `urls` by turns: one hot lot and some others, each with an end."""

    urls: Sequence[str] = ()
    acceptances: list[Acceptance] = field(default_factory=list)

    async def begin(self, stack: AsyncExitStack) -> None:
        """Make the sellers and bidders, and begin the auctions; resources to close go on `stack`."""
        self._http = aiohttp.ClientSession(
            headers={"X-Requested-With": "test"},
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX, sock_connect=2),
            connector=aiohttp.TCPConnector(limit=0),
        )
        stack.push_async_callback(self._http.close)
        number = 2 * self.auctions + HOT_BIDDERS + 1
        users = (await self._once("POST", f"{self.urls[0]}/test-users", LOAD_KEY, {"count": number}))["users"]
        self._seller, *self._bidders = [user["token"] for user in users]
        self._terms = cycle(RESERVES)
        self._lots = [await self._next_lot() for _ in range(self.auctions)]

    async def run(self) -> None:
        """Bid until there are enough, and all trouble is over."""
        async with asyncio.TaskGroup() as group:
            for number, token in enumerate(self._bidders):
                group.create_task(self._bid(token, number // 2 if number < 2 * self.auctions else 0))

    async def keys(self) -> dict[str, Any]:
        """Return the house's public keys."""
        return dict(await self._once("GET", f"{self.urls[0]}/.well-known/saleroom.json", None, None))

    async def _settled(
        self, method: str, path: str, token: str | None, body: Any, key: str | None
    ) -> tuple[int, dict[str, Any]]:
        """Ask again, at the next address, until an answer settles the request."""
        tries: list[datetime] = []
        for turn in count(random.randrange(len(self.urls))):
            tries.append(datetime.now(UTC))
            try:
                url = self.urls[turn % len(self.urls)] + path
                async with self._http.request(method, url, json=body, headers=headers(token, key)) as answer:
                    said = await answer.json(content_type=None)
                    if answer.status in {200, 201, 400, 404, 409}:
                        if answer.status == 404:
                            self.faults.append(f"gone: {path}")
                        if answer.status != 201 and len(tries) > 1 and key is not None:
                            self._doubts.append(Doubt(method, path, token, body, key))
                        if answer.status == 201 and path.endswith("/bids"):
                            self._note_time(path)
                        self._keep(said, key, tries)
                        return answer.status, said
                    self._unsettled(answer.status, answer.headers.get("Retry-After"), said)
            except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
                pass  # no house, no answer, or a page of the proxy
            self.repeats += 1
            await asyncio.sleep(random.uniform(0.05, 0.25))
        raise AssertionError("it goes on until it is settled")

    def _note_time(self, path: str) -> None:
        gid = path.split("/")[2]
        places = [place for place, lot in enumerate(self._lots) if lot.gid == gid]
        now = asyncio.get_running_loop().time()
        self.acceptances += [Acceptance(place, now) for place in places]

    def _unsettled(self, status: int, retry_after: str | None, said: Any) -> None:
        """Count an answer that settles nothing: 503 of the house with a time to come back, or of the proxy."""
        self.unavailable += status == 503
        proxy = status in {502, 503, 504} and not isinstance(said, dict)
        if not proxy and (status != 503 or not (retry_after or "").isdecimal()):
            self.faults.append(f"answered {status}, Retry-After {retry_after}: {said}")


class ClusterReader(StreamReader):
    """A reader of server-sent events that goes to the next address whenever its stream ends or falls silent."""

    away = frozenset({502, 503, 504})

    def __init__(self, urls: Sequence[str], gid: str | None, first: int) -> None:
        super().__init__("", gid, 0)
        path = "/events" if gid is None else f"/auctions/{gid}/events"
        self._urls = [url + path for url in urls]
        self._turn = first

    async def run(self) -> None:
        """Read until nothing more will come, or until cancelled."""
        patience = aiohttp.ClientTimeout(total=None, sock_connect=2, sock_read=SILENCE_SECONDS_MAX)
        async with aiohttp.ClientSession(timeout=patience) as http:
            while not self.over:
                self._url = self._urls[self._turn % len(self._urls)]
                self._turn += 1
                with suppress(aiohttp.ClientError, OSError, TimeoutError):  # the house or its machine is away
                    await self._read(http, None)
                await asyncio.sleep(random.uniform(0.05, 0.25))
