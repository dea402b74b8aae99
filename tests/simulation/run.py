"""Runs one plan to its end, and reports the first breach."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import structlog
from sqlalchemy import insert

from saleroom.accounts.domain.accounts import TOKEN_LIFETIME
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service import accounts
from saleroom.accounts.service.accounts import token_digest
from saleroom.accounts.storage import accounts as account_rows
from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import AuctionCreated
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.service import auctions
from saleroom.bidding.service.recording import begin_ledger
from saleroom.bidding.storage import event_log
from saleroom.feed import feed
from saleroom.kernel.parties import Party
from saleroom.mqtt import outbox, relay
from saleroom.mqtt.topics import ONLINE
from saleroom.sales.domain.labels import label_order
from saleroom.sales.domain.sale import Kind, Sale, SaleStatus, SaleTerms
from saleroom.sales.service import lots
from saleroom.sales.service.people import participants
from saleroom.sales.storage import sales
from saleroom.sales.storage import tables as sale_tables
from saleroom.storage import leases
from saleroom.storage.database import Transaction
from tests.bidding.domain.playing import T0
from tests.histories import PEOPLE
from tests.simulation import desk
from tests.simulation.broker import PREFIX
from tests.simulation.clerks import ENTRIES, ClerkRequest
from tests.simulation.clients import PendingRequest
from tests.simulation.desk import DeskRequest
from tests.simulation.evenings import kind_of
from tests.simulation.holding import hold_evening
from tests.simulation.judge import Breach
from tests.simulation.loop import Deadlock, VirtualLoop
from tests.simulation.model import Token
from tests.simulation.plan_entries import CLERKS, NAMES, STAFF, Entry, Plan, PlannedRequest, PlannedTrouble
from tests.simulation.readers import SimulatedReader
from tests.simulation.sale_model import SALE, SaleModel
from tests.simulation.storage import File
from tests.simulation.world import World
from tests.violations import violations

QUIET_SECONDS_MAX = 260.0
"""How long deliveries may take after the last entry; an end may have moved by two minutes."""

POLL_SECONDS = 2.0
"""How often the house polls for missed notices: less often than a real one, as each poll takes real time."""
ROUNDS_MAX = 20
"""How many times all tasks are told to end: a task that ends may begin another."""


@dataclass
class Result:
    """The result of a plan: the first breach or None, what happened, and how much of it."""

    breach: Breach | None
    lines: list[str] = field(default_factory=list)
    commits: int = 0
    events: int = 0
    virtual_seconds: float = 0.0
    seconds: float = 0.0


def run(plan: Plan, file: File, *, traces: bool = False) -> Result:
    """Run `plan` on an emptied `file`; the same plan always has the same result."""
    began = time.perf_counter()
    file.fresh()
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    world = World(plan, file, loop, traces=traces)
    breach = None
    try:
        with _without_chance(world):
            try:
                loop.run_until_complete(loop.create_task(_live(world), context=world.context()))
            except Breach as broken:
                breach = broken
            except Deadlock as still:
                breach = Breach("the house goes on", str(still))
            finally:
                _bury(world)
        if breach is None and loop.errors:
            breach = Breach("no internal error", loop.errors[0])
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    seconds = time.perf_counter() - began
    return Result(breach, world.lines, world.judge.commits, len(world.judge.order), loop.time(), seconds)


async def _live(world: World) -> None:
    """Run all entries, wait until all is quiet, and check the final state."""
    _populate(world)
    for number in range(1, world.plan.processes + 1):
        world.start(number)
    loop = asyncio.get_running_loop()
    readers = [SimulatedReader(world, lot) for lot in ((None, 1, 0) if world.sells else (None, 1, 2))]
    reading = [loop.create_task(reader.run()) for reader in readers]
    entries = [loop.create_task(_happen(world, entry)) for entry in world.plan.entries]
    await _unless_broken(world, asyncio.gather(*entries))
    world.calm = True
    deadline = loop.time() + QUIET_SECONDS_MAX
    while (lacking := _lacking(world, readers)) is not None:
        if loop.time() > deadline:
            raise lacking
        await _unless_broken(world, asyncio.ensure_future(asyncio.sleep(0.5)))
    for task in reading:
        task.cancel()
    _inspect(world)
    if world.failed.done():
        world.failed.result()


async def _unless_broken(world: World, work: asyncio.Future[Any]) -> None:
    """Wait for `work`. Raises Breach at the first one."""
    await asyncio.wait({work, world.failed}, return_when=asyncio.FIRST_COMPLETED)
    if world.failed.done():
        world.failed.result()
    work.result()


async def _happen(world: World, entry: Entry) -> None:
    await asyncio.sleep(entry.at)
    if isinstance(entry, PlannedTrouble):
        world.strike(entry)
        await asyncio.sleep(entry.seconds + 0.01)
    else:
        world.trace(f"{entry.number} {entry}")
        what = entry.what if isinstance(entry, PlannedRequest) else ""
        made = ClerkRequest if what in ENTRIES else DeskRequest if what in desk.ENTRIES else PendingRequest
        await made(world, entry).run()


def _populate(world: World) -> None:
    """Add the people, logged in; the token of one expires in the middle, as if it had been issued 30 days before."""
    chance = world.chance("people")
    expires = {chance.randrange(1, len(PEOPLE)): T0 + timedelta(seconds=chance.randrange(2, 30))}
    with world.file.writer.begin() as connection:
        tx = Transaction(connection, world.clock)
        for person, name in enumerate(NAMES if world.sells else PEOPLE):
            account = accounts.register(tx, name.replace(" ", "-"), "no digest")
            if person in (STAFF, *CLERKS):
                account_rows.set_role(tx, account.id, Role.AUCTIONEER if person == STAFF else Role.CLERK)
            value, until = f"token of {name}", expires.get(person, T0 + TOKEN_LIFETIME)
            account_rows.add_token(tx, account.id, token_digest(value), until - TOKEN_LIFETIME)
            world.users.append(account.id)
            world.tokens.append(value)
            world.judge.model.people[account.id] = person
            world.judge.model.tokens[value] = Token(person, until)
        if kind_of(world.plan.seed) == "loose":
            owner, terms = Party(world.users[STAFF], PEOPLE[STAFF]), SaleTerms(title="All lots", kind=Kind.TIMED)
            sales.add(tx, Sale(id=0, gid=SALE, owner=owner, terms=terms, created_at=T0, status=SaleStatus.RUNNING))
            world.judge.model.sale = SaleModel(world.judge.model, live=False, status="running")
        if world.sells:
            hold_evening(world, tx)
    if world.sells:
        world.judge.published()
        world.judge.committed("publish", (), None, world.clock())


def _lacking(world: World, readers: list[SimulatedReader]) -> Breach | None:
    """Return the first fault of the final state, or None if all is well."""
    judge, broker = world.judge, world.broker
    if len(world.serving()) < world.plan.processes:
        return Breach("the house goes on", "a process does not serve")
    running = [known.auction for known in judge.known.values() if not known.auction.over]
    if open_ends := [one.gid for one in running if one.ends_at and one.paused_at is None]:
        return Breach("auctions close", f"{open_ends} are not over, and {judge.unfinished(world.clock())} are due")
    for gid, version in judge.last_versions().items():
        if broker.delivered.get(gid) != version:
            return Breach("everything owed is delivered", f"{gid}: {broker.delivered.get(gid)} of {version} events")
        topic = f"{PREFIX}sales/{SALE}/state" if gid == SALE else f"{PREFIX}auctions/{gid}/state"
        state = broker.retained.get(topic)
        if state != judge.states[gid][version] and (gid == SALE or not judge.model.auctions[gid].was_withheld):
            return Breach("the last state is retained", f"{gid}: {state!r}")
    if broker.retained.get(f"{PREFIX}status") != ONLINE:
        return Breach("the status is online", f"{broker.retained.get(f'{PREFIX}status')!r}")
    with world.file.begun() as connection:
        tx = Transaction(connection, world.clock)
        owed = event_log.LOG.owed_count(tx) + (sales.LOG.owed_count(tx) if world.sells else 0)
    if owed:
        return Breach("everything owed is delivered", f"{owed} events are not marked")
    lacks = [reader.lacks() for reader in readers]
    return Breach("every reader has every event", f"{lacks} are missing") if any(lacks) else None


def _inspect(world: World) -> None:
    """Look at the whole database once more, from outside."""
    with world.file.begun() as connection:
        tx = Transaction(connection, world.clock)
        for gid, known in world.judge.known.items():
            if replay(known.auction.id, event_log.read(tx, known.auction.id)) != known.auction:
                raise Breach("replaying the log gives the stored state", gid)
        if found := violations(tx):
            raise Breach("the rows break no rule", "; ".join(found))
        if found := faults_of(tx):
            raise Breach("the ledgers verify", "; ".join(found))


def _bury(world: World) -> None:
    """End all tasks, of the dead too, so that nothing of this world reaches the next."""
    world.over = world.calm = True
    world.broker.up = False
    if world.failed.done():
        world.failed.exception()
    world.loop.errors, errors = [], list(world.loop.errors)
    for process in world.processes_ever:
        process.strand.revive()
        process.closer.revive()
    for _ in range(ROUNDS_MAX):
        tasks = asyncio.all_tasks(world.loop)
        if not tasks:
            break
        for task in tasks:
            task.cancel()
        world.loop.run_until_complete(asyncio.wait(tasks, timeout=60.0))
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()
    world.loop.errors = errors


@contextmanager
def _without_chance(world: World) -> Iterator[None]:
    """Replace the clocks, randomness, broker and log in the modules of the house by the world's."""
    chance = world.chance("secrets")
    clock = SimpleNamespace(monotonic=world.loop.time)
    with (
        patch.object(outbox, "time", clock),
        patch.object(relay, "POLL_SECONDS", POLL_SECONDS),
        patch.object(feed, "POLL_SECONDS", POLL_SECONDS),
        patch.object(feed, "time", clock),
        patch.object(leases, "clock", world.loop.time),
        patch.object(relay, "_CHANCE", Random(f"{world.plan.seed} back-off")),
        patch.object(relay, "connect", world.broker.connect),
        patch.object(relay, "secrets", _Secrets(chance)),
        patch.object(auctions, "secrets", _Secrets(chance)),
        patch.object(auctions, "begin_ledger", _begin_in_sale if kind_of(world.plan.seed) == "loose" else begin_ledger),
        patch.object(accounts, "secrets", _Secrets(chance)),
        patch.object(participants, "secrets", _Secrets(chance)),
        patch.object(lots, "secrets", _Secrets(chance)),
        _logged(world),
    ):
        yield


def _begin_in_sale(tx: Transaction, created: AuctionCreated) -> Auction:
    """Begin an auction as a lot of the sale."""
    auction = begin_ledger(tx, created, sale_id=1)
    terms = {"gid": auction.gid, "sale_id": 1, "auction_id": auction.id, "created_at": created.at, "rank": auction.id}
    tx.execute(
        insert(sale_tables.lots).values(**terms, label=str(auction.id), label_order=label_order(str(auction.id)))
    )
    return auction


class _Secrets:
    """A stand-in for the standard module of this name, driven by the seed."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def token_bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def token_hex(self, count: int) -> str:
        return self.token_bytes(count).hex()

    def token_urlsafe(self, count: int) -> str:
        return base64.urlsafe_b64encode(self.token_bytes(count)).rstrip(b"=").decode()


@contextmanager
def _logged(world: World) -> Iterator[None]:
    """Keep the house's log out of sight; an error that it did not expect is a breach."""

    def note(_: Any, __: str, line: Any) -> Any:
        if line.get("exc_info") and not world.over:
            world.fail(Breach("no internal error", f"{line}"))
        elif not world.over:
            world.trace(f"log: {line}")
        raise structlog.DropEvent

    before = structlog.get_config() if structlog.is_configured() else None
    structlog.configure(processors=[note])
    try:
        yield
    finally:
        structlog.reset_defaults()
        if before is not None:
            structlog.configure(**before)
