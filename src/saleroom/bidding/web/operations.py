"""The pages and files of auctions in the API's document."""

from __future__ import annotations

from typing import Any

from saleroom.bidding.domain.errors import PhotosUnavailable, UnknownPhoto
from saleroom.http import openapi
from saleroom.http.openapi import Operations
from saleroom.http.problems import HeadersTooLarge, InternalError, NotFound, Unavailable, status_of
from saleroom.kernel.errors import Invalid


def _home() -> dict[str, Any]:
    """Return GET /, a page for people (docs/specification.md, "GET /")."""
    after = openapi.parameter("query", "after", {"type": "string"}, "Where the list goes on. Opaque.")
    about = "HTML for people; programs read `GET /auctions`."
    return openapi.page("home", "Home page: the open auctions", about, [after], Invalid)


def _photo() -> dict[str, Any]:
    """Return GET /photos/{id}/{width}.webp, the address of a file in a `PhotoView`."""
    etag = {"ETag": openapi.header("Of this very file.")}
    refused = (HeadersTooLarge, InternalError)
    return {
        "operationId": "photo",
        "tags": ["auctions"],
        "summary": "A photo in one of its widths",
        "description": "Its address is in `files` of a photo. The file there never changes.",
        "security": [],
        "parameters": [
            openapi.parameter("path", "id", {"type": "string"}, "The photo.", required=True),
            openapi.parameter(
                "path", "width", {"type": "integer", "minimum": 1}, "A width that it was made in.", required=True
            ),
            openapi.parameter("header", "If-None-Match", {"type": "string"}, "The `ETag` of what is known already."),
        ],
        "responses": {
            "200": {"description": "The file.", "headers": etag, "content": {"image/webp": {"schema": openapi.BINARY}}},
            "304": {"description": "It has not changed.", "headers": etag},
            "404": openapi.problem([UnknownPhoto, NotFound]),
            "503": openapi.problem([Unavailable, PhotosUnavailable]),
            **{str(status_of(one)): openapi.problem([one]) for one in refused},
        },
    }


OPERATIONS: Operations = {"/": {"get": _home()}, "/photos/{id}/{width}.webp": {"get": _photo()}}
