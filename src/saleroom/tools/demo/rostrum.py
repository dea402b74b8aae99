"""The rostrum: an auctioneer of the demo sells the lots of an evening, and stands back when a person acts on the console."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import structlog

from saleroom.tools.amounts import in_currency
from saleroom.tools.demo.client import DemoClient, HouseRefusal
from saleroom.tools.demo.evening import FIRST_IN_HALL, IN_HALL, Evening, Rank
from saleroom.tools.errors import ToolError

log = structlog.get_logger()
MONEY = in_currency("EUR")
"""The demo ignores settings, so its house has the usual currency."""
ROSTRUM = "rostrum"
"""The account of the demo's auctioneer. Only the demo knows its password."""
SILENCE_SECONDS = 60.0
"""How long a person on the console does nothing, until the demo's auctioneer comes back."""
PAUSE_SECONDS = (1.5, 3.5)
_FLOOR = "#floor"
_ENDED = frozenset({"closed", "cancelled"})
Report = Callable[[str, str], None]


class Rostrum:
    """An auctioneer who sells `speed` times as fast as real ones. `report` is told what happens, with its kind."""

    def __init__(self, client: DemoClient, token: str, owner: str, seed: int, speed: float, report: Report) -> None:
        """`token` acts on the block, `owner` reads in the audit log who else does."""
        self._client = client
        self._token = token
        self._owner = owner
        self._speed = speed
        self._report = report
        self._chance = Random(f"rostrum {seed}")
        self._called = asyncio.Event()
        self._silence: float | None = None
        """Until when the auctioneer stands back, by the clock of the event loop."""
        self._last_entry = 0
        self._skipped: set[str] = set()
        self._conditional: list[str] = []

    def come_back(self) -> None:
        """Sell on, although a person has acted less than a minute ago."""
        if self._silence is not None:
            self._called.set()

    async def sell(self, evening: Evening) -> None:
        """Sell one lot after the other until the sale is over, also if somebody else ends it."""
        self._conditional.clear()
        while True:
            await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS) / self._speed)
            try:
                block = await self._client.ask("GET", f"/sales/{evening.gid}/block", self._token)
                if block["status"] in _ENDED:
                    return
                if await self._a_person_acts(evening) or block["status"] == "paused":
                    continue
                await self._step(evening, block)
            except HouseRefusal:
                continue  # somebody was quicker, or it cannot be done now: the next look shows what holds
            except ToolError as error:
                log.info("an act had no answer", error=str(error))

    async def _a_person_acts(self, evening: Evening) -> bool:
        """Return whether somebody else runs the sale now; each of their acts is in the audit log."""
        page = await self._client.ask("GET", "/staff/audit?act=block.acted&limit=20", self._owner)
        acts = [entry for entry in page["entries"] if entry["id"] > self._last_entry]
        self._last_entry = max((entry["id"] for entry in acts), default=self._last_entry)
        now = asyncio.get_running_loop().time()
        person = next((one["by"] for one in acts if one["by"] != ROSTRUM and one["subject"] == evening.gid), None)
        if person is not None:
            if self._silence is None:
                self._called.clear()
                self._report(
                    "yours", f"{person} runs the sale; press Enter here, or do nothing for a minute, to give it back"
                )
            self._silence = now + SILENCE_SECONDS / self._speed
        if self._silence is None:
            return False
        if now < self._silence and not self._called.is_set():
            return True
        self._silence = None
        self._called.clear()
        self._report("sale", "the auctioneer of the demo sells on")
        return False

    async def _step(self, evening: Evening, block: dict[str, Any]) -> None:
        lot = block["onBlock"]
        if lot is not None:
            await self._sell(evening, block["tag"], lot, evening.lots.get(lot["gid"]))
        elif block["lotsLeft"]:
            await self._act(evening, "call", seen=block["tag"])
        elif evening.complete:
            while self._conditional:
                await self._act(evening, "decide", label=self._conditional.pop(), accepted=self._chance.random() < 0.5)
            await self._act(evening, "end", seen=block["tag"])

    async def _sell(self, evening: Evening, tag: str, lot: dict[str, Any], rank: Rank | None) -> None:
        """Do the next act on the lot on the block."""
        auction, gid, label = lot["auction"], lot["gid"], lot["label"]
        leader, ask = auction["currentBidder"], auction["minimumBid"]
        hall = rank.hall if rank is not None else Decimal(0)
        if leader == _FLOOR and self._chance.random() < 0.5:
            await self._act(evening, "name", seen=tag, paddle=self._paddle())
        elif rank is not None and rank.skipped_first and gid not in self._skipped and leader != _FLOOR:
            self._skipped.add(gid)
            await self._act(evening, "skip", seen=tag)
            self._report("skipped", f"lot {label}: {rank.name} comes later")
        elif ask is not None and self._hall_bids(leader, Decimal(ask), hall):
            paddle = None if self._chance.random() < 0.3 else self._paddle(leader)
            await self._act(evening, "bid", amount=ask, **({} if paddle is None else {"paddle": paddle}))
        elif auction["stage"] == "final_call":
            await self._hammer(evening, tag, lot)
        else:
            await self._act(evening, "warn", seen=tag)

    async def _hammer(self, evening: Evening, tag: str, lot: dict[str, Any]) -> None:
        auction = lot["auction"]
        leader, label = auction["currentBidder"], lot["label"]
        if leader is None:
            await self._act(evening, "pass", seen=tag)
            self._report("passed", f"lot {label}: {auction['name']}")
            return
        if leader == _FLOOR:
            await self._act(evening, "name", seen=tag, paddle=self._paddle())
            return
        if auction["reserveMet"] is False:
            conditionally = self._chance.random() < 0.5
            await self._act(evening, "sell_conditionally" if conditionally else "pass", seen=tag)
            if conditionally:
                self._conditional.append(label)
            self._report("passed", f"lot {label}: {auction['name']}, below the reserve")
            return
        await self._act(evening, "sell", seen=tag)
        self._report("hammer", f"lot {label}: {auction['name']}, to {leader} for {MONEY(auction['currentBid'])}")

    def _hall_bids(self, leader: str | None, ask: Decimal, worth: Decimal) -> bool:
        """Return whether somebody in the hall bids the ask now; nobody bids against themselves."""
        return ask <= worth and leader != _FLOOR and self._chance.random() < 0.6

    def _paddle(self, leader: str | None = None) -> int:
        """Return the paddle of somebody in the hall who does not lead."""
        there = [number for number in range(FIRST_IN_HALL, FIRST_IN_HALL + len(IN_HALL)) if f"#{number}" != leader]
        return self._chance.choice(there)

    async def _act(self, evening: Evening, act: str, **said: Any) -> None:
        await self._client.ask("POST", f"/sales/{evening.gid}/block", self._token, {"act": act, **said})


class Crowd:
    """People who follow an evening online, and bid the ask: by name, with their tokens."""

    def __init__(self, client: DemoClient, people: dict[str, str], seed: int, speed: float) -> None:
        self._client = client
        self._people = people
        self._seed = seed
        self._speed = speed
        self._chance = Random(f"crowd {seed}")

    async def bid(self, evening: Evening) -> None:
        """Bid until the sale is over."""
        while True:
            await asyncio.sleep(self._chance.uniform(1.0, 3.0) / self._speed)
            try:
                block = await self._client.ask("GET", f"/sales/{evening.gid}/block")
                if block["status"] in _ENDED:
                    return
                if block["onBlock"] is not None and self._chance.random() < 0.5:
                    await self._bid(evening, block["onBlock"])
            except HouseRefusal:
                continue  # a moment too late
            except ToolError as error:
                log.info("a bid online had no answer", error=str(error))

    async def _bid(self, evening: Evening, lot: dict[str, Any]) -> None:
        rank, ask = evening.lots.get(lot["gid"]), lot["auction"]["minimumBid"]
        if rank is None or ask is None:
            return
        wanting = [name for name in self._people if self._worth(name, rank) >= Decimal(ask)]
        if wanting:
            token = self._people[self._chance.choice(wanting)]
            await self._client.ask("POST", f"/auctions/{rank.gid}/bids", token, {"amount": ask})

    def _worth(self, name: str, rank: Rank) -> Decimal:
        """Return what a lot is worth to somebody, the same each time."""
        return rank.estimate[0] * Decimal(Random(f"{name} {rank.name} {self._seed}").randrange(30, 130)) / 100
