"""Calendars (RFC 5545), and how they and feeds are answered."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from icalendar import Calendar, Event, Timezone, TimezoneStandard
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.entity_tags import is_known
from saleroom.site.language import Language

AT_ONCE = 8
"""How many dates are written before others have their turn in the event loop: each takes some 0.2 ms."""
_END = b"END:VCALENDAR\r\n"


class Date(Struct, frozen=True, kw_only=True):
    """A date of a calendar.

    `uid` stays whatever happens to it. `version` grows with each change, and `updated` is the instant of the last one.
    """

    uid: str
    at: datetime
    summary: str
    address: str
    version: int
    updated: datetime
    cancelled: bool
    place: str = ""


def answer(
    request: Request, language: Language, body: bytes, kind: str, more: Mapping[str, str] = MappingProxyType({})
) -> Response:
    """Return a feed, or that it has not changed; with `more` headers."""
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept-Language, Cookie", **more}
    if is_known(request.scope, etag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=f"{kind}; charset=utf-8", headers=headers | {"Content-Language": language.tag})


async def calendar(title: str, dates: Iterable[Date]) -> bytes:
    """Return a calendar with this title; others have their turn in the event loop meanwhile."""
    found = Calendar()
    found.add("prodid", "-//saleroom//lots//EN")
    found.add("version", "2.0")
    found.add("x-wr-calname", title)
    head = found.to_ical().removesuffix(_END)
    parts = []
    for number, one in enumerate(dates, 1):
        parts.append(_event(one).to_ical())
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
    return b"".join((head, *(parts or [_zone().to_ical()]), _END))


def _event(one: Date) -> Event:
    found = Event()
    found.add("uid", one.uid)
    found.add("dtstamp", one.updated)
    found.add("last-modified", one.updated)
    found.add("sequence", one.version)
    found.add("dtstart", one.at)
    found.add("summary", one.summary)
    if one.place:
        found.add("location", one.place)
    found.add("url", one.address)
    found.add("status", "CANCELLED" if one.cancelled else "CONFIRMED")
    found.add("transp", "TRANSPARENT")
    return found


def _zone() -> Timezone:
    """Return UTC: a calendar has at least one component (RFC 5545, section 3.6), and some programs refuse one without."""
    standard, zone = TimezoneStandard(), Timezone()
    standard.add("dtstart", datetime(1970, 1, 1))  # noqa: DTZ001  # by the standard a local time
    standard.add("tzoffsetfrom", timedelta())
    standard.add("tzoffsetto", timedelta())
    zone.add("tzid", "UTC")
    zone.add_component(standard)
    return zone
