"""One request and its answer: what the application reads, what is written, and how an answer breaks off."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope

from saleroom.http.client_connection import AnswerTransport
from saleroom.http.exchange import Application, Exchange, Flow
from saleroom.http.requests import BODY, read_body
from tests.http.test_protocol import RecordingTransport
from tests.patience import until

DATE = (b"date", b"Mon, 23 Nov 2026 12:00:00 GMT")


class Trial:
    """An exchange without a protocol: a test says what arrives, and sees what is written."""

    def __init__(
        self,
        respond: Callable[[Scope, Receive], Awaitable[Response]],
        method: str = "GET",
        version: str = "1.1",
        *,
        expects: bool = False,
    ) -> None:
        self.wire = RecordingTransport()
        self.errors: list[Exception] = []
        self.answered = 0
        self._application = Application(respond, lambda _, error: self.errors.append(error))
        scope: dict[str, Any] = {"type": "http", "http_version": version, "method": method, "headers": []}
        self.exchange = Exchange(
            scope,
            AnswerTransport(self.wire),
            Flow(self.wire),
            [DATE],
            self._count,
            keep_alive=version == "1.1",
            awaits_continue=expects,
        )

    def _count(self) -> None:
        self.answered += 1

    def begin(self) -> asyncio.Task[None]:
        """Have the application answer."""
        running: set[asyncio.Task[None]] = set()
        return self.exchange.start(asyncio.get_running_loop(), self._application, running)

    async def run(self, *pieces: bytes) -> bytes:
        """Let a request with a body in `pieces` arrive; return all that is written."""
        for piece in pieces:
            self.exchange.arrived(piece)
        self.exchange.arrived(whole=True)
        await self.begin()
        return b"".join(self.wire.sent)


def gives(response: Response) -> Callable[[Scope, Receive], Awaitable[Response]]:
    """Return an application with always the same answer."""

    async def respond(_: Scope, __: Receive) -> Response:
        return response

    return respond


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    """The parts of an answer."""
    for part in parts:
        yield part


async def test_a_whole_answer_is_one_write() -> None:
    """The head and the body of a whole answer go out together, and the connection stays open."""
    trial = Trial(gives(Response(b"lot 1", 201, {"X-Lot": "1"})))
    sent = await trial.run()
    head = b"HTTP/1.1 201 Created\r\ndate: Mon, 23 Nov 2026 12:00:00 GMT\r\nx-lot: 1\r\ncontent-length: 5\r\n\r\n"
    assert (head + b"lot 1", 1) == (sent, len(trial.wire.sent))
    assert (1, False) == (trial.answered, trial.wire.closed)


async def test_pieces_come_in_chunks_and_the_head_with_the_first() -> None:
    """An answer without a length comes in chunks. An empty piece is not sent, as an empty chunk is the end."""
    trial = Trial(gives(StreamingResponse(pieces(b"one", b"", b"three"))))
    await trial.run()
    first, *others = [sent for sent in trial.wire.sent if sent]
    assert first.endswith(b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n")
    assert b"5\r\nthree\r\n0\r\n\r\n" == b"".join(others)


async def test_before_chunks_the_connection_ends_with_the_answer() -> None:
    """HTTP/1.0 has no chunks: an answer without a length ends with its connection."""
    trial = Trial(gives(StreamingResponse(pieces(b"one", b"two"))), version="1.0")
    sent = await trial.run()
    assert sent.endswith(b"\r\nconnection: close\r\n\r\nonetwo")
    assert (1, True) == (trial.answered, trial.wire.closed)


@pytest.mark.parametrize("response", [Response(b"a body"), StreamingResponse(pieces(b"a body"))])
async def test_head_has_no_body(response: Response) -> None:
    """The answer to HEAD has the headers of the answer to GET, and nothing after them."""
    trial = Trial(gives(response), "HEAD")
    assert (await trial.run()).endswith(b"\r\n\r\n")
    assert ([], 1, False) == (trial.errors, trial.answered, trial.wire.closed)


@pytest.mark.parametrize("status", [204, 304])
async def test_some_answers_have_no_body(status: int) -> None:
    """No content, and what is as the client has it, have neither a length nor chunks."""
    trial = Trial(gives(Response(status_code=status)))
    sent = await trial.run()
    assert sent.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-length" not in sent and b"chunked" not in sent
    assert sent.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("name", ["X-Lot", "X-Lot: 1\r\nX-Other"])
@pytest.mark.parametrize("value", ["1\r\nX-Other: 2", "1\nX-Other: 2", "1\r", "1"])
async def test_no_header_has_a_line_break(name: str, value: str) -> None:
    """An answer whose header has a line break is not sent: the client would take the rest for another header."""
    trial = Trial(gives(Response(b"lot", headers={name: value})))
    sent = await trial.run()
    if "\n" not in name and value == "1":
        assert b"\r\nx-lot: 1\r\n" in sent
    else:
        assert ([RuntimeError], b"", True) == ([type(one) for one in trial.errors], sent, trial.wire.closed)


@pytest.mark.parametrize("parts", [(b"four",), (b"four", b"and more")])
async def test_an_answer_of_another_length_breaks_off(parts: tuple[bytes, ...]) -> None:
    """If a body is not as long as it is said to be, the connection ends, so that no client takes it for complete."""
    trial = Trial(gives(StreamingResponse(pieces(*parts), headers={"Content-Length": "5"})))
    sent = await trial.run()
    assert ([RuntimeError], 0, True) == ([type(one) for one in trial.errors], trial.answered, trial.wire.closed)
    assert b"and more" not in sent


async def test_an_error_in_the_middle_is_reported_and_ends_the_connection() -> None:
    """The client of an answer that breaks off gets no end of it; the application is told the error."""

    async def breaks() -> AsyncIterator[bytes]:
        yield b"begun"
        raise ZeroDivisionError

    trial = Trial(gives(StreamingResponse(breaks())))
    sent = await trial.run()
    assert b"5\r\nbegun\r\n" in sent and not sent.endswith(b"0\r\n\r\n")
    assert (ZeroDivisionError, True) == (type(trial.errors[0]), trial.wire.closed)


async def test_a_body_is_read_as_it_arrives() -> None:
    """A body that has arrived before it is read is there at once; the rest of any other is waited for."""

    async def echo(scope: Scope, receive: Receive) -> Response:
        return Response(await read_body(Request(scope, receive), 100))

    assert (await Trial(echo, "POST").run(b"one", b"two")).endswith(b"\r\n\r\nonetwo")
    late = Trial(echo, "POST")
    late.exchange.arrived(b"one")
    task = late.begin()
    await asyncio.sleep(0)
    for piece in (b"two", b"three"):
        late.exchange.arrived(piece)
        await asyncio.sleep(0)
    late.exchange.arrived(b"four", whole=True)
    assert BODY not in late.exchange.scope, "the rest of a body is not a body"
    await task
    assert b"".join(late.wire.sent).endswith(b"\r\n\r\nonetwothreefour")


@pytest.mark.parametrize("arrived", [True, False])
async def test_nothing_is_done_for_a_client_that_has_gone(arrived: bool) -> None:
    """If the client goes before its request is begun, its body is not given out, even if all of it has arrived."""
    done = []

    async def respond(scope: Scope, receive: Receive) -> Response:
        done.append(await read_body(Request(scope, receive), 100))
        return Response()

    trial = Trial(respond, "POST")
    trial.exchange.arrived(b"a bid", whole=arrived)
    trial.exchange.disconnect()
    await trial.begin()
    assert ([], [], []) == (done, trial.errors, trial.wire.sent)


async def test_a_client_that_goes_is_noticed_in_the_middle() -> None:
    """An application that waits for more of a body learns that the client has gone, and nothing more is sent."""
    heard: list[type[BaseException]] = []

    async def respond(scope: Scope, receive: Receive) -> Response:
        try:
            await read_body(Request(scope, receive), 100)
        except ClientDisconnect as gone:
            heard.append(type(gone))
            raise
        return Response()

    trial = Trial(respond, "POST")
    trial.exchange.arrived(b"half")
    task = trial.begin()
    await asyncio.sleep(0)
    trial.exchange.disconnect()
    await task
    assert ([ClientDisconnect], [], []) == (heard, trial.errors, trial.wire.sent)


@pytest.mark.parametrize("answer", [Response(b"late"), StreamingResponse(pieces(b"late"))])
async def test_an_answer_to_a_client_that_has_gone_is_dropped(answer: Response) -> None:
    """An answer that is ready after the client has gone is not written, and counts for none."""
    ready = asyncio.Event()

    async def respond(_: Scope, __: Receive) -> Response:
        await ready.wait()
        return answer

    trial = Trial(respond)
    trial.exchange.arrived(whole=True)
    task = trial.begin()
    await asyncio.sleep(0)
    trial.exchange.disconnect()
    ready.set()
    await task
    assert ([], 0, []) == (trial.wire.sent, trial.answered, trial.errors)


async def test_a_client_that_waits_is_told_to_go_on_once() -> None:
    """`100 Continue` is sent when the body is read, and only then; the connection stays open after the answer."""

    async def echo(scope: Scope, receive: Receive) -> Response:
        return Response(await read_body(Request(scope, receive), 100))

    trial = Trial(echo, "POST", expects=True)
    assert [] == trial.wire.sent
    task = trial.begin()
    await until(lambda: bool(trial.wire.sent), "the client is told to go on")
    trial.exchange.arrived(b"a", whole=False)
    await asyncio.sleep(0)
    trial.exchange.arrived(b"b", whole=True)
    await task
    assert [b"HTTP/1.1 100 Continue\r\n\r\n"] == trial.wire.sent[:-1]
    assert (True, False) == (trial.wire.sent[-1].endswith(b"\r\n\r\nab"), trial.wire.closed)


async def test_an_early_answer_to_a_client_that_waits_ends_the_connection() -> None:
    """A client that is answered instead of told to go on may leave out its body; so no other request can follow."""
    trial = Trial(gives(Response(b"no", 403)), "POST", expects=True)
    await trial.begin()
    sent = b"".join(trial.wire.sent)
    assert (True, True) == (b"\r\nconnection: close\r\n" in sent, trial.wire.closed)
    assert b"100 Continue" not in sent


async def test_a_task_after_the_answer_is_run() -> None:
    """What an answer does in the background comes after it was sent."""
    done = []
    trial = Trial(gives(Response(b"sent", background=BackgroundTask(lambda: done.append(len(trial.wire.sent))))))
    assert (await trial.run()).endswith(b"\r\n\r\nsent")
    assert [1] == done
