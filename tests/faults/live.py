"""The trial of a live sale: a clerk sells lot after lot while bidders take the ask online, and the house is killed."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

from saleroom.admin import ledger_check
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.storage import auctions, event_log
from saleroom.sales.service.people import participants
from saleroom.sales.service.people.participants import Newcomer
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person, person
from tests.faults.bidding import headers
from tests.faults.house import SupervisedHouse
from tests.faults.judging import read_log, tracebacks
from tests.faults.kills import KillTrial, People, work_through_kills
from tests.faults.places import TrialDatabase
from tests.faults.trial import ON_SQLITE, ON_TWO
from tests.sales.service.evenings import Evening, evening

POINTS = ("act decided", "act committed", "bid decided", "bid committed")
"""Where the house dies in turn, beside any other place."""
LOTS_FOR_EACH = 3
"""Enough lots that something is sold until the last kill."""
BIDDERS = 3
PADDLE = 112
TWICE = 0.1
"""How many acts are sent twice at once."""
ACTS_BETWEEN = 2
LAST_LOTS = 3
"""How many lots are compared with their logs after each death; at the end all are."""
EVENTS = {
    "call": "auction.called",
    "ask": "ask.set",
    "warn": "auction.warned",
    "name": "bidder.named",
    "retract": "bid.retracted",
    "undo": "act.undone",
    "sell": "auction.closed",
    "pass": "auction.closed",
}
"""The event that each act leaves, beside a bid."""


class LiveTrial(KillTrial):
    """The trial of a live sale."""


FULL = LiveTrial("live sale: 200 kills", 200)
SHORT = (LiveTrial("live sale: 6 kills", 6, on=ON_SQLITE), LiveTrial("live sale: 6 kills", 6, on=ON_TWO))


@dataclass
class LiveOutcome:
    """What came of a trial; `faults` is empty if every promise was kept."""

    deaths: int
    acts: int
    bids: int
    lots: int
    repeats: int
    faults: list[str]

    def __str__(self) -> str:
        done = f"acts: {self.acts}, bids online: {self.bids}, lots: {self.lots}, sent again: {self.repeats}"
        return f"deaths: {self.deaths}, {done}"


@dataclass(kw_only=True)
class Hall(People):
    """A clerk and bidders."""

    on: Evening
    bidders: list[Person]
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The acts that were acknowledged, by lot and the event that each leaves."""
    placed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The bids that were acknowledged, by lot and amount."""
    called: list[str] = field(default_factory=list)
    """The lots that were on the block, in that order."""
    acts: int = 0
    bids: int = 0
    repeated: list[str] = field(default_factory=list)
    """What became of the requests that were sent more than once, for the report."""

    async def run(self) -> None:
        """Sell and bid until it is calm."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sell())
            for one in self.bidders:
                group.create_task(self._bid(one))

    def answered(self) -> int:
        """Return how many acts have been acknowledged."""
        return self.acts

    async def _sell(self) -> None:
        while not self.calm.is_set():
            if await self._act("call") is None and (await self._block())["onBlock"] is None:
                self.faults.append("no lot is left")
                return
            for what in random.choices(("bid", "bid", "ask", "warn", "undo", "retract"), k=5):
                await self._act(what)
                await asyncio.sleep(random.uniform(0, 0.02))
            while (lot := (await self._block())["onBlock"]) is not None:
                leads = lot["auction"]["currentBidder"]
                await self._act("name" if leads == "#floor" else "pass" if leads is None else "sell")

    async def _act(self, what: str) -> Any:
        """Act on the block as it is now; of an act that is acknowledged the event is due. Returns None for a refusal."""
        shown = await self._block()
        lot = shown["onBlock"]
        said: dict[str, Any] = {"act": what, "seen": shown["tag"]}
        if what in ("bid", "ask"):
            if lot is None:
                return None  # the call was undone
            ask = lot["auction"]["minimumBid"]
            said["amount"] = ask if what == "bid" else f"{float(ask) + random.choice((-1, 30)):.3f}"
        if what == "name":
            said["paddle"] = PADDLE
        path, key = f"/sales/{self.on.sale.gid}/block", f"act-{random.getrandbits(64)}"
        times = 2 if random.random() < TWICE else 1
        sent = [self._settled("POST", path, self.on.clerk.token, said, key) for _ in range(times)]
        answers = [answer for status, answer in await asyncio.gather(*sent) if status == 200]
        if not answers:
            return None
        if any(answer != answers[0] for answer in answers):
            self.faults.append(f"two answers to one act: {answers}")
        self._note(what, said, shown, answers[0])
        return answers[0]

    def _note(self, what: str, said: dict[str, Any], before: Any, after: Any) -> None:
        self.acts += 1
        lot = (after["onBlock"] or after["lastLot"])["gid"]
        if what == "call":
            self.called.append(lot)
        if what == "bid":
            self.placed[lot, said["amount"]] += 1
        elif before["tag"] != after["tag"]:  # a warning after the final call, or the same ask, is nothing new
            self.done[lot, EVENTS[what]] += 1

    async def _bid(self, who: Person) -> None:
        for turn in count():
            if self.calm.is_set():
                return
            lot = (await self._block())["onBlock"]
            if lot is not None:
                body = {"amount": lot["auction"]["minimumBid"]}
                path, key = f"/auctions/{lot['gid']}/bids", f"bid-{turn}"
                status, said = await self._settled("POST", path, who.token, body, key)
                if status == 201:
                    self.bids += 1
                    self.placed[lot["gid"], said["bid"]["amount"]] += 1
            await asyncio.sleep(random.uniform(0.02, 0.2))

    async def _block(self) -> Any:
        return (await self._settled("GET", f"/sales/{self.on.sale.gid}/block", None, None, None))[1]

    async def _settled(self, method: str, path: str, token: str | None, body: Any, key: str | None) -> tuple[int, Any]:
        """Ask again until an answer settles the request."""
        tries: list[str] = []
        while True:
            try:
                async with self._http.request(method, path, json=body, headers=headers(token, key)) as answer:
                    if answer.status in {200, 201, 409}:
                        said = await answer.json()
                        if tries and body:
                            self.repeated.append(f"{path} {body}: {tries}, then {answer.status} {said.get('code', '')}")
                        return answer.status, said
                    if answer.status != 503:
                        self.faults.append(f"answered {answer.status}: {await answer.text()}")
                        return answer.status, {}
                    tries.append(str(answer.status))
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                tries.append(repr(error))  # the house is away; a repeat with the key will show the request's result
            self.repeats += 1
            await asyncio.sleep(random.uniform(0.05, 0.25))


async def run(trial: LiveTrial, folder: Path, where: str, place: TrialDatabase) -> LiveOutcome:
    """Run the trial, and judge it: every act that was acknowledged is in the log once, and nothing else is."""
    house = SupervisedHouse(folder, database=place.url, workers="2" if where in ON_TWO else "1", mqtt="off")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(house.running())
        database = Database(place.url)
        stack.push_async_callback(database.close)
        on = await evening(database, LOTS_FOR_EACH * (trial.kills + 2))
        guest = Newcomer(name="Guest", paddle=PADDLE)
        await database.write(participants.admit, on.clerk.token, on.sale.gid, guest)
        hall = Hall(url=house.url, on=on, bidders=[await person(database) for _ in range(BIDDERS)])
        for one in hall.bidders:
            await database.write(participants.register, one.token, on.sale.gid)
        await hall.begin(stack)

        async def look() -> list[str]:
            return await database.read(_apart, hall.called[-LAST_LOTS:])

        await work_through_kills(hall, house, trial.kills, POINTS, ACTS_BETWEEN, look)
        log = await database.read(read_log)
        found = [*hall.faults, *_differences(hall, log), *await database.read(ledger_check.faults_of)]
        found += await database.read(_apart, hall.called)
        found += [f"a traceback in the house's log: … {end}" for end in tracebacks(house.log())]
        lots = sum(n for (_, kind), n in hall.done.items() if kind == "auction.closed")
        return LiveOutcome(house.deaths, hall.acts, hall.bids, lots, hall.repeats, found)


def _apart(tx: Transaction, gids: list[str]) -> list[str]:
    """Return the lots whose block is not that of their log."""
    found = []
    for gid in gids:
        stored = auctions.get(tx, gid)
        if stored is not None and stored.version > 1:
            told = replay(stored.id, event_log.read(tx, stored.id))
            same = told.version == stored.version  # otherwise a bid came between the two statements
            if same and (stored.block, stored.ask, stored.leader) != (told.block, told.ask, told.leader):
                found.append(f"the block of {gid} is {stored.block}, and by its log {told.block}")
    return found


def _differences(hall: Hall, log: Any) -> list[str]:
    """Return what was acknowledged and is not in the log, and what is in the log and was never acknowledged."""
    placed: Counter[tuple[str, str]] = Counter()
    done: Counter[tuple[str, str]] = Counter()
    for gid, payloads in log.items():
        for said in map(json.loads, payloads):
            if said["type"] == "bid.placed" and not said["data"]["automatic"]:
                placed[gid, said["data"]["amount"]] += 1
            elif said["type"] in EVENTS.values():
                done[gid, said["type"]] += 1
    amounts = {amount for _, amount in (placed - hall.placed) + (hall.placed - placed)}
    told = [line for line in hall.repeated if any(amount in line for amount in amounts)]
    pairs = {"bids": (hall.placed, placed), "acts": (hall.done, done)}
    lost = [f"{name} lost: {mine - theirs}" for name, (mine, theirs) in pairs.items() if mine - theirs]
    lost += [f"{name} never acknowledged: {theirs - mine}" for name, (mine, theirs) in pairs.items() if theirs - mine]
    return lost + [f"sent again: {line}" for line in told[-40:]]
