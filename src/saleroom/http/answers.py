"""How a connection answers: by what the request's version and its sender expect, or without the application at all."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

from saleroom.http import problems
from saleroom.http.guard import SECURITY_HEADERS
from saleroom.http.internals import FlowControl, RequestResponseCycle
from saleroom.kernel.errors import Busy, Refused


class Flow(FlowControl):
    """Reads nothing more while something waits, even when the application asks for more."""

    something_waits = False

    def resume_reading(self) -> None:
        """Read on, unless something waits."""
        if not self.something_waits:
            super().resume_reading()


class ContinueCycle(RequestResponseCycle):
    """For a client that sends its body once it is told to, and perhaps not at all if it is answered before."""

    async def send(self, message: Any) -> None:
        """Send; the connection ends where the client may leave out what it has announced."""
        if self.waiting_for_100_continue and self.more_body:
            self.keep_alive = False
        await super().send(message)


class UnchunkedCycle(RequestResponseCycle):
    """For HTTP/1.0, which knows no chunks: an answer without a length goes on until the connection ends."""

    _has_length = False

    async def send(self, message: Any) -> None:
        """Send, as if each piece were all."""
        if message["type"] == "http.response.start":
            self._has_length = any(name.lower() == b"content-length" for name, _ in message["headers"])
            self.chunked_encoding = None if self._has_length else False
        elif not self._has_length:
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)


@cache
def refusal(message: str) -> bytes:
    """Return the answer to whom there is no place for; there may be many of them."""
    return farewell(Busy(message))


def farewell(refused: Refused) -> bytes:
    """Return an answer as bytes, after which the connection ends."""
    answer = problems.answer(refused)
    status = HTTPStatus(answer.status_code)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in (*answer.raw_headers, *SECURITY_HEADERS) if name != b"connection"]
    return b"\r\n".join([*lines, b"connection: close", b"", bytes(answer.body)])
