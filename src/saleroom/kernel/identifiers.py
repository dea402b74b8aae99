"""Identifiers of the wire: auctions and other aggregates (`gid`), their events (`gid/version`), and accepted requests."""

from __future__ import annotations

import re

from msgspec import Struct

from saleroom.kernel.errors import Fault

PROGRAM_TOKEN = "saleroom_pat_"
"""How each access token of a program begins."""
GID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The form of a `gid`; those that the service makes are shorter."""
GID_BYTES = 9
"""Random bytes of a new gid: 72 bits, 12 characters of URL-safe Base64."""
VERSION_MAX = 2**31 - 1
"""The highest version that both databases can store."""
EVENT_ID_PATTERN = rf"0|({GID.pattern})/([1-9][0-9]{{0,9}})"
_EVENT_ID = re.compile(EVENT_ID_PATTERN)


class EventId(Struct, frozen=True):
    """The id of an event, `gid/version`; version 0 stands before the first event of an auction, or of the log."""

    gid: str
    version: int

    def __str__(self) -> str:
        return f"{self.gid}/{self.version}" if self.version else "0"


BEGINNING = EventId("", 0)


def parse_event_id(text: str) -> EventId | Fault:
    """Return the id of an event, BEGINNING for `0`, or its fault."""
    match = _EVENT_ID.fullmatch(text)
    if match is None or int(match[2] or 0) > VERSION_MAX:
        return Fault("event_id", "must be the id of an event, such as k3X9mQ2vTa1_/7, or 0 for the beginning")
    return BEGINNING if text == "0" else EventId(match[1], int(match[2]))


class IdempotencyKey(Struct, frozen=True):
    """The Idempotency-Key of a request (1 to 255 characters) and a digest of its content."""

    key: str
    request: bytes
