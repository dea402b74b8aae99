"""Bidders who do not give up: each bid is repeated under its key until the house has said what became of it."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from typing import Any

import aiohttp

from tests.faults.house import LOAD_KEY, SECONDS_MAX

TERMS = {"name": "Longcase clock", "startingPrice": "1.000", "increment": "0.001"}
TWICE = 0.05
"""How many bids are sent twice at once, by the same key."""
ANSWER_SECONDS_MAX = 10.0


@dataclass
class Storm:
    """Bidders on some auctions of the house at `url`, two on each, until `wanted` bids are acknowledged and it is `calm`."""

    url: str
    broker_port: int
    wanted: int
    auctions: int = 20
    gids: list[str] = field(default_factory=list)
    accepted: list[tuple[str, str, str]] = field(default_factory=list)
    """The bids that the house has acknowledged: gid, bidder, amount."""
    faults: list[str] = field(default_factory=list)
    """What the bidders saw that may not be."""
    repeats: int = 0
    """How often a request was sent again because its answer never came, or was 503."""
    pace: float = 0.0
    """Seconds that each bidder rests between two bids, on average."""
    calm: asyncio.Event = field(default_factory=asyncio.Event)
    _http: aiohttp.ClientSession = field(init=False, repr=False)

    async def begin(self, stack: AsyncExitStack) -> None:
        """Make the sellers and bidders, and begin the auctions; what has to be closed goes on `stack`."""
        self._http = aiohttp.ClientSession(
            self.url,
            headers={"X-Requested-With": "test"},
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX),
            connector=aiohttp.TCPConnector(limit=0),
        )
        stack.push_async_callback(self._http.close)
        users = (await self._once("POST", "/test-users", LOAD_KEY, {"count": 2 * self.auctions + 1}))["users"]
        self._seller, *self._bidders = [user["token"] for user in users]
        for _ in range(self.auctions):
            self.gids.append((await self._once("POST", "/auctions", self._seller, TERMS))["gid"])

    async def run(self) -> None:
        """Bid until there are enough, and all trouble is over."""
        amounts = {gid: (Decimal(1000 + number) / 1000 for number in count()) for gid in self.gids}
        pairs = zip(self._bidders, [gid for gid in self.gids for _ in range(2)], strict=True)
        async with asyncio.TaskGroup() as group:
            for token, gid in pairs:
                group.create_task(self._bid(token, gid, amounts[gid]))

    async def more(self, bids: int) -> None:
        """Wait until so many more bids are acknowledged."""
        enough = len(self.accepted) + bids
        async with asyncio.timeout(SECONDS_MAX):
            while len(self.accepted) < enough:
                await asyncio.sleep(0.01)

    async def close(self) -> list[dict[str, Any]]:
        """Close all auctions, and return them as they are then shown."""
        for gid in self.gids:
            await self._settled("POST", f"/auctions/{gid}/close", self._seller, {}, f"close-{gid}")
        return [await self._once("GET", f"/auctions/{gid}", None, None) for gid in self.gids]

    async def _bid(self, token: str, gid: str, amounts: Iterator[Decimal]) -> None:
        for turn in count():
            if len(self.accepted) >= self.wanted and self.calm.is_set():
                return
            body = {"amount": str(next(amounts))}
            times = 2 if random.random() < TWICE else 1
            sent = [self._settled("POST", f"/auctions/{gid}/bids", token, body, f"bid-{turn}") for _ in range(times)]
            answers = await asyncio.gather(*sent)
            if bid := self._the_one(answers):
                self._note(gid, bid)
            if self.pace:
                await asyncio.sleep(random.uniform(0, 2 * self.pace))

    def _the_one(self, answers: Sequence[tuple[int, Any]]) -> dict[str, Any] | None:
        """Return the recorded bid, if one was; of the same request sent twice at once both must tell of the same one.

        A refusal is not remembered, so that of two the first may be refused and the second taken: the leader may have been
        outbid between them.
        """
        taken = [said["bid"] for status, said in answers if status == 201]
        if any(bid != taken[0] for bid in taken):
            self.faults.append(f"two answers to one request: {taken}")
        return taken[0] if taken else None

    def _note(self, gid: str, bid: dict[str, Any]) -> None:
        self.accepted.append((gid, bid["bidder"], bid["amount"]))

    async def _settled(self, method: str, path: str, token: str, body: Any, key: str) -> tuple[int, Any]:
        """Ask again until the answer is no fault of the way."""
        while True:
            try:
                async with self._http.request(method, path, json=body, headers=_headers(token, key)) as answer:
                    said = await answer.json()
                    if answer.status != 503:
                        assert answer.status in {200, 201, 409}, (answer.status, said)
                        return answer.status, said
            except (aiohttp.ClientError, OSError, TimeoutError):
                pass  # the house is away; the key will tell what became of the request
            self.repeats += 1
            await asyncio.sleep(random.uniform(0.02, 0.1))

    async def _once(self, method: str, path: str, token: str | None, body: Any) -> Any:
        async with self._http.request(method, path, json=body, headers=_headers(token, None)) as answer:
            assert answer.status in {200, 201}, await answer.text()
            return await answer.json()


def _headers(token: str | None, key: str | None) -> dict[str, str]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return headers if key is None else {**headers, "Idempotency-Key": key}
