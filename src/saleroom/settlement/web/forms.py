"""What the forms of settlement share: their fields, the sale or the document in their address, and their operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request

from saleroom.http.endpoints import digest
from saleroom.http.forms import Field, read_fields
from saleroom.kernel.errors import Fault, Invalid, Unknown
from saleroom.kernel.identifiers import GID, IdempotencyKey
from saleroom.site.language import Language

Sent = dict[str, str]
_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")
_DIGITS_MAX = 9


def page_gid(request: Request, unknown: type[Unknown]) -> str:
    """Return the gid in the address of a page. Raises `unknown`."""
    found = str(request.path_params["gid"])
    if GID.fullmatch(found) is None:
        raise unknown
    return found


def whole(text: str) -> int | None:
    """Return a whole number of a form, None for anything else. A number with more digits than any place or paddle is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else None


def once_of(sent: Sent, form: str, gid: str, values: dict[str, Any]) -> IdempotencyKey:
    """Return the operation of a form as it was shown, so that a double press is one. Raises Invalid without it."""
    key = sent.get("key", "")
    if _KEY.fullmatch(key) is None:
        raise Invalid.one("key", "malformed", "is missing; open the page again")
    return IdempotencyKey(key, digest("POST", form, gid, values))


def tried_values(language: Language, tried: Mapping[str, str], known: tuple[Field, ...]) -> dict[str, Any]:
    """Return the values in the query of a page that tries a price, as `known` reads them. Raises Invalid."""
    text, sent = tried.get("price", "").strip(), dict[str, bytes]()
    if text:
        price = language.parse_money(text)
        if isinstance(price, Fault):
            raise Invalid({"price": [price]})
        sent["price"] = msgspec.json.encode(str(price))
    others = [field.name for field in known if field.name != "price"]
    sent |= {name: msgspec.json.encode(tried[name]) for name in others if tried.get(name)}
    return read_fields(known, sent, strict=True)
