"""Where one request ends and the next begins: by HTTP/1.1 alone, in any packets, and with any requested upgrade."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.http.conftest import Log
from tests.http.echo import UNREAD, Echo, answers, echoed

LAST = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
BODY = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
"""A body that looks like a request."""
LENGTH = b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:])
TRAILERS = CHUNKED[:-2] + b"X-Forwarded-For: 192.0.2.1\r\nHost: y\r\n\r\n"
BODIES = {"length": LENGTH, "chunked": CHUNKED, "trailers": TRAILERS}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]
UPGRADES = {
    "websocket": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n",
    "h2c": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n",
    "TLS": b"Upgrade: TLS/1.0\r\nConnection: upgrade\r\n",
    "several": b"Connection: keep-alive, Upgrade\r\nUpgrade: h2c, websocket\r\nUpgrade: x/1\r\n",
    "anything": b"Connection: UPGRADE\r\nUpgrade: \xe4\r\n",
    "nothing": b"Connection: upgrade\r\nUpgrade: \r\n",
}


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    """An application behind the house's protocol, for all of these tests."""
    with Echo() as served:
        yield served


@pytest.fixture(autouse=True)
def forget(echo: Echo) -> None:
    """Begin each test without recorded requests."""
    echo.seen.clear()
    echo.headers.clear()


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_upgrade_is_ignored(echo: Echo, errors_logged: Log, body: bytes) -> None:
    """A request that asks for an upgrade keeps its body, in one packet and in many, and nothing is logged."""
    for method, upgrade in itertools.product(METHODS, UPGRADES.values()):
        head, end, tail = (f"{method} /up HTTP/1.1\r\nHost: x\r\n".encode() + upgrade + body).partition(b"\r\n\r\n")
        for pieces in (
            [head + end + tail + LAST],
            [head + end, tail + LAST],
            [head[:30], head[30:] + end + tail, LAST],
        ):
            echo.seen.clear()
            answer = echo.asked(*pieces)
            assert [(method, "/up", BODY), ("GET", "/last", b"")] == echo.seen, upgrade
            assert b"HTTP/1.1 101" not in answer and 2 == answer.count(b"HTTP/1.1 200 OK\r\n"), (method, upgrade)
    assert [] == errors_logged


def test_an_upgrade_of_http_1_0_is_ignored(echo: Echo) -> None:
    """A request of HTTP/1.0 has its body too, and its connection ends after it."""
    sent = b"POST /up HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" + LENGTH
    assert [["POST", "/up", BODY.decode()]] == echoed(echo.asked(sent + LAST))


def test_trailers_are_not_headers(echo: Echo) -> None:
    """Trailers after a chunked body are no headers of this request, nor of the next one."""
    echo.asked(b"POST /a HTTP/1.1\r\nHost: x\r\n" + TRAILERS + LAST)
    assert [("POST", "/a", BODY), ("GET", "/last", b"")] == echo.seen
    assert [{b"host", b"transfer-encoding"}, {b"host", b"connection"}] == [set(one) for one in echo.headers]


REFUSED = {
    "CONNECT": b"CONNECT example.com:80 HTTP/1.1\r\nHost: example.com:80\r\n\r\n",
    "HTTP/2 with prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "HTTP/2.0 by name": b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
    "HTTP/0.9 by name": b"GET / HTTP/0.9\r\nHost: x\r\n\r\n",
    "HTTP/0.9": b"GET /\r\n\r\n",
    "chunks in HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "another coding": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "identity, then chunked": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n" + CHUNKED,
    "a length of nineteen digits": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000000000\r\n\r\n",
    "no Host": b"GET / HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    "two Hosts of HTTP/1.0": b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n",
    "an empty Host": b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "a Host with a path": b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n",
    "a Host with a user": b"GET / HTTP/1.1\r\nHost: a@x\r\n\r\n",
    "a Host with a space": b"GET / HTTP/1.1\r\nHost: x y\r\n\r\n",
    "a Host list": b"GET / HTTP/1.1\r\nHost: x, y\r\n\r\n",
    "a Host with markup": b"GET / HTTP/1.1\r\nHost: <b>\r\n\r\n",
    "a Host with a port that is none": b"GET / HTTP/1.1\r\nHost: x:http\r\n\r\n",
    "a long Host": b"GET / HTTP/1.1\r\nHost: " + b"x" * 254 + b"\r\n\r\n",
    "another host in the address": b"GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a user in the address": b"GET http://a@x/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "another scheme": b"GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a fragment": b"GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n",
    "an address of a star": b"GET * HTTP/1.1\r\nHost: x\r\n\r\n",
    "an address without a slash": b"GET a HTTP/1.1\r\nHost: x\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 201 + b"\r\n",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refused_request_ends_the_connection(echo: Echo, errors_logged: Log, kind: str) -> None:
    """A refused request is answered once, and nothing after it is read or logged."""
    for pieces in ([REFUSED[kind] + LAST], [REFUSED[kind], LAST], [bytes([byte]) for byte in REFUSED[kind]]):
        [(status, body)] = answers(echo.asked(*pieces))
        assert (431 if kind == "many headers" else 400) == status
        assert b'"message":' in body
    assert [] == echo.seen
    assert [] == errors_logged


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"http://x/a?b", "/a?b"),
        (b"HTTP://X/", "/"),
        (b"http://x", "/"),
        (b"https://x?b", "/?b"),
        (b"//x/a", "//x/a"),
        (b"/a?b?c", "/a?b?c"),
        (b"/http://y/", "/http://y/"),
    ],
)
def test_the_address_of_a_request(echo: Echo, target: bytes, path: str) -> None:
    """The address is a path, or a full address of the same host, as in RFC 9112."""
    echo.asked(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert [("GET", path, b"")] == echo.seen


@pytest.mark.parametrize(
    "host", [b"x", b"x ", b"\tx", b"house.example:9000", b"a_b.c.", b"127.0.0.1:80", b"[::1]:9000", b"x" * 253]
)
def test_hosts_of_all_kinds(echo: Echo, host: bytes) -> None:
    """A Host is a name, also with an underscore as in a container's network, or an address, with a port or without."""
    assert [200] == [status for status, _ in answers(echo.asked(LAST.replace(b"Host: x", b"Host:" + host)))]


def test_http_1_0_needs_no_host(echo: Echo) -> None:
    """HTTP/1.0 needs no Host."""
    assert [["GET", "/old", ""]] == echoed(echo.asked(b"GET /old HTTP/1.0\r\n\r\n"))


POOL = [
    b"GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n",
    b"HEAD /h HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\r\n\r\nGET /blank HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /l HTTP/1.1\r\nHost: x\r\n" + LENGTH,
    b"POST /c HTTP/1.1\r\nHost: x\r\n" + CHUNKED,
    b"POST /t HTTP/1.1\r\nHost: x\r\n" + TRAILERS,
    b'POST /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4;a="b"\r\n\r\n\r\n\r\n0;x\r\n\r\n',
    b"POST /u HTTP/1.1\r\nHost: x\r\n" + UPGRADES["h2c"] + LENGTH,
    b"PUT /v HTTP/1.1\r\nHost: x\r\n" + UPGRADES["websocket"] + CHUNKED,
    b"POST " + UNREAD.encode() + b" HTTP/1.1\r\nHost: x\r\n" + LENGTH,
    b"POST " + UNREAD.encode() + b" HTTP/1.1\r\nHost: x\r\n" + TRAILERS,
    b"POST " + UNREAD.encode() + b" HTTP/1.1\r\nHost: x\r\n" + UPGRADES["TLS"] + CHUNKED,
    b"GET /z HTTP/1.0\r\nHost: x\r\n\r\n",
    LAST,
    *REFUSED.values(),
    b"POST /bad HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
    b"POST " + UNREAD.encode() + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
]


@given(requests=st.lists(st.sampled_from(POOL), max_size=4), data=st.data())
def test_packets_make_no_difference(echo: Echo, requests: list[bytes], data: st.DataObject) -> None:
    """The same bytes are the same requests and get the same answers, however they are cut into packets."""
    sent = b"".join(requests) + LAST
    cuts = sorted(data.draw(st.sets(st.integers(1, len(sent) - 1), max_size=8)))
    pieces = [sent[start:end] for start, end in itertools.pairwise([0, *cuts, len(sent)])]
    once, split = _seen(echo, [sent]), _seen(echo, pieces)
    assert once == split


def _seen(echo: Echo, pieces: list[bytes]) -> tuple[list[bytes], list[tuple[str, str, bytes]]]:
    """Return the status lines, and the requests that the application has seen."""
    echo.seen.clear()
    answer = echo.asked(*pieces)
    echo.settle()
    lines = [line for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    return lines, echo.seen.copy()
