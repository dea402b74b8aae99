"""Answers of a connection: as the version of the request expects them, or without the application."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

from saleroom.http import problems
from saleroom.http.guard import SECURITY_HEADERS
from saleroom.http.internals import FlowControl, RequestResponseCycle
from saleroom.kernel.errors import Busy, Refusal


class Flow(FlowControl):
    """Flow control that reads nothing more while a later request waits, even if the application asks for more."""

    something_waits = False

    def resume_reading(self) -> None:
        """Read on, unless a later request waits."""
        if not self.something_waits:
            super().resume_reading()


class ContinueCycle(RequestResponseCycle):
    """For a client that waits for `100 Continue`, and may leave its body out if the answer comes first."""

    async def send(self, message: Any) -> None:
        """Send. The connection ends if the client may leave out the body that it announced."""
        if self.waiting_for_100_continue and self.more_body:
            self.keep_alive = False
        await super().send(message)


class UnchunkedCycle(RequestResponseCycle):
    """For HTTP/1.0, which has no chunks: an answer without a length ends with the connection."""

    _has_length = False

    async def send(self, message: Any) -> None:
        """Send each piece as if it were the whole body."""
        if message["type"] == "http.response.start":
            self._has_length = any(name.lower() == b"content-length" for name, _ in message["headers"])
            self.chunked_encoding = None if self._has_length else False
        elif not self._has_length:
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)


@cache
def refusal(message: str) -> bytes:
    """Return the answer to a client without a place, cached because there may be many such clients."""
    return farewell(Busy(message))


def farewell(refused: Refusal) -> bytes:
    """Return the answer to a refused request as bytes; the connection ends after it."""
    answer = problems.answer(refused)
    status = HTTPStatus(answer.status_code)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in (*answer.raw_headers, *SECURITY_HEADERS) if name != b"connection"]
    return b"\r\n".join([*lines, b"connection: close", b"", bytes(answer.body)])
