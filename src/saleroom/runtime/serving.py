"""Processes and sockets: listen, serve with uvicorn, end gracefully."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from types import FrameType
from typing import cast
from weakref import WeakSet

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from saleroom.http.event_loop import EventLoop
from saleroom.runtime import cycles, supervision

GRACEFUL_SECONDS_MAX = 20
KEEP_ALIVE_SECONDS = 75
PARENT_SECONDS = 1.0
READY_SECONDS_MAX = 1.0
UNREAD_SECONDS_MAX = 60
"""How long the kernel keeps sent data without an acknowledgement, or data that the client does not read."""
BACKLOG = 4096
"""Connections that the kernel keeps for a process until it takes them. Linux keeps no more unless `somaxconn` is raised.

A client whose connection finds no room tries again after a second.
"""
EVENT_LOOP = f"{EventLoop.__module__}:{EventLoop.__qualname__}"
FILES_RESERVED = 800
"""Files that are not for connections: the database, its pool, the broker's own 500 connections, uploaded pictures."""
HOUSE_ADDRESS = "--host or --port"
"""Where the address of the house is chosen, for messages."""
_PARENT = "SALEROOM_INTERNAL_PARENT"


def listen(host: str, port: int, by: str = HOUSE_ADDRESS) -> socket.socket:
    """Return a listening socket. Raises OSError with a message that names the address and the remedy: another, chosen `by`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return _bound(family, (host, port))
    except OSError as error:
        raise _cannot_listen(host, port, error, by) from None


def _bound(family: int, address: tuple[str, int], *options: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    for option in (socket.SO_REUSEADDR, *options):
        listener.setsockopt(socket.SOL_SOCKET, option, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; a connection that is accepted inherits it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS_MAX * 1000)
    try:
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def _cannot_listen(host: str, port: int, error: OSError, by: str = HOUSE_ADDRESS) -> OSError:
    reason = error.strerror or str(error)
    return OSError(f"cannot listen on {host} port {port}: {reason}; choose another with {by}")


def room_for_connections() -> int:
    """Raise this process's limit of open files as far as possible; return how many connections it then has room for.

    Without a free descriptor a process accepts no connection and SQLite cannot open its journal: every bid would fail.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems refuse the limit that they report
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return sys.maxsize if soft == resource.RLIM_INFINITY else max(soft - FILES_RESERVED, soft // 2)


def _config(
    app: ASGIApp | partial[ASGIApp], http: type[asyncio.BaseProtocol], workers: int, alive_seconds: int | None = None
) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, partial),
        workers=workers,
        loop=EVENT_LOOP,
        http=cast("type[asyncio.Protocol]", http),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SECONDS_MAX,
        callback_notify=supervision.say_alive_in_loop if alive_seconds is not None else None,
        timeout_notify=alive_seconds or 0,
    )


INNER_PARTS = {
    uvicorn.Server: ("capture_signals", "handle_exit", "started", "startup"),
    Multiprocess: ("keep_subprocess_alive", "processes"),
}
"""The inner parts of uvicorn that this module overrides or uses; pyproject.toml bounds the versions."""


class _Server(uvicorn.Server):
    """Uvicorn's server. On SIGTERM it exits with 0 instead of raising the signal again, and it prints when it serves."""

    def __init__(self, config: uvicorn.Config, lines: Sequence[str]) -> None:
        super().__init__(config)
        self._lines = lines

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Turn SIGTERM and SIGINT into a graceful exit; the earlier handlers are restored afterwards."""
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve, and print the lines."""
        await super().startup(sockets)
        cycles.keep_present_objects()
        if self.started:
            _say(self._lines)
            supervision.say_ready(self._lines[0])

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.handle_exit(number, frame)


def serve_one(
    app: ASGIApp,
    http: type[asyncio.BaseProtocol],
    listener: socket.socket,
    lines: Sequence[str],
) -> int:
    """Serve `app` in this process until SIGTERM or SIGINT, and return the exit code; `lines` are printed once it serves."""
    server = _Server(_config(app, http, 1, supervision.alive_seconds()), lines)
    server.run(sockets=[listener])
    return 0 if server.started else 1


def server_beside(app: ASGIApp, http: type[asyncio.BaseProtocol]) -> uvicorn.Server:
    """Return a server that may run in a thread beside the one that serves the house."""
    return uvicorn.Server(_config(app, http, 1))


def serve_several(
    factory: str,
    http: type[asyncio.BaseProtocol],
    workers: int,
    listener: socket.socket,
    lines: Sequence[str],
) -> int:
    """Serve with several processes on `listener`'s port; each makes its application by `factory` (module:function).

    The parent watches over them until SIGTERM or SIGINT. Returns the exit code. Raises OSError if another house is
    about to serve there.
    """
    os.environ[_PARENT] = str(os.getpid())
    config = _config(partial(_made_by, factory), http, workers)
    with _one_each(listener, config.backlog) as sockets:
        supervisor = _Supervisor(config, sockets, lines)
        supervisor.run()
    return 1 if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes) else 0


def _made_by(factory: str) -> ASGIApp:
    """Return the application of one of several processes, which imports the modules for it here."""
    cycles.look_rarely()
    module, _, name = factory.partition(":")
    return cast("ASGIApp", getattr(import_module(module), name)())


class _Supervisor(Multiprocess):
    """Uvicorn's supervisor. It prints its lines once all its processes serve, however long that takes.

    A process that takes long to start does not hang, at the start or in place of one that died: on a busy machine it was
    killed over and over, as it had not answered within the seconds that one which serves has for that.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], lines: Sequence[str]) -> None:
        super().__init__(config, sockets)
        self._lines = lines
        self._started: WeakSet[Process] = WeakSet()
        self._alive_seconds = supervision.alive_seconds()
        self._said_alive = time.monotonic()

    def keep_subprocess_alive(self) -> None:
        """Replace processes that have died or hang, once none is about to start."""
        self._say_alive()
        starting = [one for one in self.processes if one not in self._started and one.process.is_alive()]
        self._started.update([one for one in starting if one.is_ready(READY_SECONDS_MAX)])
        if self._lines and all(one in self._started for one in self.processes):
            _say(self._lines)
            supervision.say_ready(self._lines[0])
            self._lines = ()
        if all(one in self._started for one in starting):
            super().keep_subprocess_alive()

    def _say_alive(self) -> None:
        """Say that this process lives, if the service manager asks for it. It replaces hanging processes itself."""
        now = time.monotonic()
        if self._alive_seconds is not None and now - self._said_alive >= self._alive_seconds:
            self._said_alive = now
            supervision.say_alive()


class _Sibling:
    """Becomes a new socket on the port of `listener` in each process that it is sent to.

    With one shared socket, connections that arrive at once all go to the process that wakes up first: of 256, 215 to one of
    two. The kernel spreads them over separate sockets evenly, and none waits for a process that has died.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._address = (listener.family, listener.getsockname()[:2])

    def __reduce__(self) -> tuple[Callable[..., socket.socket], tuple[int, tuple[str, int], int]]:
        return _bound, (*self._address, socket.SO_REUSEPORT)


@contextmanager
def _one_each(listener: socket.socket, backlog: int) -> Iterator[list[socket.socket]]:
    """Yield the sockets that uvicorn sends to each process to listen on."""
    if sys.platform != "linux":  # other systems do not share connections between such sockets
        listener.listen(backlog)
        yield [listener]
        return
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    host, port = listener.getsockname()[:2]
    # Before the processes listen, a second house could bind the port as well. This name can be bound only once.
    with socket.socket(socket.AF_UNIX) as claim:
        try:
            claim.bind(f"\0saleroom on {host} port {port}")
        except OSError as error:
            raise _cannot_listen(host, port, error) from None
        yield [cast("socket.socket", _Sibling(listener))]


def end_with_parent() -> None:
    """End this process soon after its parent, even if the parent was killed.

    Otherwise the workers of a killed parent would go on and keep the port.
    """
    # From the environment: the parent may have died while this process was starting.
    parent = int(os.environ[_PARENT])

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def _say(lines: Sequence[str]) -> None:
    """Print the lines. A house whose output nobody reads serves all the same."""
    try:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
    except BrokenPipeError:
        # Otherwise Python would write what is left of them once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
