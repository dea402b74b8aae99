"""Feeds: the lots of the house for readers of feeds (Atom, RFC 4287), and their dates for calendars (RFC 5545)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.service import feeds, reading
from saleroom.bidding.service.feeds import FeedEntry
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.home import ANY, lot_query
from saleroom.kernel.instants import instant
from saleroom.site.calendars import Date, answer, calendar
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
        return await self._calendar(request, found)

    async def of_lot(self, request: Request) -> Response:
        """GET /lots/{gid}/dates.ics: when one lot opens and ends. Raises UnknownAuction or TakenDown."""
        found = await self._services.database.read(feeds.one, request.path_params["gid"])
        return await self._calendar(request, found)

    async def _calendar(self, request: Request, found: Sequence[FeedEntry]) -> Response:
        language = self._site.language(request)
        body = await dates(found, language, self._site.origin(request), self._site.profile.name)
        return answer(request, language, body, "text/calendar")

    def _here(self, request: Request) -> str:
        query = f"?{request.url.query}" if request.url.query else ""
        return f"{self._site.origin(request)}{request.url.path}{query}"


def atom(found: Sequence[FeedEntry], language: Language, origin: str, here: str, title: str) -> bytes:
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


def _entry(feed: ET.Element, one: FeedEntry, language: Language, address: str) -> None:
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


async def dates(found: Sequence[FeedEntry], language: Language, origin: str, title: str) -> bytes:
    """Return when lots open and end, as a calendar with this title."""
    return await calendar(title, (date for one in found for date in _dates(one, language, origin)))


def _dates(one: FeedEntry, language: Language, origin: str) -> Iterator[Date]:
    lot: Auction = one.lot
    for name, at, words in (("start", lot.starts_at, _OPENS), ("end", lot.ends_at, _ENDS)):
        if at is not None:
            yield Date(
                uid=f"{lot.gid}.{name}@saleroom",
                at=at,
                summary=language.gettext(words, lot=lot.name),
                address=f"{origin}/lots/{lot.gid}",
                version=lot.version,
                updated=one.updated,
                cancelled=lot.status is Status.CANCELLED,
            )
