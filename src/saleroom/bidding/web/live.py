"""Pages that change by themselves: the log over server-sent events, as HTML that htmx puts in its place.

Each event makes a reader's page what it would be if it were opened now, so that it never matters how many were missed or
taken together. What all readers of a kind see is made once for them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

from saleroom.accounts.domain.accounts import Account
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.domain.views import AuctionView, BidView
from saleroom.bidding.service import reading
from saleroom.bidding.services import BiddingServices
from saleroom.feed.feed import Follower
from saleroom.feed.streams import EventStream, send_more
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.identifiers import GID, EventId, parse_event_id
from saleroom.kernel.instants import instant
from saleroom.log.store import LoggedEvent
from saleroom.site.language import Language
from saleroom.site.site import Site, lot_gid
from saleroom.storage.database import Transaction

BIDS_SHOWN = 20
BIDS_ON_SCREEN = 5
LOTS_MAX = 100
PAUSE_SECONDS = 0.2
"""After each change that is shown: what happens meanwhile is shown together."""
KEPT_MAX = 2048
OVER = b"event: over\ndata: over\n\n"
"""Tells a page that nothing more will come; it closes the stream."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Role(StrEnum):
    """Who somebody is to a lot, as far as its page tells them apart."""

    VISITOR = "visitor"
    LEADING = "leading"
    OUTBID = "outbid"
    SELLER = "seller"


class Board(Struct, frozen=True):
    """A lot as anyone sees it, with its newest bids."""

    auction: AuctionView
    bids: list[BidView]


class _Kept(OrderedDict[K, V]):
    """What was made last, as much as `KEPT_MAX`."""

    def keep(self, key: K, value: V) -> V:
        self[key] = value
        if len(self) > KEPT_MAX:
            self.popitem(last=False)
        return value


class Live:
    """The streams of the pages."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services
        self._boards: _Kept[str, Board] = _Kept()
        self._rewinds = 0
        self._made: _Kept[Hashable, str] = _Kept()

    async def lot(self, request: Request) -> Response:
        """GET /lots/{gid}/live?after=VERSION: the lot's page from behind that version on, for whoever is logged in."""
        gid = lot_gid(request)
        viewer, has_bid = await self._site.read(request, _has_bid, gid)
        language = self._site.renderer.language(request)

        async def told(events: Sequence[LoggedEvent]) -> str:
            nonlocal has_bid
            said = [_said(event) for event in events]
            has_bid = has_bid or (viewer is not None and viewer.username in {one.bidder for one in said})
            board = await self._board(gid, events[-1].version)
            role = role_of(board.auction, viewer, has_bid=has_bid)
            kinds = {one.type for one in said}
            extended = "auction.extended" in kinds
            changed = bool(kinds & {"auction.amended", "photos.arranged"})
            # The box brings what is offered with it.
            box = changed or bool(kinds & {"auction.opened", "auction.closed", "auction.cancelled"})
            seen = {"role": role, "extended": extended, "box": box, "changed": changed}
            context = {"a": board.auction, "bids": board.bids, **seen}
            key = (gid, board.auction.head, *seen.values())
            return self._fragment(language, "parts/lot_live.html", key, context)

        after = request.query_params.get("after", "")
        known = EventId(gid, int(after)) if after.isascii() and after.isdigit() and len(after) <= 9 else None
        return await self._stream(request, gid, _resumed(request, gid) or known, told)

    async def cards(self, request: Request) -> Response:
        """GET /live?lots=GID,GID: the cards of these lots, at the beginning and whenever one of them changes."""
        gids = request.query_params.get("lots", "").split(",")
        if len(gids) > LOTS_MAX or not all(GID.fullmatch(gid) for gid in gids):
            raise Invalid.one("lots", "lots", f"must be the gids of up to {LOTS_MAX} lots, separated by commas")
        wanted = frozenset(gids)
        language = self._site.renderer.language(request)

        async def card(gid: str) -> str:
            try:
                board = await self._view(gid)
            except UnknownAuction:
                return ""
            key = (gid, board.head)
            return self._fragment(language, "parts/card_state.html", key, {"a": board, "oob": True})

        async def told(events: Sequence[LoggedEvent]) -> str:
            changed = dict.fromkeys(event.gid for event in events if event.gid in wanted)
            return "".join([await card(gid) for gid in changed])

        async def opening() -> str:
            return "".join([await card(gid) for gid in gids])

        return await self._stream(request, None, None, told, opening)

    async def screen(self, request: Request) -> Response:
        """GET /lots/{gid}/screen/live: the lot on the hall's screen, at the beginning and whenever it changes."""
        gid = lot_gid(request)
        language = self._site.renderer.language(request)

        async def shown(board: Board, *, extended: bool) -> str:
            bids = board.bids[:BIDS_ON_SCREEN]
            context = {"a": board.auction, "bids": bids, "oob": True, "extended": extended}
            key = (gid, board.auction.head, extended)
            return self._fragment(language, "parts/screen_state.html", key, context)

        async def told(events: Sequence[LoggedEvent]) -> str:
            board = await self._board(gid, events[-1].version)
            return await shown(board, extended=any(_said(event).type == "auction.extended" for event in events))

        async def opening() -> str:
            return await shown(await self._board(gid, (await self._view(gid)).version), extended=False)

        return await self._stream(request, gid, None, told, opening)

    async def _stream(
        self,
        request: Request,
        gid: str | None,
        after: EventId | None,
        told: Callable[[Sequence[LoggedEvent]], Awaitable[str]],
        opening: Callable[[], Awaitable[str]] | None = None,
    ) -> Response:
        follower = await self._services.feed.follow(gid, after)
        return PageStream(follower, self._services.feed.now, told, opening)

    async def _view(self, gid: str) -> AuctionView:
        return _decoded((await self._services.auction_views.ask((gid, None))).json)

    async def _board(self, gid: str, version: int) -> Board:
        """Return the lot as it is, at `version` or later."""
        if self._rewinds != self._services.feed.rewinds:
            # The database has lost what these were read from.
            self._rewinds = self._services.feed.rewinds
            self._boards.clear()
        found = self._boards.get(gid)
        if found is not None and found.auction.version >= version:
            return found
        view = await self._view(gid)
        bids, _ = await self._services.shared_reads.ask((reading.bid_history, gid, None, BIDS_SHOWN, None))
        return self._boards.keep(gid, Board(view, bids))

    def _fragment(self, language: Language, template: str, key: Hashable, context: dict[str, Any]) -> str:
        whole = (template, language.tag, str(language.locale), key)
        made = self._made.get(whole)
        if made is None:
            made = self._made.keep(whole, self._site.renderer.fragment(language, template, context))
        return made


class PageStream(EventStream):
    """A stream of HTML."""

    def __init__(
        self,
        follower: Follower,
        clock: Callable[[], datetime],
        told: Callable[[Sequence[LoggedEvent]], Awaitable[str]],
        opening: Callable[[], Awaitable[str]] | None,
    ) -> None:
        super().__init__(follower, clock)
        self._told = told
        self._opening = opening
        self._over = follower.ended

    async def opening(self, origin: EventId) -> bytes:
        """Return what the page shows at the beginning; a page that was over before hears so at once.

        The event of the time has the id to go on after, so that a page that is cut off before anything happens misses nothing.
        """
        html = "" if self._opening is None else await self._opening()
        return f"id: {origin}\n".encode() + self.time() + _message(html) + (OVER if self._over else b"")

    async def tell(self, events: Sequence[LoggedEvent], send: Send) -> None:
        """Send what `events` make of the page."""
        if not events:
            return
        html = await self._told(events)
        last = events[-1]
        text = _message(html, f"{last.gid}/{last.version}") if html else b""
        if last.last:
            text += OVER
        if text:
            await send_more(send, text)
            await asyncio.sleep(PAUSE_SECONDS)

    def time(self) -> bytes:
        """Return what the house's clock says, as an event, since htmx passes comments over."""
        return f"event: time\ndata: {instant(self.clock())}\n\n".encode()


def role_of(a: AuctionView, viewer: Account | None, *, has_bid: bool) -> Role:
    """Return who `viewer` is to a lot."""
    if viewer is None:
        return Role.VISITOR
    if viewer.username == a.author:
        return Role.SELLER
    if viewer.username == a.current_bidder:
        return Role.LEADING
    return Role.OUTBID if has_bid else Role.VISITOR


class _Data(Struct, frozen=True):
    bidder: str | None = None


class _Said(Struct, frozen=True):
    """What a stream wants to know of an event."""

    type: str
    data: _Data

    @property
    def bidder(self) -> str | None:
        return self.data.bidder


@lru_cache(KEPT_MAX)
def _said(event: LoggedEvent) -> _Said:
    return msgspec.json.decode(event.payload, type=_Said)


@lru_cache(KEPT_MAX)
def _decoded(json: bytes) -> AuctionView:
    return msgspec.json.decode(json, type=AuctionView)


def _message(html: str, event_id: str | None = None) -> bytes:
    """Return HTML as one message of a stream, which `event_id` is the place of; nothing where there is nothing to say."""
    if not html:
        return b""
    head = "" if event_id is None else f"id: {event_id}\n"
    return (head + "".join(f"data: {line}\n" for line in html.splitlines() if line.strip()) + "\n").encode()


def _has_bid(tx: Transaction, token: str | None, gid: str) -> bool:
    """Return whether the reader has bid on the lot. Raises UnknownAuction."""
    return reading.has_bid(tx, token, gid)


def _resumed(request: Request, gid: str) -> EventId | None:
    """Return the event that a page saw last, as its browser says when it comes back. Raises Invalid."""
    sent = request.headers.get("last-event-id")
    found = parse_event_id(sent) if sent else None
    if isinstance(found, EventId) and found.gid != gid:
        found = Fault("event_id", "must be the id of an event of this lot")
    if isinstance(found, Fault):
        raise Invalid({"Last-Event-ID": [found]})
    return found
