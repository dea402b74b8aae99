"""Paging: the parameters of every list that comes by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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


def asked_of(fields: Sequence[Field], query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filter and the order that a query asks for: what it names, but the page and what says its default."""
    chosen = [field for field in fields if field.to in query and field.name not in ("limit", "cursor")]
    return {field.to: query[field.to] for field in chosen if query[field.to] != field.schema.get("default")}


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
