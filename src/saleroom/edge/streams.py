"""The answers of an edge: the streams of the log as a house gives them, and those of pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.edge.addresses import Address, Kind
from saleroom.edge.hub import Hub, Reader
from saleroom.feed.follower import Follower
from saleroom.feed.streams import EventStream, page_time, send_more
from saleroom.http.problems import NoSessions
from saleroom.http.requests import cookie, session_cookie_name
from saleroom.kernel.errors import Fault, Invalid, Refusal
from saleroom.kernel.identifiers import GID, EventId, parse_event_id
from saleroom.log.store import LoggedEvent
from saleroom.sales.domain.errors import UnknownSale
from saleroom.site.language import Languages

LOTS_MAX = 100
"""Lots whose cards one stream may follow, as in a house."""
VIEWS = ("state", "screen", "next", "bidder")
_VERSION = re.compile(r"[0-9]{1,9}")
_STORY = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,19}")


class LogDoor:
    """The streams of the log at one path, for the same handler as in a house."""

    def __init__(self, hub: Hub, path: str) -> None:
        """`path` has `{gid}` if it names one aggregate."""
        self._hub = hub
        self._path = path

    async def follow(self, gid: str | None, after: EventId | None) -> Follower:
        """Return a reader, from behind the event `after` or from now on. Raises Refusal."""
        path = self._path if gid is None else self._path.replace("{gid}", gid)
        reader = await self._hub.follow(Address(Kind.LOG, path, gid or ""), after)
        return reader.follower

    def now(self) -> datetime:
        """Return the time of the house's clock."""
        return self._hub.house.now()


class PageStream(EventStream):
    """A stream of a page: the messages of the house as they came."""

    def __init__(self, hub: Hub, reader: Reader) -> None:
        super().__init__(reader.follower, hub.house.now)
        self._says_ids = reader.channel.upstream.says_ids
        self._whole = reader.channel.address.kind is Kind.STATE
        self._before = reader.before

    def frame(self, event: LoggedEvent) -> bytes:
        """Return a message as it is sent."""
        return event.payload

    async def opening(self, origin: EventId) -> bytes:
        """Return where the stream begins, if it can be resumed, and the time."""
        return (f"id: {origin}\n".encode() if self._says_ids else b"") + self.time() + self._before

    async def tell(self, events: Sequence[LoggedEvent], send: Send) -> None:
        """Send messages; of several whole states the last one only, to a reader that was slow."""
        if self._whole and len(events) > 1:
            states = [number for number, event in enumerate(events) if not event.last]
            events = events[max(states, default=0) :]
        for event in events:
            await send_more(send, self.frame(event))

    def time(self) -> bytes:
        """Return the time of the house's clock."""
        return page_time(self.clock())


class Pages:
    """The streams of pages, in the languages of the house. A reader with a session is shown more, by the house."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._languages = Languages("EUR")  # the house writes the amounts

    async def lot(self, request: Request) -> Response:
        """GET /lots/{gid}/live?after=VERSION&story=MARK."""
        _refuse_session(request)
        gid, sent = _gid(request, UnknownAuction), request.headers.get("last-event-id")
        version, story = (request.query_params.get(name, "") for name in ("after", "story"))
        after = EventId(gid, int(version)) if _VERSION.fullmatch(version) else None
        if sent:
            found = parse_event_id(sent)
            if isinstance(found, EventId) and found.gid != gid:
                found = Fault("event_id", "must be the id of an event of this lot")
            if isinstance(found, Fault):
                raise Invalid({"Last-Event-ID": [found]})
            after = found
        path = f"/lots/{gid}/live" + (f"?story={story}" if _STORY.fullmatch(story) else "")
        return await self._follow(Address(Kind.PAGE, path, gid, self._language(request)), after)

    async def cards(self, request: Request) -> Response:
        """GET /live?lots=GID,GID&list=1."""
        _refuse_session(request)
        sent, lists = request.query_params.get("lots", ""), request.query_params.get("list") == "1"
        gids = sent.split(",") if sent or not lists else []
        if len(gids) > LOTS_MAX or not all(GID.fullmatch(gid) for gid in gids):
            raise Invalid.one("lots", "lots", f"must be the gids of up to {LOTS_MAX} lots, separated by commas")
        asked = (["lots=" + ",".join(sorted(set(gids)))] if gids else []) + (["list=1"] if lists else [])
        resumed = lists and "last-event-id" in request.headers
        address = Address(Kind.PARTS, f"/live?{'&'.join(asked)}", language=self._language(request), resumed=resumed)
        return await self._follow(address)

    async def screen(self, request: Request) -> Response:
        """GET /lots/{gid}/screen/live."""
        gid = _gid(request, UnknownAuction)
        return await self._follow(Address(Kind.STATE, f"/lots/{gid}/screen/live", gid, self._language(request)))

    async def block(self, request: Request) -> Response:
        """GET /sales/{gid}/block/live?view=."""
        gid, view = _gid(request, UnknownSale), request.query_params.get("view", VIEWS[0])
        if view not in VIEWS:
            raise Invalid.one("view", "not_a_choice", f"must be one of {', '.join(VIEWS)}")
        if view == "bidder":
            _refuse_session(request)
        language = "" if view == VIEWS[0] else self._language(request)
        return await self._follow(Address(Kind.STATE, f"/sales/{gid}/block/live?view={view}", gid, language))

    async def _follow(self, address: Address, after: EventId | None = None) -> Response:
        return PageStream(self._hub, await self._hub.follow(address, after))

    def _language(self, request: Request) -> str:
        return self._languages.of(request).tag


def _gid(request: Request, unknown: type[Refusal]) -> str:
    found: str = request.path_params["gid"]
    if GID.fullmatch(found) is None:
        raise unknown
    return found


def _refuse_session(request: Request) -> None:
    """Raise NoSessions if a reader may have a session of the house, whose page shows them more than others."""
    if any(cookie(request.scope, session_cookie_name(https=https)) for https in (False, True)):
        raise NoSessions
