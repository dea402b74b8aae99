"""Answers in JSON, and the forms that all areas share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import Struct
from starlette.responses import Response
from starlette.types import Scope

LIMIT_DEFAULT, LIMIT_MAX = 50, 100
_NO_HEADERS: Mapping[str, str] = {}
encode = msgspec.json.Encoder().encode


class Health(Struct, frozen=True):
    """The service answers."""

    status: str


class Readiness(Struct, frozen=True):
    """How the database is (`ok`, `unavailable`, `commits nothing`, `not copied`), how the broker is, and what it is owed."""

    status: str
    database: str
    mqtt: str
    owed: int


class FaultView(Struct, frozen=True):
    """One thing wrong with one field."""

    code: str
    message: str


class JsonResponse(Response):
    """An answer of JSON; bytes are JSON already.

    Its headers are kept as the lines that are sent, and become Starlette's list only for those who ask for that: to make a list
    and to join it again took as long as reading a bid. Raises ValueError for a header with a line break.
    """

    lines: bytes
    """The headers, joined; empty once they are a list."""
    says_caching: bool
    """Whether one of the lines says what caches may do."""

    def __init__(
        self, body: Struct | dict[str, Any] | bytes, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        self.status_code = status
        self.body = body if isinstance(body, bytes) else encode(body)
        self.background = None
        self.says_caching = False
        self.lines = b"content-length: %d\r\ncontent-type: application/json" % len(self.body)
        for name, value in headers.items():
            if "\n" in value or "\r" in value:
                raise ValueError("a header of the answer has a line break")
            line = f"\r\n{name.lower()}: {value}".encode("latin-1")
            self.says_caching = self.says_caching or line.startswith(b"\r\ncache-control:")
            self.lines += line

    @property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers as a list, which may be changed."""
        if self.lines:
            parts = [line.partition(b": ") for line in self.lines.split(b"\r\n")]
            self._raw = [(name, value) for name, _, value in parts]
            self.lines = b""
        return self._raw

    @raw_headers.setter
    def raw_headers(self, changed: list[tuple[bytes, bytes]]) -> None:
        """Take the place of all headers."""
        self._raw, self.lines = changed, b""


class SharedHeaders:
    """Headers that many answers have."""

    def __init__(self, *headers: tuple[bytes, bytes]) -> None:
        self._headers = headers
        self._lines = b"".join(b"\r\n%b: %b" % header for header in headers)

    def add_to(self, response: Response) -> None:
        """Add them to an answer."""
        if type(response) is JsonResponse and response.lines:
            response.lines += self._lines
        else:
            response.raw_headers += self._headers


def says_caching(response: Response) -> bool:
    """Return whether an answer says what caches may do."""
    if type(response) is JsonResponse and response.lines:
        return response.says_caching
    return any(name == b"cache-control" for name, _ in response.raw_headers)


json_response = JsonResponse
"""Makes an answer; every module that gives answers calls it by this name."""


def page_response(scope: Scope, body: Struct | dict[str, Any] | bytes, cursor: str | None) -> Response:
    """Return a page of a list, with `Link: rel="next"` if there is a next page; bytes are JSON already."""
    headers = {"Cache-Control": "no-cache", "Vary": "Authorization"}
    if cursor is not None:
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        others = urlencode([(name, value) for name, value in asked if name != "cursor"])
        query = f"{others}&cursor={cursor}" if others else f"cursor={cursor}"  # which is safe in an address
        headers["Link"] = f'<{scope["path"]}?{query}>; rel="next"'
    return json_response(body, headers=headers)
