"""One request and its answer: what has arrived of the one, and the other as bytes of its version of HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Scope

from saleroom.http.client_connection import AnswerTransport
from saleroom.http.internals import FlowControl
from saleroom.http.requests import BODY, Respond
from saleroom.http.responses import JsonResponse
from saleroom.storage.faults import HangUp

APPLICATION = "saleroom.application"
"""In the state of the server: the house's `Application`."""
Headers = Sequence[tuple[bytes, bytes]]
Finish = Callable[[Scope, Response], object]
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}".encode() for status in HTTPStatus}
_WITHOUT_BODY = frozenset({204, 304})


@dataclass(frozen=True)
class Application:
    """What answers requests, with all its layers."""

    respond: Respond
    """Raises ClientDisconnect or HangUp if nobody waits for the answer any more."""
    report: Callable[[Scope, Exception], object]
    """Reports an error in the middle of an answer, whose client sees only that its connection ends."""
    finish: Finish = lambda _, __: None
    """Adds to each answer of `respond`, before any of it is sent."""
    prepare: Callable[[Scope], object] = lambda _: None
    """Changes the scope of each request, before anything else looks at it."""


class Flow(FlowControl):
    """Flow control that reads nothing more while a later request waits, even if the application asks for more."""

    something_waits = False

    def resume_reading(self) -> None:
        """Read on, unless a later request waits."""
        if not self.something_waits:
            super().resume_reading()


class Exchange:
    """A request and its answer. The protocol tells what arrives; the application reads it, and its answer is written here.

    Most answers are whole: they go out in one piece. The others are ASGI applications, which send their pieces.
    """

    has_arrived = False
    """Whether the whole request has arrived."""
    disconnected = False
    """Whether nothing more is sent: the client has gone, or has sent what is not HTTP."""
    begun = answered = False
    """Whether the answer has been begun, and whether it is complete."""
    _arrival: asyncio.Event | None = None
    """Made by the first reader that has to wait."""
    _news = False
    """Whether something has arrived since the application read last."""
    _head = b""
    """The head of an answer whose body has not begun."""
    _is_chunked = False
    _left: int | None = None
    """How many bytes of the answer's body are still to be sent; None if its head does not say."""

    def __init__(
        self,
        scope: Scope,
        transport: AnswerTransport,
        flow: Flow,
        default_headers: Headers,
        on_answered: Callable[[], None],
        *,
        keep_alive: bool,
        awaits_continue: bool,
    ) -> None:
        """`on_answered` is called once the answer is written. `awaits_continue`: the body comes only after `100 Continue`."""
        self.scope = scope
        self.keep_alive = keep_alive
        self.body = bytearray()
        """What has arrived of the body and has not been read."""
        self._transport = transport
        self._flow = flow
        self._default_headers = default_headers
        self._on_answered = on_answered
        self._awaits_continue = awaits_continue

    # The protocol's side.

    def arrived(self, piece: bytes = b"", *, whole: bool = False) -> None:
        """Take a piece of the body. `whole`: the request has arrived to its end."""
        if piece:
            self.body += piece
        if whole:
            self.has_arrived = True
            if self._arrival is None:  # nobody has read of it yet
                self.scope[BODY] = bytes(self.body)
        self._wake()

    def disconnect(self) -> None:
        """Note that nothing more arrives, and that nothing more is sent."""
        self.disconnected = not self.answered
        self.scope.pop(BODY, None)  # nobody waits for an answer, so the application is to notice
        self._wake()

    def _wake(self) -> None:
        self._news = True
        if self._arrival is not None:
            self._arrival.set()

    # The application's side.

    def start(
        self, loop: asyncio.AbstractEventLoop, application: Application, running: set[asyncio.Task[None]]
    ) -> asyncio.Task[None]:
        """Have the application answer, and return the task of it, which is in `running` until it ends.

        The connection ends if the answer breaks off.
        """
        self._task = task = loop.create_task(self._run(application, running))
        running.add(task)
        return task

    async def _run(self, application: Application, running: set[asyncio.Task[None]]) -> None:
        try:
            application.prepare(self.scope)
            response = await application.respond(self.scope, self.receive)
            application.finish(self.scope, response)
            if type(response).__call__ is Response.__call__ and response.background is None:
                if self._flow.write_paused:
                    await self._writable()
                self._send_whole(response)
            else:
                await response(self.scope, self.receive, self.send)
        except (ClientDisconnect, HangUp):
            pass
        except Exception as error:  # noqa: BLE001  # it is logged there
            application.report(self.scope, error)
        finally:
            self._on_answered = _nothing
            running.discard(self._task)
            if not self.answered and not self.disconnected:
                self._transport.close()

    async def receive(self) -> Message:
        """Return the next piece of the body, or that the client has gone; wait for it."""
        if self._awaits_continue:
            self._awaits_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self.disconnected and not self.answered:
            self._flow.resume_reading()
            if self._arrival is None:
                self._arrival = asyncio.Event()
            if not self._news:
                await self._arrival.wait()
            self._news = False
            self._arrival.clear()
        if self.disconnected or self.answered:
            return {"type": "http.disconnect"}
        piece, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": piece, "more_body": not self.has_arrived}

    async def send(self, message: Message) -> None:
        """Send a part of an answer. Its head waits for the first piece of its body: each would be a packet."""
        await self._writable()
        if self.disconnected:
            return
        if message["type"] == "http.response.start":
            self._head = self._begin(message["status"], message["headers"])
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        head, self._head = self._head, b""
        self._transport.write(head + self._framed(body, more=more))
        if not more:
            self._end()

    def _send_whole(self, response: Response) -> None:
        if self.disconnected:
            return
        is_plain = self.keep_alive and not self._awaits_continue and self.scope["method"] != "HEAD"
        if is_plain and type(response) is JsonResponse and response.lines:
            self.begun = True
            shared = [name + b": " + value for name, value in self._default_headers]
            head = b"\r\n".join([_STATUS_LINES[response.status_code], *shared, response.lines, b"", b""])
            self._transport.write(head + bytes(response.body))
        else:
            head = self._begin(response.status_code, response.raw_headers)
            self._transport.write(head + self._framed(bytes(response.body), more=False))
        self._end()

    async def _writable(self) -> None:
        if self._flow.write_paused and not self.disconnected:
            await self._flow.drain()

    def _begin(self, status: int, headers: Headers) -> bytes:
        """Return the head of the answer. Raises RuntimeError for a header with a line break."""
        self.begun = True
        if self._awaits_continue and not self.has_arrived:
            self.keep_alive = False  # the client may leave out the body that it has announced
        lines = [_STATUS_LINES[status]]
        for name, value in (*self._default_headers, *headers):
            if name == b"connection":
                self.keep_alive = self.keep_alive and value != b"close"
                continue
            if name == b"content-length":
                self._left = int(value)
            lines.append(name + b": " + value)
        if not self.keep_alive:
            lines.append(b"connection: close")
        if self.scope["method"] == "HEAD" or status in _WITHOUT_BODY:
            self._left = 0
        # HTTP/1.0 has no chunks: there the end of the connection is that of the answer.
        self._is_chunked = self._left is None and self.scope["http_version"] != "1.0"
        if self._is_chunked:
            lines.append(b"transfer-encoding: chunked")
        head = b"\r\n".join((*lines, b"", b""))
        if not head.count(b"\n") == head.count(b"\r") == len(lines) + 1:
            raise RuntimeError("a header of the answer has a line break")
        return head

    def _framed(self, body: bytes, *, more: bool) -> bytes:
        """Return a piece of the body as it is sent."""
        if self.scope["method"] == "HEAD":
            return b""
        if self._is_chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk if more else chunk + b"0\r\n\r\n"
        if self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("the body of the answer is not as long as its Content-Length")
        return body

    def _end(self) -> None:
        self.answered = True
        self._wake()
        if not self.keep_alive:
            self._transport.close()
        self._on_answered()


def _nothing() -> None:
    """Do nothing: the connection has gone on to the next request."""
