"""Entity tags: the state that a request rests on (If-Match), and the one that its client has (If-None-Match)."""

from __future__ import annotations

import re

from starlette.types import Scope

from saleroom.http.requests import joined_header
from saleroom.kernel.errors import Fault

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_OPAQUE = re.compile(r'(?:W/)?("[^"]*")')
"""A tag without its mark of weakness. It is read more leniently than in If-Match: at worst an answer is sent once more."""
_TAGS = re.compile(rf"(?:[ \t]*,)*[ \t]*{_TAG}(?:[ \t]*,(?:[ \t]*{_TAG})?)*[ \t]*")


def matching(sent: str) -> frozenset[str] | Fault | None:
    """Return the strong entity tags in If-Match (RFC 9110, 13.1.1), in their quotes; None for `*`; or a Fault.

    A weak tag never matches, so it is left out.
    """
    if sent.strip(" \t") == "*":
        return None
    if _TAGS.fullmatch(sent) is None:
        return Fault("entity_tag", "must be *, or the ETag of the auction in its double quotes")
    return frozenset(tag for tag in re.findall(_TAG, sent) if not tag.startswith("W/"))


def is_known(scope: Scope, etag: str) -> bool:
    """Whether If-None-Match names this representation, by the weak comparison of RFC 9110, 13.1.2."""
    sent = joined_header(scope, b"if-none-match")
    return sent is not None and (sent.strip() == "*" or etag in _OPAQUE.findall(sent))
