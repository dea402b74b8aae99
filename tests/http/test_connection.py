"""One connection: requests that wait, awaited bodies, answers before the end of a body, and clients that leave."""

import contextlib
import gc
import json
import logging
import socket
import subprocess
import threading
import tracemalloc
from collections.abc import Iterator

import pytest

from saleroom.http import protocol
from saleroom.http.exchange import Exchange
from saleroom.http.protocol import HEAD_BYTES_MAX, READ_BYTES_MAX
from tests.http.conftest import Log
from tests.http.echo import LARGE, POLLING, STREAM, UNREAD, Echo, answers, echoed, rest
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.process import wait_until

GET = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
POST = b"POST %s HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
MANY = 2_000_000
"""Bytes that a client sends after a request: more than may wait."""


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    """An application behind the house's protocol, for all of these tests."""
    with Echo() as served:
        yield served


@pytest.fixture(autouse=True)
def forget(echo: Echo) -> None:
    """Begin each test without recorded requests."""
    echo.seen.clear()
    echo.gone.clear()


def push(connection: socket.socket, sent: bytes) -> int:
    """Send as much as the other side takes, and return the number of bytes."""
    connection.settimeout(0.2)
    count = 0
    with contextlib.suppress(TimeoutError):
        while count < len(sent):
            count += connection.send(sent[count : count + 65_536])
    connection.settimeout(SECONDS_MAX)
    return count


def begin(echo: Echo, path: str) -> socket.socket:
    """Return a connection with an answer that has begun."""
    connection = echo.dial()
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
    return connection


@pytest.mark.parametrize(
    "behind", [GET % 1, POST % b"/b" + b"Content-Length: 1000\r\n\r\n" + bytes(1000), b"\r\n", b"x"],
    ids=["requests", "bodies", "blank lines", "anything"],
)  # fmt: skip
@pytest.mark.parametrize("path", [STREAM, POLLING])
def test_few_bytes_behind_a_stream_are_kept(echo: Echo, path: str, behind: bytes) -> None:
    """Few of the bytes after an endless answer are kept, and none are parsed."""
    tracemalloc.start()
    streams = [begin(echo, path) for _ in range(20)]
    sent = behind * (MANY // len(behind))
    before, _ = tracemalloc.get_traced_memory()
    for stream in streams:
        push(stream, sent)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [("GET", path, b"")] * 20 == echo.seen
    assert all(len(one._waiting) <= READ_BYTES_MAX for one in echo.connections)
    assert after - before < 20 * 2 * READ_BYTES_MAX
    for stream in streams:
        stream.close()
    wait_until(lambda: not echo.connections)


def test_pipelined_requests_are_answered_in_turn(echo: Echo) -> None:
    """Pipelined requests are all answered, one by one and in order."""
    count = 5000
    with echo.dial() as connection:
        sender = threading.Thread(target=connection.sendall, args=(b"".join(GET % at for at in range(count)) + LAST,))
        sender.start()
        received = echoed(rest(connection))
        sender.join()
    assert [["GET", f"/{at}", ""] for at in range(count)] + [["GET", "/last", ""]] == received


@pytest.mark.parametrize("behind", [LAST, b"nonsense\r\n\r\n"], ids=["request", "anything"])
def test_a_connection_that_rests_keeps_nothing(echo: Echo, monkeypatch: pytest.MonkeyPatch, behind: bytes) -> None:
    """Its last request is let go, and what comes behind it is answered as ever."""
    monkeypatch.setattr(protocol, "REST_SECONDS", 0.01)
    path = b"/rests-before-" + behind[:3].lower()

    def kept() -> list[object]:
        return [one for one in gc.get_objects() if type(one) is Exchange and one.scope["raw_path"] == path]

    with echo.dial() as connection:
        connection.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
        wait_until(lambda: not kept())
        connection.sendall(behind)
        [(status, _)] = answers(rest(connection))
    assert (200 if behind == LAST else 400) == status


def test_garbage_behind_a_request_does_not_touch_its_answer(echo: Echo) -> None:
    """The request is answered in full before the bytes after it are refused."""
    for path, size in ((b"/a", 17), (LARGE.encode(), 1_000_000)):
        found = answers(echo.asked(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n" + LAST))
        assert [(200, size), (400, 99)] == [(status, len(body)) for status, body in found]


@pytest.mark.parametrize("rubbish", [b"zzz\r\n", b"3\r\nabcd\r\n", b"-1\r\n", b"0\r\nX\r\n\r\n"])
def test_a_request_is_answered_once(echo: Echo, rubbish: bytes) -> None:
    """If a body breaks after its request was answered, nothing more is sent: a proxy would give it to another client."""
    with echo.dial() as connection:
        connection.sendall(POST % UNREAD.encode() + CHUNKED + b"3\r\nabc\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 403 ")
        connection.sendall(rubbish + LAST)
        assert b"" == rest(connection)
    assert [("POST", UNREAD, b"")] == echo.seen


def test_a_body_that_breaks_is_400(echo: Echo) -> None:
    """If a body breaks before the answer, the fault is the answer, and the reader of the body is released."""
    [(status, _)] = answers(echo.asked(POST % b"/a" + CHUNKED + b"3\r\nabc\r\n", b"zzz\r\n" + LAST))
    assert (400, []) == (status, echo.seen)
    wait_until(lambda: not echo.connections)


@pytest.mark.parametrize("length", [b"Content-Length: 6\r\n\r\n", CHUNKED])
def test_the_rest_of_a_body_that_nobody_read_is_no_request(echo: Echo, length: bytes) -> None:
    """The rest of the body is thrown away, and the next request on the connection is answered."""
    rest_of_it = b"abcdef" if b"Content" in length else b"6\r\nabcdef\r\n0\r\n\r\n"
    with echo.dial() as connection:
        connection.sendall(POST % UNREAD.encode() + length)
        assert b"connection: close" not in connection.recv(1000)
        connection.sendall(rest_of_it + LAST)
        assert [["GET", "/last", ""]] == echoed(rest(connection))


def test_a_client_that_is_still_sending_gets_the_answer(echo: Echo) -> None:
    """A connection that closes after its answer stays open for a client that sends everything before it reads."""
    body = b"%x\r\n%s\r\n" % (5_000_000, bytes(5_000_000))
    close = b"Connection: close\r\n"
    for sent in (
        POST % UNREAD.encode() + close + CHUNKED + body,
        POST % UNREAD.encode() + close + b"Content-Length: 5000000\r\n\r\n" + bytes(5_000_000),
        POST % b"/a" + b"Transfer-Encoding: x\r\n\r\n" + body,
    ):
        with echo.dial() as connection:
            connection.sendall(sent)
            assert 1 == len(answers(rest(connection)))
    wait_until(lambda: not echo.connections)


EXPECT = b"Expect: 100-continue\r\n"


@pytest.mark.parametrize("length", [b"Content-Length: 3\r\n\r\n", CHUNKED])
def test_a_client_that_waits_is_told_to_go_on(echo: Echo, length: bytes) -> None:
    """`100 Continue` comes before the body, also if the request asks for an upgrade. The answer comes after the body."""
    body = b"abc" if b"Content" in length else b"3\r\nabc\r\n0\r\n\r\n"
    for more in (b"", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"):
        with echo.dial() as connection:
            connection.sendall(POST % b"/a" + EXPECT + more + length)
            assert b"HTTP/1.1 100 Continue\r\n\r\n" == connection.recv(1000)
            connection.sendall(body + LAST)
            assert [["POST", "/a", "abc"], ["GET", "/last", ""]] == echoed(rest(connection))


def test_a_client_that_waits_may_be_refused(echo: Echo) -> None:
    """The client gets no `100 Continue`. It may leave its body out, so the connection ends, and later bytes are no request."""
    with echo.dial() as connection:
        connection.sendall(POST % UNREAD.encode() + EXPECT + b"Content-Length: %d\r\n\r\n" % len(LAST))
        head = connection.recv(1000)
        assert head.startswith(b"HTTP/1.1 403 ") and b"connection: close\r\n" in head
        connection.sendall(LAST)
        assert b"" == rest(connection)
    assert [("POST", UNREAD, b"")] == echo.seen


@pytest.mark.parametrize(
    ("head", "more"),
    [
        (b"POST /a HTTP/1.0\r\n" + EXPECT + b"Content-Length: 3\r\n\r\n", b"abc"),
        (POST % b"/a" + EXPECT + b"Content-Length: 0\r\nConnection: close\r\n\r\n", b""),
        (POST % b"/a" + b"Expect: 200-ok\r\nConnection: close\r\nContent-Length: 3\r\n\r\n", b"abc"),
    ],
    ids=["HTTP/1.0", "no body", "something else"],
)
def test_no_continue_without_an_expectation(echo: Echo, head: bytes, more: bytes) -> None:
    """Without an expectation nothing comes before the answer."""
    assert echo.asked(head + more).startswith(b"HTTP/1.1 200 OK\r\n")


def test_curl_uploads_without_a_wait(echo: Echo) -> None:
    """Without `100 Continue`, curl would wait for half a minute here. It sends its body at once, also with an upgrade."""
    for more in ((), ("--http2",)):
        command = [need("curl"), *more, "--silent", "--fail", "--expect100-timeout", "30", "--max-time", "15"]
        command += ["--header", "Expect: 100-continue", "--data-binary", "abc", f"http://127.0.0.1:{echo.port}/a"]
        assert ["POST", "/a", "abc"] == json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.mark.parametrize(
    "endless",
    [
        POST % b"/a" + CHUNKED + b"3;" + b"a" * 10 * HEAD_BYTES_MAX,
        POST % b"/a" + CHUNKED + b"3\r\nabc\r\n0\r\n" + b"a: b\r\n" * 10 * HEAD_BYTES_MAX,
        POST % b"/a" + CHUNKED + b"3\r\nabc\r\n0\r\na: " + b"b" * 10 * HEAD_BYTES_MAX,
        POST % b"/a" + CHUNKED + b"0" * 10 * HEAD_BYTES_MAX,
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 300,
        b"\r\n" * 10 * HEAD_BYTES_MAX,
        b"GET /" + b"a" * 10 * HEAD_BYTES_MAX,
    ],
    ids=["chunk extension", "trailers", "a trailer", "chunk size", "headers", "blank lines", "address"],
)
def test_endless_bytes_outside_a_body_are_cut_off(echo: Echo, endless: bytes) -> None:
    """Endless bytes outside a body are refused early, wherever they are in a request."""
    [(status, _)] = answers(echo.asked(endless))
    assert status in (400, 431) and [] == echo.seen


def test_http_1_0_has_no_chunks(echo: Echo) -> None:
    """Over HTTP/1.0, an answer without a length goes on until the connection ends."""
    with echo.dial() as connection:
        connection.sendall(b"GET " + STREAM.encode() + b" HTTP/1.0\r\n\r\n")
        head = connection.recv(1000)
        assert b"transfer-encoding" not in head and b"connection: close\r\n" in head
        assert b"\r\n\r\nbegun" in head


def test_a_client_that_leaves_is_noticed(echo: Echo) -> None:
    """An endless answer ends when its client leaves, also if the client closes only its sending side."""
    for leave in (socket.socket.close, lambda one: one.shutdown(socket.SHUT_WR)):
        echo.gone.clear()
        with begin(echo, STREAM) as connection:
            leave(connection)
            assert echo.gone.wait(SECONDS_MAX)


def test_many_new_connections_are_taken_in_few_passes(echo: Echo) -> None:
    """Clients that connect at once do not wait for a pass of the event loop each, in which others are answered."""
    arrived, taken, passes = threading.Event(), threading.Event(), 0

    def turn() -> None:
        nonlocal passes
        arrived.wait(SECONDS_MAX)
        passes += 1
        if len(echo.connections) >= 200:
            taken.set()
        else:
            echo.loop.call_soon(turn)

    echo.loop.call_soon_threadsafe(turn)
    with contextlib.ExitStack() as clients:
        for _ in range(200):
            clients.enter_context(echo.dial())
        arrived.set()
        assert taken.wait(SECONDS_MAX)
    assert passes < 100


def test_nothing_that_is_sent_writes_a_line(echo: Echo, errors_logged: Log, caplog: pytest.LogCaptureFixture) -> None:
    """Upgrades, garbage and broken bodies are not logged: any client could fill the log with them."""
    caplog.set_level(logging.DEBUG)
    upgrade = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    for sent in (upgrade * 100 + LAST, b"nonsense\r\n\r\n", b"\x16\x03\x01", POST % b"/a" + CHUNKED + b"zzz\r\n"):
        echo.asked(sent)
    assert [] == errors_logged
    assert [] == [one.getMessage() for one in caplog.records if one.name != "asyncio"]
