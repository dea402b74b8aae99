"""Local times in forms: from the text of a field to the instant, and back."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from saleroom.kernel.errors import Fault
from saleroom.site.language import N_

_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?")
_LONG_YEAR = re.compile(r"[0-9]{5,}-")
"""Browsers let a reader type such years."""
_NAME = re.compile(r"[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,2}")
TWICE = N_("This time occurs twice, because the clocks go back that night. The first of the two counts.")
UNKNOWN_ZONE = N_("The house does not know your time zone, so your times are read as UTC.")


class LocalTime(Struct, frozen=True):
    """The instant of a local time, in UTC, and notes for its author."""

    at: datetime
    notes: tuple[str, ...] = ()


def read_local(text: str, zone: str, known: str = "") -> LocalTime | Fault:
    """Return the instant of a form's date and time in the IANA time zone `zone`.

    A time that occurs twice, when clocks go back, is the first of the two, with a note. One that never occurs is a fault.
    `known` is the instant (RFC 3339) that the field was filled in from, if any: it stays as it is while the text does, so that
    a form which nobody has changed moves no end to the other of the two, and cuts off no part of a second.
    """
    if kept := _unchanged(text, zone, known):
        return LocalTime(kept)
    wrong = _fault_of(text)
    if _LOCAL.fullmatch(text) is None:
        return wrong
    named = known_zone(zone)
    place = named or ZoneInfo("UTC")
    try:
        wall = datetime.fromisoformat(text)
        at = wall.replace(tzinfo=place).astimezone(UTC)
        later = wall.replace(tzinfo=place, fold=1).astimezone(UTC)
    except (ValueError, OverflowError):
        return wrong
    if at.astimezone(place).replace(tzinfo=None) != wall:
        return Fault(
            "no_such_time", N_("This time does not exist, because the clocks go forward past it. Choose another.")
        )
    notes = (*([UNKNOWN_ZONE] if named is None else []), *([] if later == at else [TWICE]))
    return LocalTime(at, notes)


def _fault_of(text: str) -> Fault:
    """Return the fault of a text that is no local time.

    A browser's own field shows the reader's form of a date, and sends none that is wrong but the first two.
    """
    if not text:
        return Fault("local_time", N_("Enter a date and a time."))
    if _LONG_YEAR.match(text):
        return Fault("local_time", N_("Enter a year of four digits."))
    return Fault("local_time", N_("Enter a date and a time, such as 2026-11-28 20:00."))


def _unchanged(text: str, zone: str, known: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(known).astimezone(UTC)
        return at if write_local(at.astimezone(known_zone(zone) or UTC)) == text.replace(" ", "T") else None
    except (ValueError, OverflowError):
        return None


def write_local(at: datetime) -> str:
    """Return the value of an `<input type="datetime-local">`, with seconds only if they are not zero."""
    return at.strftime("%Y-%m-%dT%H:%M:%S" if at.second else "%Y-%m-%dT%H:%M")


def known_zone(name: str) -> ZoneInfo | None:
    """Return the zone of this name, or None if the house does not know it."""
    # The list of all zones would take long to read.
    try:
        return ZoneInfo(name) if _NAME.fullmatch(name) else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # There is no such file, the file is not a zone, or it is a folder of zones.
        return None
