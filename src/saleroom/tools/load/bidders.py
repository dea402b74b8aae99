"""The bidders: they look, bid the least or more, set maximums, bid too low on purpose, send twice, and bid past the end."""

from __future__ import annotations

import asyncio
import time
from itertools import count
from random import Random

from saleroom.tools.load.client import LoadClient
from saleroom.tools.load.record import Attempt, BidReply, LotView

START, STEP = 10_000, 1_000
"""Every lot's starting price and fixed increment, in thousandths."""
TOO_LOW, LIMITED, BOTH = 0.1, 0.2, 0.05
"""The shares of bids that are too low on purpose, that have only a maximum, and that have an amount and a maximum."""
TWICE_AT_ONCE, TWICE = 0.05, 0.05
"""The shares of bids that are sent twice with one key: both at once, or one after the other."""
TRIES_MAX = 6
"""How often a bid without an answer is repeated before it is left for the end."""
VISITS_MAX = 5
"""How many lots a bidder looks at in one turn while there is nothing to bid, such as on a lot that the bidder leads."""
WATCH_SECONDS = 0.2
OVERDUE_SECONDS_MAX = 7.0
"""A lot that is open so long after its end is given up, because the judge has its evidence by then."""


class Floor:
    """The state that all bidders share: the lots that still take bids, their ends, and the pace."""

    def __init__(self, client: LoadClient, tokens: dict[str, str], ends: dict[str, int], rate: float | None) -> None:
        """`ends` has the end of each lot by the house's clock; `rate` is bids per second by all bidders, None for no limit."""
        self.client = client
        self.tokens = tokens
        self.ends = ends
        self.taking = list(ends)
        self.closed: set[str] = set()
        self.open_late: set[str] = set()
        self._interval = None if rate is None else 1 / rate
        self._planned = time.monotonic()
        self._numbers = count(1)
        self._versions: dict[str, int] = {}
        """The version of each lot that was seen last. A bid names it as the one that it rests on."""

    async def turn(self) -> float:
        """Wait for the next turn, and return by how many seconds it is late."""
        if self._interval is None:
            return 0.0
        planned = max(self._planned, self.client.figures.began)
        self._planned = planned + self._interval
        late = time.monotonic() - planned
        if late < 0:
            await asyncio.sleep(-late)
        return max(0.0, late)

    def attempt(self, gid: str, bidder: str, amount: int | None, maximum: int | None) -> Attempt:
        """Return a new bid with a new key."""
        attempt = Attempt(gid, bidder, amount, maximum, f"load-{next(self._numbers)}", [], self._versions.get(gid))
        self.client.record.attempts.append(attempt)
        return attempt

    def saw(self, gid: str, view: LotView) -> None:
        """Note the state that a look shows: the end may have moved, or come."""
        self._versions[gid] = max(view.version, self._versions.get(gid, 0))
        if view.ends is not None:
            self.ends[gid] = max(self.ends[gid], view.ends)
        if view.status == "closed":
            self.closed.add(gid)
        if view.status != "open":
            self.end_bidding(gid)

    def end_bidding(self, gid: str) -> None:
        """Stop bidding on a lot."""
        if gid in self.taking:
            self.taking.remove(gid)


class LoadBidder:
    """A bidder that goes from lot to lot."""

    def __init__(self, name: str, floor: Floor, random: Random) -> None:
        self._name = name
        self._floor = floor
        self._random = random

    async def run(self) -> None:
        """Bid until no lot takes bids any more."""
        while self._floor.taking:
            waited = await self._floor.turn()
            for _ in range(VISITS_MAX):
                if not self._floor.taking or await self._visit(self._random.choice(self._floor.taking), waited):
                    break

    async def _visit(self, gid: str, waited: float) -> bool:
        """Look at a lot and usually bid on it; return whether that used the turn."""
        view = await self._floor.client.look(gid)
        if view is None:
            await asyncio.sleep(WATCH_SECONDS)
            return True
        self._floor.saw(gid, view)
        if view.minimum is None or view.status != "open":
            return False
        if view.bidder == self._name:
            return await self._as_leader(gid, view.minimum, waited)
        if self._random.random() < TOO_LOW:
            await self.place(self._floor.attempt(gid, self._name, view.minimum - STEP, None), waited)
            return True
        reply = await self.place(self._floor.attempt(gid, self._name, *self._ask(view.minimum)), waited)
        if reply.code == "bid_too_low" and reply.minimum is not None and self._random.random() < 0.5:
            # Another bid came first. The answer has the new least, so there is no need to look.
            waited = await self._floor.turn()
            await self.place(self._floor.attempt(gid, self._name, *self._ask(reply.minimum)), waited)
        return True

    def _ask(self, minimum: int) -> tuple[int | None, int | None]:
        amount = minimum + STEP * self._random.choice((0, 0, 0, 1, 2, 5))
        limit = amount + STEP * self._random.randint(0, 20)
        chance = self._random.random()
        if chance < LIMITED:
            return None, limit
        return amount, limit if chance < LIMITED + BOTH else None

    async def _as_leader(self, gid: str, minimum: int, waited: float) -> bool:
        """Raise the maximum, or try to outbid oneself, or do nothing; return whether there was a bid."""
        chance = self._random.random()
        if chance < 0.3:
            limit = minimum + STEP * self._random.randint(0, 20)
            await self.place(self._floor.attempt(gid, self._name, None, limit), waited)
        elif chance < 0.4:
            await self.place(self._floor.attempt(gid, self._name, minimum, None), waited)
        return chance < 0.4

    async def place(self, attempt: Attempt, waited: float = 0.0) -> BidReply:
        """Send a bid until there is an answer, sometimes twice, and return the last answer."""
        client, token = self._floor.client, self._floor.tokens[self._name]
        chance = self._random.random()
        if chance < TWICE_AT_ONCE:
            await asyncio.gather(*(client.bid(attempt, token, waited) for _ in range(2)))
        else:
            await client.bid(attempt, token, waited)
            if chance < TWICE_AT_ONCE + TWICE:
                await client.bid(attempt, token)
        for _ in range(TRIES_MAX):
            if not attempt.replies[-1].passing:
                break
            await client.bid(attempt, token)
        reply = attempt.replies[-1]
        if reply.code == "auction_closed":
            self._floor.end_bidding(attempt.gid)
        return reply


async def bid_too_late(floor: Floor, clock: float, random: Random) -> None:
    """Look at every lot from its end until it is closed, and then send one more bid, too late.

    `clock` is a lower bound of the seconds by which the house's clock is ahead. A lot that stays open too long is given up.
    """
    some = asyncio.Semaphore(20)

    async def look(gid: str) -> None:
        async with some:
            view = await floor.client.look(gid)
            if view is None:
                return
            floor.saw(gid, view)
            if view.status == "closed":
                bidder = random.choice(list(floor.tokens))
                late = floor.attempt(gid, bidder, (view.price or START) + STEP * 100, None)
                await LoadBidder(bidder, floor, random).place(late)

    while waiting := [gid for gid in floor.ends if gid not in floor.closed and gid not in floor.open_late]:
        now = time.monotonic() + clock
        due = [gid for gid in waiting if now >= floor.ends[gid] / 1e6]
        await asyncio.gather(*(look(gid) for gid in due or [random.choice(waiting)]))
        for gid in due:
            if gid not in floor.closed and now > floor.ends[gid] / 1e6 + OVERDUE_SECONDS_MAX:
                floor.open_late.add(gid)
                floor.end_bidding(gid)
        await asyncio.sleep(WATCH_SECONDS)


async def repeat_unanswered(floor: Floor, random: Random) -> None:
    """Repeat every bid whose answers were all lost, to get the first answer of its key, or a refusal."""
    some = asyncio.Semaphore(20)

    async def again(attempt: Attempt) -> None:
        async with some:
            await LoadBidder(attempt.bidder, floor, random).place(attempt)

    await asyncio.gather(*(again(attempt) for attempt in floor.client.record.attempts if attempt.unsettled))
