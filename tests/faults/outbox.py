"""The trial of the outbox: a storm of outbids, while the processes that send word of them are killed again and again.

Word goes by mail to all, by webhooks to some, and to browsers of others. Each server fails now and then, and is away once.
"""

import asyncio
import random
import time
from collections import Counter
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise
from pathlib import Path

from saleroom.accounts.service import accounts
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service.auctions import create
from saleroom.bidding.service.closing import settle_due
from saleroom.http.secret import Purpose
from saleroom.notices.domain.webhooks import NOTICE, Scope
from saleroom.notices.service import subscribing, webhooks
from saleroom.opening import with_tables
from saleroom.outbox import store
from saleroom.outbox.message import MAIL, PUSH, WEBHOOK, State, Word
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person, bid, read
from tests.faults.outbox_judging import Arrival, Cause, ChannelResult, by_channel, faults_of
from tests.faults.places import TrialDatabase
from tests.faults.postmen import GATHER, ORDER, PostmanSettings, Postmen
from tests.faults.receivers import AWAY_SECONDS_MAX, UnreliablePost, UnreliablePushService, UnreliableReceiver
from tests.faults.trial import ON_ALL, ON_TWO
from tests.mqtt.equipment import free_port
from tests.notices.equipment import Postman
from tests.notices.push_service import push_service
from tests.notices.receiver import receiving
from tests.outbox.mail_server import certificate, mail_server

BIDDERS = 6
LOTS_AT_ONCE = 3
LOT_SECONDS = 2.0
BIDS_A_LOT = 20
PACE_SECONDS = 0.1
PLACE_SECONDS_MAX = 2.0
SETTLED_SECONDS_MAX = 60.0
HOOKS = ("outbid", "won", "not_won")
"""What the webhooks of two bidders want."""


@dataclass(frozen=True)
class OutboxTrial:
    """How often the processes are killed, and how long the mail server is down in the middle of it; the others for less."""

    name: str
    kills: int
    down_seconds: float
    on: tuple[str, ...] = ON_ALL
    on_disk: bool = False


FULL = OutboxTrial("outbox: 200 kills", 200, 60.0)
SHORT = OutboxTrial("outbox: 6 kills", 6, 1.0, on=ON_TWO)


@dataclass
class OutboxOutcome:
    """What came of a trial; `faults` is empty if every promise was kept."""

    deaths: int
    bids: int
    words: int
    came: dict[str, str]
    """What arrived by each channel, how much of it again, as it may after a death, and the most tries."""
    faults: list[str]

    def __str__(self) -> str:
        came = ", ".join(f"{channel}: {said}" for channel, said in self.came.items())
        return f"deaths: {self.deaths}, bids: {self.bids}, words: {self.words}, {came}"


class Storm:
    """Lots that one bidder after the other leads, until `calm`; `due` are the words that follow."""

    def __init__(self, database: Database, seller: Person, bidders: list[Person]) -> None:
        self.due: Counter[Cause] = Counter()
        self.bids = 0
        self.calm = asyncio.Event()
        self._database, self.seller, self._bidders = database, seller, bidders

    async def run(self) -> None:
        """Bid until calm, and end all lots."""
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(self._end_lots())
            async with asyncio.TaskGroup() as lots:
                for _ in range(LOTS_AT_ONCE):
                    lots.create_task(self._lots())
            await asyncio.sleep(LOT_SECONDS)
            await self._database.write(settle_due, reopens=False)
            ending.cancel()

    async def _lots(self) -> None:
        while not self.calm.is_set():
            gid, ends_at = await self._database.write(_short_lot, self.seller)
            order = random.sample(self._bidders, len(self._bidders))
            leaders: list[int] = []
            for step in range(BIDS_A_LOT):
                one = order[step % len(order)]
                if ["accepted"] != await bid(self._database, one.bids(gid, str(100 + step * 10_000))):
                    break
                leaders.append(one.account.id)
                await asyncio.sleep(PACE_SECONDS)
            self._expect(gid, leaders)
            await asyncio.sleep(max(0.0, (ends_at - datetime.now(UTC)).total_seconds()))

    def _expect(self, gid: str, leaders: list[int]) -> None:
        """Note the words of one lot, reckoned here and not by the house's own rules."""
        self.bids += len(leaders)
        self.due.update(("outbid", before, gid) for before, _ in pairwise(leaders))
        if not leaders:
            self.due["not_sold", self.seller.account.id, gid] += 1
            return
        self.due["won", leaders[-1], gid] += 1
        self.due["sold", self.seller.account.id, gid] += 1
        self.due.update(("not_won", one, gid) for one in {*leaders} - {leaders[-1]})

    async def _end_lots(self) -> None:
        while True:
            await self._database.write(settle_due, reopens=False)
            await asyncio.sleep(0.3)


def _short_lot(tx: Transaction, seller: Person) -> tuple[str, datetime]:
    """Begin a lot; its time counts from its own transaction on, which a slow machine begins late."""
    ends_at = tx.now() + timedelta(seconds=LOT_SECONDS)
    draft = Draft(name="Longcase clock", starting_price=Decimal("100.000"), ends_at=ends_at, soft_close=None)
    return str(read(create(tx, seller.token, draft, None))["gid"]), ends_at


class House:
    """The storm, the processes that send word of it, and what gets it."""

    def __init__(self, database: Database, port: int) -> None:
        self.database = database
        self.port = port
        self.post, self.receiver, self.service = UnreliablePost(), UnreliableReceiver(), UnreliablePushService()
        self.postman = Postman(database, port, self.post)
        self.hooks: dict[str, tuple[int, tuple[str, ...]]] = {}
        """By the address of the webhook: its owner, and the kinds that it wants."""
        self.browsers: dict[str, tuple[int, str]] = {}
        """By the address of the subscription: its user, and the browser."""

    async def people(self) -> list[Person]:
        """Return a seller and bidders. The seller and two have webhooks, one has two browsers and another one."""
        found = [await self.postman.known(f"person{number}") for number in range(BIDDERS + 1)]
        kinds = tuple(f"{NOTICE}{kind}" for kind in HOOKS)
        for one, wanted in ((found[0], ("auction.closed",)), (found[1], kinds), (found[2], kinds)):
            key = partial(self.postman.secret.key, Purpose.WEBHOOKS)
            url = self.receiver.url(f"/{one.account.id}")
            made = await self.database.write(webhooks.make, one.token, key, url, wanted, Scope.OWN)
            self.hooks[str(made.webhook.id)] = one.account.id, wanted
        for one, name in ((found[3], "phone"), (found[3], "tablet"), (found[4], "laptop")):
            given = self.service.subscription(name)
            login = await self.database.write(accounts.issue_token, one.account.id)
            subscribed = await self.database.write(subscribing.subscribe, login.value, given)
            self.browsers[str(subscribed.id)] = one.account.id, name
        return found

    def reached(self, due: Counter[Cause], words: list[Word]) -> list[ChannelResult]:
        """Return what each channel had to say, and what arrived by it."""
        to_hooks: Counter[Cause] = Counter()
        for (kind, user, gid), number in due.items():
            for owner, wanted in self.hooks.values():
                if owner == user and f"{NOTICE}{kind}" in wanted:
                    to_hooks[f"{NOTICE}{kind}", user, gid] += number
                elif owner == user and kind in ("sold", "not_sold"):
                    to_hooks["auction.closed", user, gid] += number
        to_browsers: Counter[Cause] = Counter()
        for owner, _ in self.browsers.values():
            to_browsers.update({cause: number for cause, number in due.items() if cause[1] == owner})
        return [
            ChannelResult(MAIL, due, self._mailed(words)),
            ChannelResult(WEBHOOK, to_hooks, *self._hooked(words)),
            ChannelResult(PUSH, to_browsers, self._pushed()),
        ]

    def _mailed(self, words: list[Word]) -> list[Arrival]:
        names = {}
        for word in by_channel(words)[MAIL]:
            where = address(word.receiver or 0)
            names[f"<{self.postman.sign(f'letter {word.letter} {where}')}@house.example>"] = word.letter or 0
        return [
            (receiver, names.get(str(mail["Message-ID"]), 0))
            for mail, receiver in zip(self.post.mails, self.post.receivers, strict=True)
        ]

    def _hooked(self, words: list[Word]) -> tuple[list[Arrival], set[Arrival]]:
        names = {f"msg_{self.postman.sign(f'webhook word {one.id}')}": one for one in by_channel(words)[WEBHOOK]}
        letters = {name: (str(word.address), word.letter or 0) for name, word in names.items()}
        came = [letters.get(headers["webhook-id"], ("", 0)) for headers, _ in self.receiver.posts]
        return came, {letters.get(name, ("", 0)) for name in self.receiver.taken}

    def _pushed(self) -> list[Arrival]:
        numbers = {name: number for number, (_, name) in self.browsers.items()}
        return [(numbers[one.browser], one.said["letter"]) for one in self.service.received]


def address(user: int) -> str:
    """Return where mails to a user go."""
    return f"person{user - 1}@example.org"


async def run(trial: OutboxTrial, folder: Path, where: str, place: TrialDatabase) -> OutboxOutcome:
    """Kill the senders as often as the trial says during a storm, let all words go out, and judge what arrived."""
    authority = certificate(folder)
    database = Database(place.url)
    house = House(database, free_port())
    async with AsyncExitStack() as stack:
        stack.push_async_callback(database.close)
        await with_tables(database)
        await stack.enter_async_context(receiving(house.receiver))
        stack.enter_context(push_service(house.service, authority))
        await house.postman.poster.round()
        seller, *bidders = await house.people()
        storm = Storm(database, seller, bidders)
        given = PostmanSettings(place.url, house.port, authority[0], folder / "armed")
        postmen = Postmen(given, 2 if where in ON_TWO else 1)
        stack.callback(postmen.close)
        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            group.create_task(storm.run())
            group.create_task(_trouble(trial, storm, postmen, house, stack))
        await _settled(house, storm, postmen)
        await asyncio.to_thread(postmen.close)  # nothing arrives after the words are read
        words = await database.read(store.listed, [*State], 10**6)
        letters_max = (time.monotonic() - started) / GATHER.total_seconds() + 1
    return judge(house, storm, words, postmen.deaths, letters_max)


async def _trouble(trial: OutboxTrial, storm: Storm, postmen: Postmen, house: House, stack: AsyncExitStack) -> None:
    up = ExitStack()
    up.enter_context(mail_server(house.post, port=house.port))
    for number in range(trial.kills):
        if number == trial.kills // 2:
            await asyncio.to_thread(up.close)
            until = time.monotonic() + min(trial.down_seconds, AWAY_SECONDS_MAX)
            house.receiver.away_until = house.service.away_until = until
            await _kills(postmen, trial.down_seconds)
            up.enter_context(mail_server(house.post, port=house.port))
        if (chosen := ORDER[number % len(ORDER)]) is not None:
            await postmen.die_at(chosen, PLACE_SECONDS_MAX)
        else:
            await asyncio.sleep(random.random() * 0.5)
            postmen.kill()
    stack.callback(up.close)
    storm.calm.set()


async def _kills(postmen: Postmen, seconds: float) -> None:
    """Kill a process now and then while the mail server is down."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        await asyncio.sleep(max(0.5, seconds / 10))
        postmen.kill()


async def _settled(house: House, storm: Storm, postmen: Postmen) -> None:
    """Wait until every word is posted and none waits; what has not moved for a minute stays missing."""
    due = sum(one.due.total() for one in house.reached(storm.due, []))
    until, before = time.monotonic() + SETTLED_SECONDS_MAX, None
    while time.monotonic() < until:
        counts = await house.database.read(store.counts)
        if sum(counts.values()) >= due and not counts[State.WAITING]:
            return
        if counts != before:
            until, before = time.monotonic() + SETTLED_SECONDS_MAX, counts
        postmen.replace()
        await asyncio.sleep(0.1)


def judge(house: House, storm: Storm, words: list[Word], deaths: int, letters_max: float) -> OutboxOutcome:
    """Compare the words that had to be posted with the rows, and the rows with what arrived."""
    faults: list[str] = []
    came: dict[str, str] = {}
    addresses = {user: address(user) for user in {word.receiver or 0 for word in words}}
    for one in house.reached(storm.due, words):
        mine = by_channel(words)[one.channel]
        faults += faults_of(one, mine, addresses)
        again, most = len(one.arrived) - len({*one.arrived}), max((word.tries for word in mine), default=0)
        came[one.channel] = f"{len({*one.arrived})} ({again} again, {most} tries)"
        if one.channel == MAIL:
            mails = Counter(to for to, _ in {*one.arrived})
            faults += [
                f"{to} got {number} mails, and words are gathered for {GATHER}"
                for to, number in mails.items()
                if to != address(storm.seller.account.id) and number > 2 * letters_max
            ]
    return OutboxOutcome(deaths, storm.bids, len(words), came, faults)
