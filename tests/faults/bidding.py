"""Bidders who do not give up: each bid is repeated under its key until the house has answered with its result."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count, cycle
from typing import Any, NamedTuple

import aiohttp

from tests.faults.house import LOAD_KEY
from tests.patience import SECONDS_MAX

LOTS = 20
TERMS = {"name": "Longcase clock", "startingPrice": "1.000", "increment": "0.001"}
RESERVES = (None, "1.010", "999.000")
"""No reserve, one that is soon met, and one that is never met."""
SOFT_SECONDS = 1
TWICE = 0.05
"""How many bids are sent twice at once, by the same key."""
BOTH = "both"
"""The beginning of such a key."""
ANSWER_SECONDS_MAX = 10.0
LOT_BIDS_MIN = 5
STRETCH_MAX = 32.0
RECEIPTS_EACH = 25
"""One of so many receipts is kept, to be verified."""


@dataclass
class StormLot:
    """An auction of the storm, and the amounts to bid on it, each above the one before; `bids` were taken.

    `stretch` is how many times as long as the first ones it lasts.
    """

    gid: str
    bids: int = 0
    stretch: float = 1.0
    amounts: Iterator[Decimal] = field(default_factory=lambda: (Decimal(1000 + number) / 1000 for number in count()))


class Doubt(NamedTuple):
    """A request that was refused at last, after an attempt without an answer.

    A refusal is not remembered, and the attempt before may still be under way, at another process: it may be done later.
    """

    method: str
    path: str
    token: str | None
    body: Any
    key: str | None


@dataclass
class BidStorm:
    """Bidders on some auctions of the house at `url`, two on each, until `wanted` bids are acknowledged and it is `calm`.

    With `lot_seconds`, the least and the most, each lot ends by itself after so long, and the next one takes its place.
    On a machine so slow that a lot ends before its bids arrive, the next ones last longer.
    """

    url: str
    broker_port: int
    wanted: int
    auctions: int = LOTS
    lot_seconds: tuple[float, float] | None = None
    gids: list[str] = field(default_factory=list)
    """Every auction that the house has acknowledged."""
    accepted: list[tuple[str, str, str]] = field(default_factory=list)
    """The bids that the house has acknowledged: gid, bidder, amount."""
    faults: list[str] = field(default_factory=list)
    """The breaches that the bidders saw."""
    repeats: int = 0
    """How often a request was sent again because its answer never came, or was 503."""
    unavailable: int = 0
    """How often the answer was 503."""
    unanswered: list[datetime] = field(default_factory=list)
    """When bids were decided whose first answer never came: only a repetition got it."""
    receipts: list[str] = field(default_factory=list)
    """Some of the receipts for accepted bids."""
    told_late: int = 0
    """How many requests had been done after all that were refused after an attempt without an answer."""
    pace: float = 0.0
    """Seconds that each bidder rests between two bids, on average."""
    calm: asyncio.Event = field(default_factory=asyncio.Event)
    _stretch: float = 1.0
    _doubts: list[Doubt] = field(default_factory=list)
    _http: aiohttp.ClientSession = field(init=False, repr=False)

    async def begin(self, stack: AsyncExitStack) -> None:
        """Make the sellers and bidders, and begin the auctions; resources to close go on `stack`."""
        self._http = aiohttp.ClientSession(
            self.url,
            headers={"X-Requested-With": "test"},
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX),
            connector=aiohttp.TCPConnector(limit=0),
        )
        stack.push_async_callback(self._http.close)
        users = (await self._once("POST", "/test-users", LOAD_KEY, {"count": 2 * self.auctions + 1}))["users"]
        self._seller, *self._bidders = [user["token"] for user in users]
        self._terms = cycle(RESERVES)
        self._lots = [await self._next_lot() for _ in range(self.auctions)]

    async def run(self) -> None:
        """Bid until there are enough, and all trouble is over."""
        async with asyncio.TaskGroup() as group:
            for number, token in enumerate(self._bidders):
                group.create_task(self._bid(token, number // 2))

    async def more(self, bids: int) -> None:
        """Wait until so many more bids are acknowledged."""
        enough = len(self.accepted) + bids
        async with asyncio.timeout(SECONDS_MAX):
            while len(self.accepted) < enough:
                await asyncio.sleep(0.01)

    async def keys(self) -> dict[str, Any]:
        """Return the house's public keys."""
        return dict(await self._once("GET", "/.well-known/saleroom.json", None, None))

    async def close(self) -> list[dict[str, Any]]:
        """Close all auctions, or wait for their ends, and return them as they are then shown."""
        await self._ask_again()
        for gid in self.gids:
            if self.lot_seconds is None:
                await self._settled("POST", f"/auctions/{gid}/close", self._seller, {}, f"close-{gid}")
        return [await self._over(gid) for gid in self.gids]

    async def _ask_again(self) -> None:
        """Ask once more what became of the doubts."""
        doubts, self._doubts = self._doubts, []
        for doubt in doubts:
            status, said = await self._settled(*doubt)
            if status != 201:
                continue
            if "bid" not in said:
                self.gids.append(said["gid"])
            elif (bid := (doubt.path.split("/")[2], said["bid"]["bidder"], said["bid"]["amount"])) not in self.accepted:
                self.accepted.append(bid)
            else:
                continue  # it was sent twice, and the other answer told
            self.told_late += 1

    async def _over(self, gid: str) -> dict[str, Any]:
        async with asyncio.timeout(SECONDS_MAX):
            while True:
                status, shown = await self._settled("GET", f"/auctions/{gid}", None, None, None)
                if status == 200 and shown["status"] == "closed":
                    return dict(shown)
                await asyncio.sleep(0.1)

    async def _next_lot(self) -> StormLot:
        """Begin an auction. If the house was away until its end, it could not be made, and another one is made."""
        while True:
            terms: dict[str, Any] = dict(TERMS)
            stretch = self._stretch
            if self.lot_seconds is not None:
                ends = datetime.now(UTC) + timedelta(seconds=stretch * random.uniform(*self.lot_seconds))
                soft = {"window": SOFT_SECONDS, "extension": SOFT_SECONDS, "cap": _instant(ends + timedelta(seconds=2))}
                terms |= {"endsAt": _instant(ends), "softClose": random.choice([None, soft])}
                terms |= {"reservePrice": next(self._terms)}
            key = f"lot-{random.getrandbits(64)}"
            status, said = await self._settled("POST", "/auctions", self._seller, terms, key)
            if status == 201:
                self.gids.append(said["gid"])
                return StormLot(said["gid"], stretch=stretch)

    async def _bid(self, token: str, place: int) -> None:
        for turn in count():
            if len(self.accepted) >= self.wanted and self.calm.is_set():
                return
            lot = self._lots[place]
            body = {"amount": str(next(lot.amounts))}
            times = 2 if random.random() < TWICE else 1
            key = f"{'bid' if times == 1 else BOTH}-{turn}"
            sent = [self._settled("POST", f"/auctions/{lot.gid}/bids", token, body, key) for _ in range(times)]
            answers = await asyncio.gather(*sent)
            if bid := self._the_one(answers):
                lot.bids += 1
                self._note(lot.gid, bid)
            elif any(said.get("code") == "auction_closed" for _, said in answers) and self._lots[place] is lot:
                if lot.bids < LOT_BIDS_MIN:
                    # One fault ends many lots: each doubles the length that it had itself.
                    self._stretch = min(STRETCH_MAX, max(self._stretch, 2 * lot.stretch))
                self._lots[place] = await self._next_lot()
            if self.pace:
                await asyncio.sleep(random.uniform(0, 2 * self.pace))

    def _the_one(self, answers: Sequence[tuple[int, Any]]) -> dict[str, Any] | None:
        """Return the recorded bid, if any; if the same request was sent twice at once, both answers must show the same bid.

        A refusal is not remembered, so the first of the two may be refused and the second taken: the leader may have been
        outbid between them.
        """
        taken = [said["bid"] for status, said in answers if status == 201]
        if any(bid != taken[0] for bid in taken):
            self.faults.append(f"two answers to one request: {taken}")
        return taken[0] if taken else None

    def _note(self, gid: str, bid: dict[str, Any]) -> None:
        self.accepted.append((gid, bid["bidder"], bid["amount"]))

    async def _settled(
        self, method: str, path: str, token: str | None, body: Any, key: str | None
    ) -> tuple[int, dict[str, Any]]:
        """Ask again until an answer settles the request."""
        tries: list[datetime] = []
        while True:
            tries.append(datetime.now(UTC))
            try:
                async with self._http.request(method, path, json=body, headers=headers(token, key)) as answer:
                    said = await answer.json()
                    if answer.status in {200, 201, 400, 409}:
                        if answer.status != 201 and len(tries) > 1 and key is not None:
                            self._doubts.append(Doubt(method, path, token, body, key))
                        self._keep(said, key, tries)
                        return answer.status, said
                    self._unsettled(answer.status, answer.headers.get("Retry-After"), said)
                    tries.pop()  # it was answered
            except (aiohttp.ClientError, OSError, TimeoutError):
                pass  # the house is away; a repeat with the key will show the request's result
            self.repeats += 1
            await asyncio.sleep(random.uniform(0.05, 0.25))

    def _unsettled(self, status: int, retry_after: str | None, said: Any) -> None:
        """Count an answer that settles nothing: only a 503 with a time to come back is allowed."""
        self.unavailable += status == 503
        if status != 503 or not (retry_after or "").isdecimal():
            self.faults.append(f"answered {status}, Retry-After {retry_after}: {said}")

    def _keep(self, said: dict[str, Any], key: str | None, tries: Sequence[datetime]) -> None:
        """Keep a receipt now and then, and note a bid that was decided for an attempt without an answer."""
        alone = len(tries) > 1 and not (key or "").startswith(BOTH)
        bid = said.get("bid") if alone else None
        if bid and (decided := datetime.fromisoformat(bid["placedAt"])) < tries[-1]:
            self.unanswered.append(decided)
        if "receipt" in said and random.randrange(RECEIPTS_EACH) == 0:
            self.receipts.append(said["receipt"])

    async def _once(self, method: str, path: str, token: str | None, body: Any) -> Any:
        async with self._http.request(method, path, json=body, headers=headers(token, None)) as answer:
            assert answer.status in {200, 201}, await answer.text()
            return await answer.json()


def headers(token: str | None, key: str | None) -> dict[str, str]:
    """Return the headers of a request by the holder of a token, under a key."""
    bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
    return bearer if key is None else {**bearer, "Idempotency-Key": key}


def _instant(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
