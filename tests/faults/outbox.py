"""The trial of the outbox: a storm of outbids, while the processes that send word of them are killed again and again.

The mail server is down for a while, refuses some mails, and cuts some connections off once it has the mail.
"""

import asyncio
import random
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from aiosmtpd.smtp import SMTP, Envelope, Session

from saleroom.bidding.service.closing import settle_due
from saleroom.notices.service.letters import NO_LONGER_SO
from saleroom.opening import with_tables
from saleroom.outbox import store
from saleroom.outbox.message import TRIES_MAX, State, Word
from saleroom.storage.database import Database
from tests.bidding.service.people import Person, bid, sells
from tests.faults.places import TrialDatabase
from tests.faults.postmen import GATHER, PLACES, Postmen
from tests.faults.trial import ON_ALL, ON_TWO
from tests.mqtt.equipment import free_port
from tests.notices.equipment import Postman
from tests.outbox.mail_server import TAKEN, Post, mail_server

BIDDERS = 6
LOTS_AT_ONCE = 3
LOT_SECONDS = 2.0
BIDS_A_LOT = 30
PACE_SECONDS = 0.05
TROUBLE = 0.03
"""The share of mails that are refused for now, and of those whose connection is cut off."""
PLACE_SECONDS_MAX = 2.0
SETTLED_SECONDS_MAX = 60.0
Cause = tuple[str, int, str]
"""The kind of a word, its receiver, and the lot that it is about."""


@dataclass(frozen=True)
class OutboxTrial:
    """How often the processes are killed, and how long the mail server is down in the middle of it."""

    name: str
    kills: int
    down_seconds: float
    on: tuple[str, ...] = ON_ALL
    on_disk: bool = False


FULL = OutboxTrial("outbox: 200 kills", 200, 60.0)
SHORT = OutboxTrial("outbox: 10 kills", 10, 1.0, on=ON_TWO)


@dataclass
class OutboxOutcome:
    """What came of a trial; `faults` is empty if every promise was kept."""

    deaths: int
    bids: int
    words: int
    mails: int
    twice: int
    """Mails that came again, as they may after a death."""
    tries_most: int
    faults: list[str]

    def __str__(self) -> str:
        return (
            f"deaths: {self.deaths}, bids: {self.bids}, words: {self.words}, mails: {self.mails}, "
            f"came again: {self.twice}, most tries of a mail: {self.tries_most}"
        )


class UnreliablePost(Post):
    """A mail server that takes its time, and sometimes refuses a mail or loses the connection."""

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd's name
        """Take a mail or not, by chance."""
        chance = random.random()
        if chance < 2 * TROUBLE:
            self.answers = ["drop" if chance < TROUBLE else "450 later"]
        answer = await super().handle_DATA(server, session, envelope)
        if answer == TAKEN:
            await asyncio.sleep(random.random() * 0.05)
        return answer


class Storm:
    """Lots that one bidder after the other leads, until `calm`; `due` are the words that follow."""

    def __init__(self, database: Database, seller: Person, bidders: list[Person]) -> None:
        self.due: Counter[Cause] = Counter()
        self.bids = 0
        self.calm = asyncio.Event()
        self._database, self._seller, self._bidders = database, seller, bidders

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
            ends_at = datetime.now(UTC) + timedelta(seconds=LOT_SECONDS)
            gid = await sells(self._database, self._seller, ends_at=ends_at, soft_close=None)
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
            self.due["not_sold", self._seller.account.id, gid] += 1
            return
        self.due["won", leaders[-1], gid] += 1
        self.due["sold", self._seller.account.id, gid] += 1
        self.due.update(("not_won", one, gid) for one in {*leaders} - {leaders[-1]})

    async def _end_lots(self) -> None:
        while True:
            await self._database.write(settle_due, reopens=False)
            await asyncio.sleep(0.3)


async def run(trial: OutboxTrial, folder: Path, where: str, place: TrialDatabase) -> OutboxOutcome:
    """Kill the senders as often as the trial says during a storm, let all words go out, and judge what arrived."""
    post, port = UnreliablePost(), free_port()
    database = Database(place.url)
    with ExitStack() as stack:
        await with_tables(database)
        postman = Postman(database, port, post)
        await postman.poster.round()
        seller, *bidders = [await postman.known(f"person{number}") for number in range(BIDDERS + 1)]
        storm = Storm(database, seller, bidders)
        postmen = Postmen(place.url, port, folder, 2 if where in ON_TWO else 1)
        stack.callback(postmen.close)
        started = time.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(storm.run())
                group.create_task(_trouble(trial, storm, postmen, post, port, stack))
            await _settled(database, storm, postmen)
            words = await database.read(store.listed, [*State], 10**6)
        finally:
            await database.close()
        letters_max = (time.monotonic() - started) / GATHER.total_seconds() + 1
    return judge(postman, storm, words, post, postmen.deaths, letters_max)


async def _trouble(trial: OutboxTrial, storm: Storm, postmen: Postmen, post: Post, port: int, stack: ExitStack) -> None:
    up = ExitStack()
    up.enter_context(mail_server(post, port=port))
    for number in range(trial.kills):
        if number == trial.kills // 2:
            await asyncio.to_thread(up.close)
            await _kills(postmen, trial.down_seconds)
            up.enter_context(mail_server(post, port=port))
        places = [*PLACES, None]
        if (chosen := places[number % len(places)]) is not None:
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


async def _settled(database: Database, storm: Storm, postmen: Postmen) -> None:
    """Wait until every word is posted and none waits; what is missing after that stays missing."""
    until = time.monotonic() + SETTLED_SECONDS_MAX
    while time.monotonic() < until:
        counts = await database.read(store.counts)
        if sum(counts.values()) >= storm.due.total() and not counts[State.WAITING]:
            return
        postmen.replace()
        await asyncio.sleep(0.1)


def judge(
    postman: Postman, storm: Storm, words: list[Word], post: Post, deaths: int, letters_max: float
) -> OutboxOutcome:
    """Compare the words that had to be posted with the rows, and the rows with the mails that arrived."""
    posted = Counter((word.kind, word.receiver or 0, word.about or "") for word in words)
    faults = [f"{(storm.due - posted).total()} words were never posted"] if storm.due - posted else []
    faults += (
        [f"{(posted - storm.due).total()} words were posted twice or without a cause"] if posted - storm.due else []
    )
    names = {
        f"<{postman.sign(f'letter {word.letter} {_address(word)}')}@house.example>": word
        for word in words
        if word.letter
    }
    came = Counter(str(mail["Message-ID"]) for mail in post.mails)
    tries: Counter[int] = Counter()
    for word in words:
        if word.state not in {State.SENT, State.DROPPED}:
            faults.append(f"the {word.kind} {word.id} is {word.state}: {word.last_error}")
        if word.state is State.DROPPED and (word.kind, word.last_error) != ("outbid", NO_LONGER_SO):
            faults.append(f"the {word.kind} {word.id} was dropped: {word.last_error}")
        tries[word.letter or 0] = max(tries[word.letter or 0], word.tries)
    arrived = {names[name].letter: number for name, number in came.items() if name in names}
    faults += [f"{name} is no letter of the outbox" for name in came.keys() - names.keys()]
    faults += [
        f"the {word.kind} {word.id} is noted as sent and never came"
        for word in words
        if word.state is State.SENT and word.letter not in arrived
    ]
    faults += [
        f"letter {letter} came {number} times, and was tried {tries[letter or 0]} times"
        for letter, number in arrived.items()
        if number > tries[letter or 0] or tries[letter or 0] > TRIES_MAX
    ]
    persons: dict[str, list[int]] = {}
    for mail, receiver in zip(post.mails, post.receivers, strict=True):
        if (name := str(mail["Message-ID"])) in names:
            persons.setdefault(receiver, []).append(names[name].letter or 0)
    for receiver, letters in persons.items():
        if letters != sorted(letters):
            faults.append(f"the mails of {receiver} came out of order")
        if receiver != "person0@example.org" and len(set(letters)) > 2 * letters_max:
            faults.append(f"{receiver} got {len(set(letters))} mails, and words are gathered for {GATHER}")
    tries.pop(0, None)
    again = came.total() - len(came)
    return OutboxOutcome(deaths, storm.bids, len(words), len(came), again, max(tries.values(), default=0), faults)


def _address(word: Word) -> str:
    return f"person{(word.receiver or 1) - 1}@example.org"
