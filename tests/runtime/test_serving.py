"""Processes: how connections are shared, and that nothing is left of a house whose parent process dies.

These houses start their processes as they do for people, and not as forks (tests/forking.py).
"""

import contextlib
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest
import uvicorn

from saleroom.runtime import serving, supervision
from tests.fixtures_database import Template, _postgresql_database
from tests.manager import Manager
from tests.patience import SECONDS_MAX
from tests.process import ServeProcess, saleroom, wait_until

CONNECTIONS = 128
TWO = ("--workers", "2", "--mqtt", "off")
HANGING_SECONDS = uvicorn.Config("").timeout_worker_healthcheck
SPAWNED = {"test_spawns": "yes"}


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    """The service manager of the shared house."""
    with Manager(f"{tmp_path_factory.mktemp('manager')}/notify") as made:
        yield made


@pytest.fixture(scope="module")
def shared(
    postgresql_template: Template, manager: Manager, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServeProcess]:
    """A house of two processes for tests that leave it with two, as a start costs more than they do; the last one ends it."""
    with contextlib.contextmanager(_postgresql_database)(*postgresql_template) as url:
        with pytest.MonkeyPatch.context() as patch:  # for this house alone
            patch.setenv(supervision.SOCKET_VARIABLE, manager.address)
            patch.setenv(supervision.WATCHDOG_VARIABLE, "300000")
            house = ServeProcess(tmp_path_factory.mktemp("shared"), *TWO, database=url, **SPAWNED)
        try:
            yield house
            assert house.process.poll() == -signal.SIGKILL or 0 == house.terminate()
        finally:
            house.kill()


def test_the_parent_says_that_all_serve_and_that_it_lives(shared: ServeProcess, manager: Manager) -> None:
    """A house of several processes is ready once all serve; its parent alone speaks to the service manager."""
    notices = [manager.next()]
    while notices[-1] == ["WATCHDOG=1"]:  # it lives before all of them serve
        notices.append(manager.next())
    assert ("READY=1", True) == (notices[-1][0], shared.url in notices[-1][1])
    assert ["WATCHDOG=1"] == manager.next()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the processes share one socket")
def test_connections_spread_over_the_processes(shared: ServeProcess) -> None:
    """If connections come all at once each process gets its share, even the last one to wake up."""
    port = int(shared.url.rpartition(":")[2])
    early, late = _workers(shared)
    late.suspend()
    with contextlib.ExitStack() as clients:
        try:
            for _ in range(CONNECTIONS):
                client = clients.enter_context(socket.socket())
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    client.connect(("127.0.0.1", port))
            wait_until(lambda: _taken(early, port) > 0)
            time.sleep(0.5)  # time enough to take them all
            late.resume()
            wait_until(lambda: _taken(early, port) + _taken(late, port) == CONNECTIONS)
            # By chance alone, one in a billion times a process would get so few.
            assert CONNECTIONS / 4 < min(_taken(early, port), _taken(late, port))
        finally:
            late.resume()


def test_a_worker_that_dies_is_replaced(shared: ServeProcess) -> None:
    """When a worker process is killed the others take all new connections, and soon there is a new one beside them."""
    killed, _ = _workers(shared)
    killed.kill()
    psutil.wait_procs([killed], timeout=SECONDS_MAX)
    assert {200} == {httpx.get(f"{shared.url}/healthz").status_code for _ in range(20)}
    wait_until(lambda: len(_listening(shared)) == 2 and killed not in _listening(shared))
    assert {200} == {httpx.get(f"{shared.url}/healthz").status_code for _ in range(20)}


def test_a_worker_that_takes_long_to_start_is_not_replaced(shared: ServeProcess) -> None:
    """The process in place of one that was killed stands still for longer than one that serves may. It serves in the end."""
    killed, other = _workers(shared)
    killed.kill()
    psutil.wait_procs([killed], timeout=SECONDS_MAX)
    wait_until(lambda: len(_workers(shared)) == 2)
    [new] = {*_workers(shared)} - {other}
    new.suspend()
    time.sleep(HANGING_SECONDS + 2)
    new.resume()
    wait_until(lambda: len(_listening(shared)) == 2)
    assert {new, other} == {*_listening(shared)}


class HurtHouse(ServeProcess):
    """A house that loses a worker process while it starts."""

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        wait_until(lambda: bool(_workers(self)))
        _workers(self)[0].kill()
        super()._until(holds, what)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_a_worker_that_dies_at_the_start_is_replaced(database_url: str, tmp_path: Path) -> None:
    """A house says that it serves once every worker does, also if one of them has had to be replaced."""
    house = HurtHouse(tmp_path, *TWO, database=database_url, **SPAWNED)
    try:
        wait_until(lambda: len(_listening(house)) == 2)
        assert 1 == house.output.count("saleroom serves on")
        assert 0 == house.terminate()
    finally:
        house.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a listening socket says that the port is taken")
@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_two_houses_on_one_port(shared: ServeProcess, database_url: str, tmp_path: Path) -> None:
    """A second house of several processes on the port of a first is refused, even before the first one serves."""

    def refused(port: int) -> tuple[int, str]:
        arguments = ("serve", "--workers", "2", "--port", str(port))
        ended = saleroom(tmp_path, *arguments, database=database_url, mqtt="off")
        return ended.returncode, ended.stdout + ended.stderr

    listener = serving.listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    with listener, serving._one_each(listener, 1):
        ended = refused(port)
    taken = f"cannot listen on 127.0.0.1 port {port}: Address already in use; choose another with --host or --port"
    assert (1, f"saleroom: {taken}\n") == ended
    port = int(shared.url.rpartition(":")[2])
    code, said = refused(port)
    assert (1, True) == (code, f"port {port}: Address already in use" in said)


def _taken(worker: psutil.Process, port: int) -> int:
    """Return how many connections a worker process has taken."""
    return sum(1 for taken in worker.net_connections("tcp4") if taken.laddr.port == port and taken.raddr)


def _listening(house: ServeProcess) -> list[psutil.Process]:
    """Return the worker processes that listen by now."""
    listening = []
    for worker in _workers(house):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end meanwhile
            if any(connection.status == psutil.CONN_LISTEN for connection in worker.net_connections("tcp4")):
                listening.append(worker)
    return listening


def _workers(house: ServeProcess) -> list[psutil.Process]:
    workers = []
    for child in psutil.Process(house.process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end meanwhile
            if "spawn_main" in " ".join(child.cmdline()):
                workers.append(child)
    return workers


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_workers_end_with_their_parent(shared: ServeProcess, database_url: str, tmp_path: Path) -> None:
    """A parent that is killed leaves no worker behind: the port is free again for the next start."""
    workers = _workers(shared)
    try:
        assert 2 == len(workers)
        shared.process.send_signal(signal.SIGKILL)
        gone, alive = psutil.wait_procs(workers, timeout=SECONDS_MAX)
        assert (2, 0) == (len(gone), len(alive))
        port = int(shared.url.rpartition(":")[2])
        again = ServeProcess(tmp_path, "--mqtt", "off", "--port", str(port), database=database_url)
        assert 0 == again.terminate()
    finally:
        for worker in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.kill()
        shared.wait()


def test_a_port_that_is_taken_is_said_with_its_own_setting() -> None:
    """The message about a taken port names where that port is chosen, not always the port of the house."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for by in ("--host or --port", "the settings metrics_host or metrics_port"):
            with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1 port {port}: .*; choose another with {by}"):
                serving.listen("127.0.0.1", port, by)
