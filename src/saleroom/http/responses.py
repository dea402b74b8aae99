"""Answers in JSON, and the forms that all areas share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

LIMIT_DEFAULT, LIMIT_MAX = 50, 100
_IS_JSON = (b"content-type", b"application/json")
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
    """An answer of JSON. Starlette's own computes its headers each time, which takes as long as reading a bid."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), _IS_JSON]
        for name, value in headers.items():
            self.raw_headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))


def json_response(
    body: Struct | dict[str, Any] | bytes, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
) -> Response:
    """Return an answer; bytes are JSON already."""
    return JsonResponse(body if isinstance(body, bytes) else encode(body), status, headers)


def page_response(request: Request, body: Struct | dict[str, Any] | bytes, cursor: str | None) -> Response:
    """Return a page of a list, with `Link: rel="next"` if there is a next page; bytes are JSON already."""
    headers = {"Cache-Control": "no-cache", "Vary": "Authorization"}
    if cursor is not None:
        query = [("cursor", cursor)]
        if request.scope["query_string"]:
            query[:0] = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
        headers["Link"] = f'<{request.scope["path"]}?{urlencode(query)}>; rel="next"'
    return json_response(body, headers=headers)
