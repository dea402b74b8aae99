"""Feeds: the lots of the house for readers of feeds (Atom, RFC 4287), and their dates for calendars (RFC 5545)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from xml.etree import ElementTree as ET

from icalendar import Calendar, Event, Timezone, TimezoneStandard
from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.service import feeds, reading
from saleroom.bidding.service.feeds import Entry
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.home import ANY, lot_query
from saleroom.kernel.instants import instant
from saleroom.site.assets import is_known
from saleroom.site.language import N_, Language
from saleroom.site.site import Site

ENTRIES_MAX = 50
DATES_MAX = 100
"""Of each state, if a calendar is about no state."""
ATOM = "http://www.w3.org/2005/Atom"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STATES = {
    "open": N_("On sale"),
    "scheduled": N_("Coming up"),
    "closed": N_("Over"),
    "cancelled": N_("Cancelled"),
}
_ENDS, _OPENS = N_("%(lot)s: ends"), N_("%(lot)s: bidding opens")


class Feeds:
    """The feeds of the house."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def atom(self, request: Request) -> Response:
        """GET /lots.atom: the newest lots, or those that the address asks for as the home page does. Raises Invalid."""
        which = lot_query(request, self._services, ANY).which
        found = await self._services.database.read(reading.searched, lambda tx: feeds.newest(tx, which, ENTRIES_MAX))
        language, origin = self._site.language(request), self._site.origin(request)
        body = atom(found, language, origin, self._here(request), language.gettext(N_("Lots")))
        return answer(request, language, body, "application/atom+xml")

    async def calendar(self, request: Request) -> Response:
        """GET /lots.ics: when lots open and end; the address may ask for some, as on the home page. Raises Invalid."""
        which = lot_query(request, self._services, ANY).which
        found = await self._services.database.read(reading.searched, lambda tx: feeds.dated(tx, which, DATES_MAX))
        return self._calendar(request, found)

    async def of_lot(self, request: Request) -> Response:
        """GET /lots/{gid}/dates.ics: when one lot opens and ends. Raises UnknownAuction or TakenDown."""
        return self._calendar(request, await self._services.database.read(feeds.one, request.path_params["gid"]))

    def _calendar(self, request: Request, found: Sequence[Entry]) -> Response:
        language = self._site.language(request)
        body = dates(found, language, self._site.origin(request), self._site.profile.name)
        return answer(request, language, body, "text/calendar")

    def _here(self, request: Request) -> str:
        query = f"?{request.url.query}" if request.url.query else ""
        return f"{self._site.origin(request)}{request.url.path}{query}"


def answer(
    request: Request, language: Language, body: bytes, kind: str, more: Mapping[str, str] = MappingProxyType({})
) -> Response:
    """Return a feed, or that it has not changed; with `more` headers."""
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept-Language, Cookie", **more}
    if is_known(request.headers.getlist("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=f"{kind}; charset=utf-8", headers=headers | {"Content-Language": language.tag})


def atom(found: Sequence[Entry], language: Language, origin: str, here: str, title: str) -> bytes:
    """Return lots as an Atom feed, whose own address is `here`."""
    feed = ET.Element("feed", {"xmlns": ATOM, "xml:lang": language.tag})
    _add(feed, "id", here)
    _add(feed, "title", title)
    latest = max((one.updated for one in found), default=datetime(2000, 1, 1, tzinfo=UTC))
    _add(feed, "updated", instant(latest))
    ET.SubElement(feed, "link", {"rel": "self", "type": "application/atom+xml", "href": _legal(here)})
    ET.SubElement(feed, "link", {"rel": "alternate", "type": "text/html", "href": f"{origin}/"})
    for one in found:
        _entry(feed, one, language, f"{origin}/lots/{one.lot.gid}")
    return bytes(ET.tostring(feed, encoding="utf-8", xml_declaration=True))


def _entry(feed: ET.Element, one: Entry, language: Language, address: str) -> None:
    lot, entry = one.lot, ET.SubElement(feed, "entry")
    cancelled = lot.status is Status.CANCELLED
    state = language.gettext(_STATES[lot.status])
    _add(entry, "id", address)
    _add(entry, "title", f"{state}: {lot.name}" if cancelled else lot.name)
    _add(entry, "published", instant(lot.created_at))
    _add(entry, "updated", instant(one.updated))
    _add(ET.SubElement(entry, "author"), "name", lot.author.name)
    ET.SubElement(entry, "link", {"rel": "alternate", "type": "text/html", "href": address})
    ET.SubElement(entry, "category", {"term": lot.status, "label": state})
    _add(entry, "summary", lot.description)


def _add(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = _legal(text)


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def dates(found: Sequence[Entry], language: Language, origin: str, title: str) -> bytes:
    """Return when lots open and end, as a calendar with this title."""
    calendar = Calendar()
    calendar.add("prodid", "-//saleroom//lots//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", title)
    for one in found:
        for name, at, words in (("start", one.lot.starts_at, _OPENS), ("end", one.lot.ends_at, _ENDS)):
            if at is not None:
                calendar.add_component(_date(one, name, at, language.gettext(words, lot=one.lot.name), origin))
    if not calendar.subcomponents:
        calendar.add_component(_zone())
    return bytes(calendar.to_ical())


def _zone() -> Timezone:
    """Return UTC: a calendar has at least one component (RFC 5545, section 3.6), and some programs refuse one without."""
    standard, zone = TimezoneStandard(), Timezone()
    standard.add("dtstart", datetime(1970, 1, 1))  # noqa: DTZ001  # by the standard a local time
    standard.add("tzoffsetfrom", timedelta())
    standard.add("tzoffsetto", timedelta())
    zone.add("tzid", "UTC")
    zone.add_component(standard)
    return zone


def _date(one: Entry, name: str, at: datetime, words: str, origin: str) -> Event:
    lot: Auction = one.lot
    found = Event()
    found.add("uid", f"{lot.gid}.{name}@saleroom")
    found.add("dtstamp", one.updated)
    found.add("last-modified", one.updated)
    found.add("sequence", lot.version)
    found.add("dtstart", at)
    found.add("summary", words)
    found.add("url", f"{origin}/lots/{lot.gid}")
    found.add("status", "CANCELLED" if lot.status is Status.CANCELLED else "CONFIRMED")
    found.add("transp", "TRANSPARENT")
    return found
