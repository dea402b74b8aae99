"""Answers that a connection gives without the application: it is refused, or what it sends is not HTTP."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus

from saleroom.http import problems
from saleroom.http.guard import SECURITY_HEADERS
from saleroom.kernel.errors import Busy, Refusal


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
