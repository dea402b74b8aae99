"""Entity tags: the condition of a request on the state that it rests on (If-Match)."""

from __future__ import annotations

import re

from saleroom.kernel.errors import Fault

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
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
