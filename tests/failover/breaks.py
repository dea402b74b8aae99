"""The breaks: each happens once, in the middle of the bids, and is mended before it returns."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal

import asyncpg

from tests.failover import versions
from tests.failover.cluster import DISK
from tests.failover.machines import Machine
from tests.failover.trial import Scene, Trouble

A_FEW = 10
Role = Literal["primary", "standby"]
CUT_SECONDS = 4.0
"""How long a primary without standbys may decide: less than Patroni needs to take its rank away."""
SPRAY_SECONDS = 15.0
SLOW_SECONDS = 0.5
STEP_SLOW = 30
SESSION = """SELECT pid, wait_event FROM pg_stat_activity
    WHERE usename = 'saleroom' ORDER BY (wait_event = 'SyncRep') DESC NULLS LAST, random() LIMIT 1"""
LOG_FILES_MAX = 50
FORGETS = timedelta(seconds=5)


async def nothing(scene: Scene) -> None:
    """Nothing breaks."""
    scene.mark()
    await scene.storm.more(A_FEW)


def postgresql_killed(role: Role) -> Trouble:
    """All processes of a PostgreSQL are killed; its Patroni lives."""

    async def kill(scene: Scene) -> None:
        machine = await _machine(scene, role)
        scene.mark()
        machine.kill_processes("postgres:")
        machine.kill_processes("bin/postgres")
        await scene.storm.more(A_FEW)

    return kill


def machine_lost(role: Role) -> Trouble:
    """Everything on a machine ends at once, and its network with it; it comes back once bids are taken again."""

    async def lose(scene: Scene) -> None:
        machine = await _machine(scene, role)
        scene.mark()
        await _lose(scene, machine)
        await scene.storm.more(A_FEW)
        await _come_back(scene, machine)

    return lose


Hurt = Callable[[Machine, Sequence[Machine]], None]
"""What begins or ends a break of a machine, beside the two others."""


def frozen(role: Role, seconds: float) -> Trouble:
    """All processes of a machine stop, and go on after `seconds` as if nothing had been."""
    return _for_a_while(role, seconds, lambda machine, _: machine.freeze(), lambda machine, _: machine.thaw())


def isolated(role: Role, seconds: float) -> Trouble:
    """A machine has no network for a while, and everything on it runs on."""
    return _for_a_while(role, seconds, lambda machine, _: machine.isolate(), lambda machine, _: machine.join())


def deaf(role: Role, seconds: float) -> Trouble:
    """A machine gets nothing from the two others for a while; they get everything from it."""

    def begin(machine: Machine, others: Sequence[Machine]) -> None:
        for other in others:
            other.mute(machine)

    def end(machine: Machine, others: Sequence[Machine]) -> None:
        for other in others:
            other.speak(machine)

    return _for_a_while(role, seconds, begin, end)


def mute(role: Role, seconds: float) -> Trouble:
    """The two others get nothing from a machine for a while; it gets everything from them."""
    return _for_a_while(
        role, seconds, lambda machine, others: machine.mute(*others), lambda machine, others: machine.speak(*others)
    )


def _for_a_while(role: Role, seconds: float, begin: Hurt, end: Hurt) -> Trouble:
    async def hurt(scene: Scene) -> None:
        machine = await _machine(scene, role)
        others = _others(scene, machine)
        scene.mark()
        await asyncio.to_thread(begin, machine, others)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(end, machine, others)
        await scene.storm.more(A_FEW)

    return hurt


async def lost_without_standbys(scene: Scene) -> None:
    """The primary's machine cannot send to the standbys for a moment, while bidders reach it; then it is lost.

    What it decides in that moment is on no other machine: asynchronous replication acknowledges it, and loses it.
    """
    machine = await scene.cluster.primary()
    others = _others(scene, machine)
    machine.mute(*others)
    with suppress(TimeoutError):  # if the standbys count, it decides nothing
        async with asyncio.timeout(CUT_SECONDS):
            await asyncio.sleep(1)
            await scene.storm.more(A_FEW)
    scene.mark()
    await _lose(scene, machine)
    machine.speak(*others)
    await scene.storm.more(A_FEW)
    await _come_back(scene, machine)


async def switchover(scene: Scene) -> None:
    """A standby is made the primary, in order."""
    scene.mark()
    await scene.cluster.switch_over()
    await scene.storm.more(A_FEW)


async def slow_links(scene: Scene) -> None:
    """What passes between the servers of PostgreSQL comes `SLOW_SECONDS` later, each way, for a while."""
    scene.mark()
    scene.cluster.slow_down(SLOW_SECONDS)
    await asyncio.sleep(SPRAY_SECONDS)
    await scene.storm.more(A_FEW)
    scene.cluster.slow_down(0)
    await scene.storm.more(A_FEW)


async def killed_with_slow_links(scene: Scene) -> None:
    """Such links first, and then the primary's PostgreSQL is killed: what it has sent is still under way."""
    scene.cluster.slow_down(SLOW_SECONDS)
    await scene.storm.more(STEP_SLOW)
    await postgresql_killed("primary")(scene)
    scene.cluster.slow_down(0)
    await scene.storm.more(A_FEW)


async def disk_full(scene: Scene) -> None:
    """No more byte can be written to the primary's disk; somebody makes room once bids are taken again."""
    machine = await scene.cluster.primary()
    scene.mark()
    await asyncio.to_thread(machine.fill, DISK)
    await _use_up_the_log(await scene.cluster.url())
    await scene.storm.more(A_FEW)
    machine.empty(DISK)
    await scene.storm.more(A_FEW)


async def houses_upgraded(scene: Scene) -> None:
    """The houses are ended in order and started again, one after the other, as for a new version; no bid is refused."""
    before = scene.storm.repeats
    await _roll(scene)
    _must_refuse_none(scene, before)


async def houses_upgraded_with_steps(scene: Scene) -> None:
    """The same for two versions after each other: the first adds columns to tables of the sale, the second drops them."""
    before = scene.storm.repeats
    for version in await asyncio.to_thread(versions.expanding_and_contracting, scene.cluster.folder):
        for machine in scene.cluster.machines.values():
            machine.change("house", {"PYTHONPATH": str(version)})
        await _roll(scene)
        await scene.storm.more(A_FEW)
    _must_refuse_none(scene, before)


async def _roll(scene: Scene) -> None:
    scene.mark()
    for machine in scene.cluster.machines.values():
        await asyncio.to_thread(machine.end, "house")
        machine.start("house")
        await scene.cluster.healed()


def _must_refuse_none(scene: Scene, before: int) -> None:
    refused = scene.storm.repeats - before
    scene.notes["refused meanwhile"] = scene.notes.get("refused meanwhile", 0) + refused
    if refused:
        scene.storm.faults.append(f"{refused} requests were refused or got no answer while houses were upgraded")


async def house_killed(scene: Scene) -> None:
    """The house of a random machine is killed, and started again."""
    machine = random.choice(list(scene.cluster.machines.values()))
    scene.mark()
    machine.kill("house")
    await scene.storm.more(A_FEW)
    machine.start("house")


def broker_killed(name: str) -> Trouble:
    """The broker of a machine is killed, and started again after some bids."""

    async def kill(scene: Scene) -> None:
        scene.mark()
        _forget(scene)
        scene.cluster.machines[name].kill("mosquitto")
        await scene.storm.more(5 * A_FEW)
        scene.cluster.machines[name].start("mosquitto")

    return kill


async def sessions_ended(scene: Scene) -> None:
    """Somebody cancels statements and ends sessions of the houses, first those that wait for a standby."""
    scene.mark()
    await _end_sessions(scene, SPRAY_SECONDS, ("pg_cancel_backend", "pg_cancel_backend", "pg_terminate_backend"))
    await scene.storm.more(A_FEW)


async def lost_after_cancelled_waits(scene: Scene) -> None:
    """The primary's machine cannot send to the standbys, somebody cancels the waits for them, and then it is lost.

    A cancelled wait leaves its transaction committed there alone, with a warning. A house that takes it for done loses it.
    """
    machine = await scene.cluster.primary()
    others = _others(scene, machine)
    machine.mute(*others)
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):  # PostgreSQL may be told to end meanwhile
        await _end_sessions(scene, CUT_SECONDS, ("pg_cancel_backend",))
    scene.mark()
    await _lose(scene, machine)
    machine.speak(*others)
    await scene.storm.more(A_FEW)
    await _come_back(scene, machine)


async def _end_sessions(scene: Scene, seconds: float, acts: Sequence[str]) -> None:
    connection = await asyncpg.connect(await scene.cluster.url())
    end = asyncio.get_running_loop().time() + seconds
    try:
        while asyncio.get_running_loop().time() < end:
            if found := await connection.fetchrow(SESSION):
                await connection.execute(f"SELECT {random.choice(acts)}({found['pid']})")
                waited = "waiting for a standby" if found["wait_event"] == "SyncRep" else "otherwise"
                scene.notes[f"ended {waited}"] = scene.notes.get(f"ended {waited}", 0) + 1
            await asyncio.sleep(0.03)
    finally:
        await connection.close()


async def _machine(scene: Scene, role: Role) -> Machine:
    return await (scene.cluster.primary() if role == "primary" else scene.cluster.standby())


def _others(scene: Scene, machine: Machine) -> list[Machine]:
    return [other for other in scene.cluster.machines.values() if other is not machine]


async def _lose(scene: Scene, machine: Machine) -> None:
    machine.isolate()
    if machine.has("mosquitto"):
        _forget(scene)
    await asyncio.to_thread(machine.kill)


async def _come_back(scene: Scene, machine: Machine) -> None:
    machine.join()
    machine.start()


async def _use_up_the_log(url: str) -> None:
    """Begin one file of the log after the other until there is none left, which ends PostgreSQL; bids alone take minutes."""
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        connection = await asyncpg.connect(url)
        for _ in range(LOG_FILES_MAX):
            await connection.execute("SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal()")
            await asyncio.sleep(0.1)


def _forget(scene: Scene) -> None:
    now = datetime.now(UTC)
    scene.forgotten.append((now - FORGETS, now + FORGETS))
