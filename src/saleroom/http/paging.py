"""Paging: the parameters of every list that comes by page."""

from __future__ import annotations

from saleroom.http.cursors import TEXT, CursorKind, CursorText
from saleroom.http.forms import Field, checked, whole
from saleroom.http.responses import LIMIT_DEFAULT, LIMIT_MAX

_LIMIT = Field(
    name="limit",
    to="limit",
    parse=whole(1, LIMIT_MAX),
    schema={"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
    about="How many to return.",
)


def paging(of: CursorKind) -> tuple[Field, ...]:
    """Return the parameters `limit` and `cursor` of a list."""
    cursor = Field(
        name="cursor",
        to="cursor",
        parse=checked(lambda text: CursorText(of, text)),
        schema={"type": "string", "pattern": f"^{TEXT}$"},
        about="Where the page starts: `next` of the page before. Opaque.",
    )
    return (_LIMIT, cursor)
