"""Identifiers of the wire: auctions and other aggregates (`gid`), and their events (`gid/version`)."""

from __future__ import annotations

import re

from msgspec import Struct

GID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a `gid` may look like; the service makes its own shorter."""


class EventId(Struct, frozen=True):
    """The id of an event, `gid/version`; version 0 stands before the first event of an auction, or of the log."""

    gid: str
    version: int

    def __str__(self) -> str:
        return f"{self.gid}/{self.version}" if self.version else "0"


BEGINNING = EventId("", 0)
