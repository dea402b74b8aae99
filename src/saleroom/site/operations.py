"""The files that all pages share in the API's document."""

from __future__ import annotations

from typing import Any

from saleroom.http import openapi
from saleroom.http.openapi import Operations
from saleroom.http.problems import HeadersTooLarge, InternalError, NotFound, status_of


def _asset() -> dict[str, Any]:
    """Return GET /assets/*file (docs/specification.md, "GET /assets/*file")."""
    etag = {"ETag": openapi.header("Of this very representation.")}
    file: dict[str, Any] = {"content": {"*/*": {"schema": openapi.BINARY}}}
    refused = (NotFound, HeadersTooLarge, InternalError)
    return {
        "operationId": "asset",
        "tags": ["pages"],
        "summary": "A file of the public folder",
        "description": "What the pages are made of. An address with a digest in its name never changes.",
        "security": [],
        "parameters": [
            openapi.parameter("path", "file", {"type": "string"}, "The path below the public folder.", required=True),
            openapi.parameter("header", "Range", {"type": "string"}, "Which bytes, such as `bytes=0-99`."),
            openapi.parameter("header", "If-None-Match", {"type": "string"}, "The `ETag` of what is known already."),
        ],
        "responses": {
            "200": {"description": "The file.", "headers": etag, **file},
            "206": {"description": "The bytes asked for.", "headers": etag, **file},
            "304": {"description": "It has not changed.", "headers": etag},
            "416": {"description": "There are no such bytes."},
            **{str(status_of(one)): openapi.problem([one]) for one in refused},
        },
    }


OPERATIONS: Operations = {"/assets/{file}": {"get": _asset()}}
