"""Connections that are idle, endless or too many: they end, and the sale goes on meanwhile."""

import json
import re
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from tests.abuse.attack import ELSEWHERE, HASTE, HERE, PROXY, THERE, HastyHouse, asked, client, dial, rest, sale
from tests.patience import SECONDS_MAX
from tests.process import wait_until

MANY = 100
EACH_MAX, ALL_MAX = 120, 300
LIMITS = {
    "connections_max": str(ALL_MAX),
    "connections_per_address_max": str(EACH_MAX),
    "trusted_proxies": PROXY,
}
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
LARGE = b"GET /assets/vendor/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n"
"""Asks for more than a megabyte; asked several times, more than the kernel keeps."""
STALL_SECONDS = 4.0
STEADY = {
    "saleroom.http.client_connection:STALL_SECONDS": STALL_SECONDS,
    "saleroom.runtime.serving:UNREAD_SECONDS_MAX": 30,
}
"""Patience for a reader that a busy machine holds up."""
STEADY_BYTES_PER_SECOND = 2.5e6


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HastyHouse]:
    """A house for all of these tests."""
    house = HastyHouse(tmp_path_factory.mktemp("abuse"), **LIMITS)
    yield house
    house.kill()


def held(house: HastyHouse, source: str = THERE) -> int:
    """Return how many connections of an address the process of the house holds."""
    open_now = psutil.Process(house.process.pid).net_connections("tcp4")
    return sum(1 for one in open_now if one.raddr and one.raddr.ip == source)


def kept(house: HastyHouse, source: str = THERE) -> int:
    """Return how many connections the house or the kernel still keeps, including those that wait to be read."""
    all_now = psutil.net_connections("tcp4")
    return sum(
        1
        for one in all_now
        if one.raddr and one.raddr.ip == source and one.laddr.port == house.port and one.status != psutil.CONN_TIME_WAIT
    )


def trickle(connections: list[socket.socket], piece: bytes) -> bool:
    """Send a piece over each connection, and return whether the house has hung up on all of them."""
    for connection in list(connections):
        try:
            connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            connections.remove(connection)
        time.sleep(0.2 / MANY)
    return not connections


LOGIN = b"POST /login HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\nContent-Type: application/json\r\n"
TRICKLES = {
    "blank lines": (b"", b"\r\n"),
    "a head": (GET + b"X-Slow: ", b"a"),
    "blank lines after an answer": (GET + b"\r\n", b"\r\n"),
    "a body that nobody reads": (b"POST /logout HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", b"a"),
    "a body that is too large": (LOGIN + b"Content-Length: 6000000\r\n\r\n", b"a"),
    "a body that was refused": (LOGIN + b"Transfer-Encoding: gzip, chunked\r\n\r\n", b"a"),
    "a body": (LOGIN + b"Content-Length: 60000\r\n\r\n", b" "),
}


def test_requests_that_trickle_in_are_cut_off(hasty: HastyHouse) -> None:
    """Connections that send a byte now and then, anywhere in a request, are all closed; bids are taken meanwhile."""
    with sale(hasty), ExitStack() as stack:
        trickling = {}
        for kind, (begin, _) in TRICKLES.items():
            trickling[kind] = [stack.enter_context(dial(hasty)) for _ in range(MANY // len(TRICKLES))]
            for connection in trickling[kind]:
                connection.sendall(begin)
        deadline = time.monotonic() + SECONDS_MAX
        while left := [kind for kind, some in trickling.items() if not trickle(some, TRICKLES[kind][1])]:
            assert time.monotonic() < deadline, f"still open: {left}"
    wait_until(lambda: held(hasty) == 0)


def test_a_head_that_does_not_arrive_is_told(hasty: HastyHouse) -> None:
    """A client that stops inside a head is answered 408 in JSON; one that sends nothing is just cut off."""
    head, _, body = asked(hasty, GET + b"X-Half: ").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"connection: close" in head
    assert b'"code":"request_timeout"' in body
    assert b"" == asked(hasty, b"")


def test_silent_connections_end(hasty: HastyHouse) -> None:
    """Connections without a request do not stay, and neither do idle ones; bids are taken meanwhile."""
    with sale(hasty), ExitStack() as stack:
        silent = [stack.enter_context(dial(hasty)) for _ in range(MANY)]
        idle = stack.enter_context(dial(hasty))
        idle.sendall(GET + b"\r\n")
        assert idle.recv(1000).startswith(b"HTTP/1.1 200 ")
        assert {b""} == {rest(connection) for connection in [*silent, idle]}


def test_a_slow_but_honest_client_is_served(hasty: HastyHouse) -> None:
    """The time limit is for each head: a connection stays as long as whole requests come over it."""

    def is_served() -> bool:
        with dial(hasty) as connection, suppress(ConnectionError):
            answers = []
            for _ in range(4):
                connection.sendall(GET)
                time.sleep(HASTE["saleroom.http.protocol:HEAD_SECONDS_MAX"] / 2)
                connection.sendall(b"\r\n")
                answers.append(connection.recv(1000).startswith(b"HTTP/1.1 200 "))
        return answers == [True] * 4

    wait_until(is_served)  # a busy machine may hold one client up beyond the limit


@pytest.mark.parametrize(
    ("path", "more"),
    [("/assets/vendor/swagger-ui-bundle.js", b""), ("/openapi.json", b"Connection: close\r\n")],
    ids=["a large one", "a small and last one"],
)
def test_a_client_that_does_not_read_is_cut_off(hasty: HastyHouse, path: str, more: bytes) -> None:
    """An answer of any size is not kept for readers that take nothing of it; bids are taken meanwhile."""
    with sale(hasty), ExitStack() as stack:
        readers = [stack.enter_context(dial(hasty, receive_bytes=4096)) for _ in range(20)]
        for connection in readers:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n".encode() + more + b"\r\n")
        wait_until(lambda: len(select.select(readers, [], [], 0)[0]) == len(readers))
        wait_until(lambda: kept(hasty) == 0)


def test_a_client_that_reads_too_little_is_cut_off(tmp_path: Path) -> None:
    """A reader that takes a little, enough for the kernel but less than the house asks, is cut off too."""
    constants = HASTE | {"saleroom.runtime.serving:UNREAD_SECONDS_MAX": 3600}
    house = HastyHouse(tmp_path, test_constants=json.dumps(constants))
    with ExitStack() as stack:
        stack.callback(house.kill)
        readers = [stack.enter_context(dial(house, receive_bytes=4096)) for _ in range(5)]
        for connection in readers:
            connection.sendall(LARGE * 5)
        deadline = time.monotonic() + SECONDS_MAX
        while readers:
            assert time.monotonic() < deadline, f"{len(readers)} are still served"
            for connection in list(readers):
                try:
                    connection.recv(2000)
                except ConnectionResetError:
                    readers.remove(connection)
            time.sleep(0.3)


def test_a_slow_reader_gets_everything(tmp_path: Path) -> None:
    """A reader that takes a little all the time is served to the end, far beyond the time that a stalled one has.

    The kernel keeps up to 4 MB for a reader, and asks the house for more once a third of that has been taken: here each
    half second. A reader that a busy machine holds up catches up.
    """
    house = HastyHouse(tmp_path, test_constants=json.dumps(HASTE | STEADY))
    with dial(house, receive_bytes=65_536) as connection:
        connection.sendall(LARGE * 11 + LARGE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answer, began = bytearray(), time.monotonic()
        while part := connection.recv(65_536):
            answer += part
            time.sleep(max(0, began + len(answer) / STEADY_BYTES_PER_SECOND - time.monotonic()))
    house.kill()
    assert time.monotonic() - began > STALL_SECONDS
    found = re.search(rb"content-length: ([0-9]+)", answer)
    assert found is not None
    assert 12 * int(found[1]) < len(answer) < 12 * (int(found[1]) + 2000)


def test_one_address_has_its_share(hasty: HastyHouse) -> None:
    """Beyond the limit of an address its connection gets an error and ends; others come in, and it does once some end."""
    with sale(hasty), ExitStack() as stack:
        taken = [stack.enter_context(dial(hasty)) for _ in range(EACH_MAX)]
        wait_until(lambda: held(hasty) == EACH_MAX)
        head, _, body = asked(hasty, b"").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"retry-after: 1" in head
        assert b'"code":"busy"' in body
        assert b"HTTP/1.1 200 OK" in asked(hasty, GET + b"Connection: close\r\n\r\n", ELSEWHERE)
        for connection in taken[:5]:
            connection.close()
        wait_until(lambda: b"HTTP/1.1 200 OK" in asked(hasty, GET + b"Connection: close\r\n\r\n"))
    assert "too many from one network" in hasty.log()


def test_all_together_have_their_share(tmp_path: Path) -> None:
    """Beyond the total limit nobody comes in; a trusted proxy has no separate limit. Open connections go on with the sale."""
    house = HastyHouse(tmp_path, test_constants="{}", **LIMITS)
    try:
        with client(house, HERE) as known:
            assert 200 == known.get("/healthz").status_code
            with sale(house), ExitStack() as stack:
                for _ in range(ALL_MAX):
                    stack.enter_context(dial(house, PROXY))
                wait_until(lambda: held(house, PROXY) > EACH_MAX)
                assert asked(house, b"", ELSEWHERE).startswith(b"HTTP/1.1 503 ")
                assert 200 == known.get("/healthz").status_code
        wait_until(lambda: held(house, PROXY) == 0)
        assert "too many in all" in house.log()
    finally:
        house.kill()


class NarrowHouse(HastyHouse):
    """A house that may open few files."""

    program = Path(__file__).with_name("narrow.py")


def test_files_are_left_for_the_database(tmp_path: Path) -> None:
    """However many connections come, some file descriptors are kept from them: bids are still written."""
    house = NarrowHouse(tmp_path, test_constants="{}", connections_per_address_max="1000")
    try:
        with sale(house) as bids, ExitStack() as stack:
            for _ in range(450):
                stack.enter_context(dial(house))
            before = len(bids)
            wait_until(lambda: len(bids) > before + 1)  # the second one began while all were there
            assert held(house) <= 200
        assert "internal error" not in house.log() and "unavailable" not in house.log()
    finally:
        house.kill()
