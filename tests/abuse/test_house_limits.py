"""Limits that all processes of a house keep together: failed logins, registrations and connections, in two processes."""

import itertools
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.abuse.attack import ELSEWHERE, HERE, THERE, client, credentials
from tests.process import ServeProcess, wait_until

FAILURES_MAX, REGISTRATIONS_MAX = 10, 6
EACH_MAX, ALL_MAX = 24, 40
LIMITS = {
    "failed_logins_per_hour": str(FAILURES_MAX),
    "registrations_per_hour": str(REGISTRATIONS_MAX),
    "connections_max": str(ALL_MAX),
    "connections_per_address_max": str(EACH_MAX),
    "mqtt": "off",
}


@pytest.fixture
def processes(database_kind: str, database_url: str, tmp_path: Path) -> Iterator[list[ServeProcess]]:
    """Two processes on one database: workers of one house on PostgreSQL, two houses on SQLite."""
    several = ("--workers", "2") if database_kind == "postgresql" else ()
    houses = [ServeProcess(tmp_path, *several, database=database_url, **LIMITS)]
    if database_kind == "sqlite":
        houses.append(ServeProcess(tmp_path, database=database_url, **LIMITS))
    yield houses
    for house in houses:
        house.kill()


def test_tries_count_in_all_processes(processes: list[ServeProcess]) -> None:
    """An address has as many failed logins and registrations in two processes as in one, over a restart too.

    A name that has logged in there before is not held up, and neither is another address.
    """
    doors = itertools.cycle(processes)

    def ask(path: str, source: str, name: str, password: str | None = None) -> int:
        with client(next(doors), source) as anyone:  # a new connection each time: it may go to either process
            given = {} if password is None else {"password": password}
            return anyone.post(path, **credentials(name, **given)).status_code

    assert 201 == ask("/users", HERE, "ada")
    assert 200 == ask("/login", THERE, "ada")
    made = Counter(ask("/users", THERE, f"mass{number}") for number in range(2 * REGISTRATIONS_MAX))
    assert {201: REGISTRATIONS_MAX, 429: REGISTRATIONS_MAX} == made
    tried = Counter(ask("/login", THERE, f"name{number}", "a guess") for number in range(2 * FAILURES_MAX))
    assert (FAILURES_MAX, 2 * FAILURES_MAX) == (tried[422], tried[422] + tried[429])
    assert (429, 200, 200) == (
        ask("/login", THERE, "mass1"), ask("/login", THERE, "ada"), ask("/login", ELSEWHERE, "mass1"),
    )  # fmt: skip
    assert 201 == ask("/users", ELSEWHERE, "another")


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_connections_count_in_all_processes(processes: list[ServeProcess]) -> None:
    """An address has as many connections in two processes as in one, and so have all; a killed process holds none."""
    [house] = processes
    port = int(house.url.rpartition(":")[2])

    def kept(source: str, times: int) -> list[socket.socket]:
        """Connect so often, and return the connections that the house keeps."""
        found = []
        for _ in range(times):
            one = socket.create_connection((HERE, port), source_address=(source, 0))
            with suppress(ConnectionError):  # of a process that has just been killed
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                answer = one.recv(65536)
                assert b" 200 " in answer or b" 503 " in answer or not answer
                if b" 200 " in answer:
                    found.append(one)
                    continue
            one.close()
        return found

    hall = kept(THERE, 3 * EACH_MAX)
    assert EACH_MAX == len(hall)
    rest = kept(ELSEWHERE, EACH_MAX)
    assert ALL_MAX - EACH_MAX == len(rest)
    workers = psutil.Process(house.process.pid).children()
    assert all(0 < _taken(one, port) < ALL_MAX for one in workers)
    for one in rest:
        one.close()
    left = _taken(workers[1], port, THERE)
    workers[0].kill()
    again: list[socket.socket] = []

    def replaced() -> bool:
        again.extend(kept(THERE, 2))
        return len(again) >= EACH_MAX - left

    wait_until(replaced)
    assert EACH_MAX - left == len(again)
    assert [] == kept(THERE, EACH_MAX)
    for one in (*hall, *again):
        one.close()


def _taken(worker: psutil.Process, port: int, source: str = "") -> int:
    """Return how many connections a process holds, of all addresses or of one."""
    open_now = worker.net_connections("tcp4")
    return sum(1 for one in open_now if one.laddr.port == port and one.raddr and source in ("", one.raddr.ip))
