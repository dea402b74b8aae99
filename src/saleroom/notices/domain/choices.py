"""Choices: which words a user wants by which channel, and in which hours nothing is sent to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct

from saleroom.kernel.errors import Fault
from saleroom.kernel.instants import time_zones
from saleroom.notices.domain.kinds import KINDS, MUST_BE_MAILED, OF_LOTS

MAIL = "mail"
CHANNELS = (MAIL, "push")
ALL = "*"
"""In place of a kind: all kinds for which nothing else was chosen, those of later versions too."""
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
TIME_FORMAT = Fault("time_format", "must be a time of day, such as 22:30")
NO_HOURS = Fault("no_hours", "must not end when they begin, as no hour would be quiet")
ZONE = Fault("time_zone", "must be the name of a time zone, such as Europe/Berlin")


class QuietHours(Struct, frozen=True):
    """The hours in which nothing is sent, by the clock of a time zone; they may pass midnight."""

    begins: time
    ends: time
    zone: str

    def left(self, now: datetime) -> timedelta:
        """Return how long it is quiet from now on; nothing if it is not."""
        local = now.astimezone(ZoneInfo(self.zone))
        at = local.time()
        past, early = at >= self.begins, at < self.ends
        if not ((past and early) if self.begins <= self.ends else (past or early)):
            return timedelta()
        day = local.date() if at < self.ends else local.date() + timedelta(days=1)
        # In UTC, as one of the hours between may be skipped or come twice. In an hour that came for the second time, the end is
        # that of the second.
        ends = self.ends.replace(fold=local.fold)
        return datetime.combine(day, ends, local.tzinfo).astimezone(UTC) - now


class Choices(Struct, frozen=True):
    """What a user chose, by (channel, kind). They get what they did not choose, by mail only if the kind is `mailed`.

    ALL is for words about lots: anyone who stops those still hears what they owe, until they choose against it by its kind.
    """

    wanted: Mapping[tuple[str, str], bool] = {}
    quiet: QuietHours | None = None

    def wants(self, channel: str, kind: str) -> bool:
        """Return whether the user wants words of this kind by this channel."""
        if channel == MAIL and kind in MUST_BE_MAILED:
            return True
        usual = channel != MAIL or KINDS[kind].mailed
        for_all = self.wanted.get((channel, ALL), usual) if KINDS[kind].about_lot else usual
        return self.wanted.get((channel, kind), for_all)

    def about_money(self, channel: str) -> dict[str, bool]:
        """Return what was chosen of words about money by a channel, by kind."""
        own = {kind: wants for (by, kind), wants in self.wanted.items() if by == channel}
        return {kind: wants for kind, wants in own.items() if kind in KINDS and kind not in OF_LOTS}

    def by(self, channel: str) -> dict[str, bool]:
        """Return for each kind whether the user wants it by this channel."""
        return {kind: self.wants(channel, kind) for kind in KINDS}


def parse_time(text: str) -> time | Fault:
    """Return a time of day from `22:30`, or its fault."""
    found = _TIME.fullmatch(text.strip())
    return TIME_FORMAT if found is None else time(int(found[1]), int(found[2]))


def parse_zone(text: str) -> str | Fault:
    """Return the name of a time zone of the IANA database, or its fault."""
    name = text.strip()
    return name if name in time_zones() else ZONE
