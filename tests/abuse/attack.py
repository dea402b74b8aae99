"""Tools of the attacks: raw connections from any address of this machine, and a sale that must go on meanwhile."""

import contextlib
import json
import socket
import ssl
import statistics
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from tests.faults import mortal
from tests.patience import SECONDS_MAX
from tests.process import PASSWORD, Client, ServeProcess, wait_until

HERE, THERE, ELSEWHERE, PROXY = "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"
"""Addresses of this machine: for a house they are different ones."""
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Shared, as reading the machine's certificates for each client would cost more than all its requests."""
TIMES_MAX, BID_SECONDS_MAX = 20, 5.0
"""How much longer a bid may take during an attack, and what is no delay on any machine."""
HASTE = {
    "saleroom.http.protocol:HEAD_SECONDS_MAX": 1.0,
    "saleroom.http.client_connection:STALL_SECONDS": 0.7,
    "saleroom.http.client_connection:LINGER_SECONDS": 1.0,
    "saleroom.http.requests:BODY_SECONDS_MAX": 1.0,
    "saleroom.runtime.serving:UNREAD_SECONDS_MAX": 2,
    "saleroom.runtime.serving:KEEP_ALIVE_SECONDS": 2,
}
"""The same house with less patience, so that a test need not wait for it."""


class HastyHouse(ServeProcess):
    """A house without patience; a setting is given as for any other."""

    program = Path(mortal.__file__)

    def __init__(self, folder: Path, *arguments: str, **settings: str) -> None:
        told = {"test_constants": json.dumps(HASTE), "test_armed": str(folder / "armed")}
        super().__init__(folder, *arguments, **({"mqtt": "off"} | told | settings))
        self.port = int(self.url.rpartition(":")[2])


def dial(house: HastyHouse, source: str = THERE, receive_bytes: int = 0) -> socket.socket:
    """Connect from an address of this machine, with a small receive buffer if `receive_bytes` is given."""
    connection = socket.socket()
    connection.settimeout(SECONDS_MAX)
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.bind((source, 0))
    connection.connect((HERE, house.port))
    return connection


def rest(connection: socket.socket) -> bytes:
    """Return the bytes that come until the house hangs up."""
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            answer += part
    return answer


def asked(house: HastyHouse, request: bytes, source: str = THERE) -> bytes:
    """Return the house's answer to these bytes until it hangs up."""
    with dial(house, source) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        return rest(connection)


def client(house: ServeProcess, source: str) -> httpx.Client:
    """Return an HTTP client at an address of this machine."""
    transport = httpx.HTTPTransport(local_address=source, verify=NO_TLS)
    return httpx.Client(
        base_url=house.url,
        transport=transport,
        headers={"X-Requested-With": "test"},
    )


def credentials(name: str, password: str = PASSWORD) -> dict[str, Any]:
    """Return the body of a login or a registration."""
    return {"json": {"username": name, "password": password}}


_numbers = count(1)


@contextlib.contextmanager
def sale(house: ServeProcess) -> Iterator[list[float]]:
    """Have somebody bid all the time, from another address. Every bid must be taken, and most of them as soon as before.

    Yields the seconds that each bid has taken, as they come.
    """
    people = Client(house.url)
    number = next(_numbers)
    seller, bidders = people.enter(f"seller{number}"), [people.enter(f"bidder{number}.{one}") for one in (1, 2)]
    gid, over = people.sell(seller, increment="1"), threading.Event()
    seconds, refused = list[float](), list[str]()
    amounts = count(100)

    def bid() -> float:
        begun, amount = time.perf_counter(), next(amounts)
        answer = people.ask("POST", f"/auctions/{gid}/bids", bidders[amount % 2], {"amount": str(amount)})
        if answer.status_code != 201:
            refused.append(answer.text)
        return time.perf_counter() - begun

    def bid_on() -> None:
        while not over.wait(0.03):
            seconds.append(bid())

    alone = statistics.median(bid() for _ in range(5))
    thread = threading.Thread(target=bid_on)
    thread.start()
    try:
        yield seconds
        wait_until(lambda: bool(seconds))
    finally:
        over.set()
        thread.join()
        people.close()
    assert not refused, refused[:3]
    bound = max(BID_SECONDS_MAX, TIMES_MAX * alone)
    assert statistics.median(seconds) < bound, (
        f"a bid takes {alone:.2f} s alone, and the slowest took {max(seconds):.2f} s"
    )
