"""The event loop accepts all connections that wait, within bounds, and loses none at its end."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from saleroom.http.event_loop import ACCEPTED_MAX, EventLoop
from saleroom.runtime import serving
from tests.http.echo import Echo, echoed, rest
from tests.http.few_files import FILES_MAX, GREETING
from tests.patience import SECONDS_MAX, until
from tests.process import ending, environment, wait_until

WAITING = 500
GET = b"GET /one HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
FEW_FILES = Path(__file__).with_name("few_files.py")


class Passes:
    """Counts the connections that are made in each pass of an event loop."""

    def __init__(self) -> None:
        self.made: list[int] = [0]
        asyncio.get_running_loop().call_soon(self._next)

    def protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol of a connection, and count it."""
        self.made[-1] += 1
        return asyncio.Protocol()

    def _next(self) -> None:
        self.made.append(0)
        asyncio.get_running_loop().call_soon(self._next)


def run(scenario: Callable[[socket.socket], Coroutine[Any, Any, None]]) -> None:
    """Run a scenario in an event loop of the house, on a listening socket."""
    with serving.listen("127.0.0.1", 0) as listener, asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(scenario(listener))


def dial(listener: socket.socket) -> socket.socket:
    """Return a connection that waits on `listener`."""
    return socket.create_connection(listener.getsockname(), timeout=SECONDS_MAX)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere fewer are accepted in a pass")
def test_waiting_connections_are_accepted_in_few_passes() -> None:
    """Of 500 waiting connections each pass accepts many, but no more than the bound, and the last one too."""

    async def scenario(listener: socket.socket) -> None:
        listener.listen(serving.BACKLOG)
        with contextlib.ExitStack() as clients:
            for _ in range(WAITING):
                clients.enter_context(dial(listener))
            passes = Passes()
            server = await asyncio.get_running_loop().create_server(passes.protocol, sock=listener, backlog=WAITING)
            async with server:
                await until(lambda: sum(passes.made) == WAITING, "all are accepted")
        used = [made for made in passes.made if made]
        assert (True, True) == (len(used) <= 4, max(used) <= ACCEPTED_MAX + 1), used

    run(scenario)


def test_a_connection_that_has_gone_again_hides_no_other() -> None:
    """A client that hangs up while it waits, with a reset, does not keep those behind it from being accepted."""

    async def scenario(listener: socket.socket) -> None:
        listener.listen(serving.BACKLOG)
        with dial(listener) as first, dial(listener) as gone, dial(listener) as last:
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
            gone.close()
            made: list[str] = []

            class Protocol(asyncio.Protocol):
                def connection_made(self, transport: asyncio.BaseTransport) -> None:
                    made.append(str(transport.get_extra_info("peername")))

            server = await asyncio.get_running_loop().create_server(Protocol, sock=listener, backlog=WAITING)
            async with server:
                await until(lambda: {str(one.getsockname()) for one in (first, last)} <= set(made), "both are served")

    run(scenario)


def test_a_process_without_free_files_says_so_and_serves_on() -> None:
    """If no file is free, waiting clients are turned away and the log says so; once one is free, clients are served again."""
    command = [sys.executable, str(FEW_FILES)]
    folder = Path(__file__).parents[2]
    with ending(
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment() | {"PYTHONPATH": "."}
        )
    ) as process:
        address = ("127.0.0.1", int(process.stdout.readline()))
        greeted = 0
        with contextlib.ExitStack() as clients:
            for _ in range(2 * FILES_MAX):
                client = clients.enter_context(socket.create_connection(address, timeout=SECONDS_MAX))
                with contextlib.suppress(ConnectionError):
                    greeted += client.recv(100) == GREETING
        assert FILES_MAX / 2 < greeted < FILES_MAX
        wait_until(lambda: _is_greeted(address))
        process.kill()
        log = process.stdout.read()
        assert "connections cannot be accepted" in log
        assert "Too many open files" in log


def _is_greeted(address: tuple[str, int]) -> bool:
    with socket.create_connection(address, timeout=SECONDS_MAX) as client, contextlib.suppress(ConnectionError):
        return client.recv(100) == GREETING
    return False


def test_all_of_a_crowd_are_answered() -> None:
    """Clients that connect all at once while the event loop is busy each get their own answer."""
    with Echo() as echo, contextlib.ExitStack() as clients:
        held = echo.hold()
        crowd = [clients.enter_context(echo.dial()) for _ in range(100)]
        for number, client in enumerate(crowd):
            client.sendall(GET.replace(b"one", b"%d" % number))
        held.set()
        assert [[["GET", f"/{number}", ""]] for number in range(100)] == [echoed(rest(client)) for client in crowd]


def test_the_end_of_a_server_ends_all_connections() -> None:
    """A server that is told to end while clients wait to be accepted ends at once, and each client gets an answer or an end."""
    with Echo() as echo, contextlib.ExitStack() as clients:
        held = echo.hold()
        crowd = [clients.enter_context(echo.dial()) for _ in range(100)]
        echo.end()
        time.sleep(
            0.2
        )  # in the pass that accepts the crowd uvicorn looks whether to end, as it does ten times a second
        held.set()
        for client in crowd:
            client.settimeout(serving.GRACEFUL_SECONDS_MAX / 2)  # afterwards uvicorn would end it by force
            with contextlib.suppress(ConnectionError):
                assert b"" == client.recv(100)
