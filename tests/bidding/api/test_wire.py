"""The API over a bare connection: HTTP/2 upgrades, hosts, `100 Continue`, and requests after a stream."""

import json
import socket

import pytest

from saleroom.http.protocol import READ_BYTES_MAX, Http
from tests.bidding.api.answers import raw
from tests.fixtures_house import House
from tests.http.conftest import Log
from tests.http.echo import answers, rest
from tests.patience import SECONDS_MAX
from tests.process import wait_until
from tests.rows import each_of

pytestmark = pytest.mark.databases("sqlite")

END = b"\r\n\r\n"
JAVA = (
    b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAA\r\nUpgrade: h2c"
)
"""Headers of the first request of Java's client, which sends the body in a separate packet."""


def creating(house: House, *lines: bytes, token: str | None = None) -> tuple[bytes, bytes]:
    """Return the head and the body of a request that creates an auction, with more lines in its head."""
    body = json.dumps({"name": "Clock", "startingPrice": "1"}).encode()
    head = [b"POST /auctions HTTP/1.1", b"Host: x", b"X-Requested-With: x", b"Content-Type: application/json", *lines]
    head += [b"Content-Length: %d" % len(body), b"Authorization: Bearer " + (token or house.user().token).encode()]
    return b"\r\n".join(head) + END, body


def dialled(house: House) -> socket.socket:
    """Return a connection that sends each piece as a packet."""
    connection = socket.create_connection(("127.0.0.1", house.port), timeout=SECONDS_MAX)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def test_a_client_that_would_rather_speak_http_2_is_served(house: House, errors_logged: Log) -> None:
    """A POST that asks to upgrade is 201 like any other, again and again on one connection, and logs nothing."""
    head, body = creating(house, JAVA)
    with dialled(house) as connection:
        for _ in range(3):
            connection.sendall(head)
            connection.sendall(body)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 201 Created\r\n")
    assert [] == [entry for entry in errors_logged if entry["log_level"] == "warning"]


@pytest.mark.parametrize("path", ["/", "/auctions", "/healthz", "/openapi.json", "/assets/app.css"])
@pytest.mark.parametrize(
    ("hosts", "sentence"),
    [
        ("", "has no Host header; send one, with the name of this house"),
        ("Host: x\r\nHost: x\r\n", "has several Host headers; send one"),
        ("Host: <script>\r\n", "has a Host header that is no name or address with an optional port"),
        (f"Host: {'a' * 254}\r\n", "has a Host header that is no name or address with an optional port"),
    ],
)
def test_a_request_names_one_host(sqlite_house: House, path: str, hosts: str, sentence: str) -> None:
    """A request without exactly one valid Host is 400 with the reason, at any address, and the connection ends."""
    head, _, body = raw(sqlite_house, f"GET {path} HTTP/1.1\r\n{hosts}\r\n".encode()).partition(END)
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n") and b"connection: close" in head
    fault = {"code": "malformed_http", "message": sentence}
    assert {"message": {"request": [fault]}, "code": "validation"} == json.loads(body)


def test_a_body_is_asked_for_at_once(house: House) -> None:
    """A client that waits for `100 Continue` gets it before it has sent a byte of the body."""
    head, body = creating(house, b"Expect: 100-continue")
    with dialled(house) as connection:
        for _ in range(2):
            connection.sendall(head)
            assert b"HTTP/1.1 100 Continue\r\n\r\n" == connection.recv(65_536)
            connection.sendall(body)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 201 Created\r\n")


JSON, FILTER = "Content-Type: application/json\r\n", "X-Requested-With: x\r\n"


@each_of(
    {"status": 413, "path": "/auctions", "lines": FILTER + JSON, "length": 65_537},
    {"status": 415, "path": "/auctions", "lines": FILTER, "length": 9},
    {"status": 403, "path": "/auctions", "lines": JSON, "length": 9},
    {"status": 404, "path": "/nowhere", "lines": FILTER + JSON, "length": 9},
)
def test_a_body_that_nobody_wants_is_not_asked_for(
    sqlite_house: House, status: int, path: str, lines: str, length: int
) -> None:
    """If the head is enough to refuse, the refusal comes at once and the connection ends: no further bytes are read."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {sqlite_house.user().token}\r\n{lines}"
    with dialled(sqlite_house) as connection:
        connection.sendall(f"{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n".encode())
        answer = connection.recv(65_536)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer += rest(connection)
    assert [status] == [found for found, _ in answers(answer)]
    assert b"100 Continue" not in answer and b"connection: close\r\n" in answer.lower()


def test_little_waits_behind_a_stream(sqlite_house: House) -> None:
    """The house reads little of the requests that follow `GET /events` on the same connection."""
    streams = [dialled(sqlite_house) for _ in range(10)]
    for stream in streams:
        stream.sendall(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
        assert stream.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
        stream.settimeout(0.1)
        try:
            for _ in range(100):
                stream.sendall(b"GET /auctions HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
        except TimeoutError:
            pass

    def held() -> int:
        connections = sqlite_house._server.server_state.connections
        return sum(len(one._waiting) for one in connections if isinstance(one, Http))

    wait_until(lambda: held() > 0)
    assert held() <= len(streams) * READ_BYTES_MAX
    for stream in streams:
        stream.close()


def test_the_rest_of_a_refused_request_is_thrown_away(sqlite_house: House) -> None:
    """A client that sends megabytes before it reads still gets its answer."""
    head = f"POST /auctions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {sqlite_house.user().token}\r\n{FILTER}{JSON}"
    with dialled(sqlite_house) as connection:
        connection.sendall(f"{head}Content-Length: 5000000\r\n\r\n".encode() + bytes(5_000_000))
        assert [413] == [found for found, _ in answers(rest(connection))]
