"""The live parts of the pages of lots: a lot's page, the cards of a list, and the hall's screen."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.domain.views import AuctionView, BidView, with_whole_ties
from saleroom.bidding.service import catalogue, lot, reading
from saleroom.bidding.service.lot import Story
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.lots import BIDS_SHOWN, card_reader, lot_gid, role_of, tied
from saleroom.bidding.web.story import mark_of, read_mark
from saleroom.kernel.errors import Busy, Fault, Invalid
from saleroom.kernel.identifiers import GID, EventId, parse_event_id
from saleroom.log.store import LoggedEvent
from saleroom.site.live import CACHED_MAX, BoundedCache, Fragments, PageStream
from saleroom.site.site import Site, Viewer
from saleroom.storage.database import Transaction
from saleroom.storage.faults import DatabaseUnavailable

BIDS_ON_SCREEN = 5
LOTS_MAX = 100
STORY_SECONDS = 5.0
"""How long a process keeps what is said about a lot, for all who follow it."""
LIST_CHANGES = frozenset(
    {
        "auction.amended",
        "auction.cancelled",
        "auction.closed",
        "auction.created",
        "auction.opened",
        "photos.arranged",
    }
)
"""The events after which a list may have other lots, or other names and photos of them."""
LIST_NEWS = '<i id="list-news" hidden hx-swap-oob="true"></i>'
"""The note on a page of a list that its list may have changed."""


class Board(Struct, frozen=True):
    """A lot as anyone sees it, with its newest bids."""

    auction: AuctionView
    bids: list[BidView]


class LivePages:
    """The streams of the pages."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services
        self._boards: BoundedCache[str, Board] = BoundedCache()
        self._stories: BoundedCache[str, tuple[float, Story]] = BoundedCache()
        self._rewinds = 0
        self._fragments = Fragments(site.renderer)

    async def lot(self, request: Request) -> Response:
        """GET /lots/{gid}/live?after=VERSION&story=MARK: the changes of the lot's page after that version and mark.

        Remarks and answers are no events: with the time, the stream asks whether there are new ones.
        """
        gid = lot_gid(request)
        viewer, has_bid = await self._site.read(request, _has_bid, gid)
        language = self._site.language(request)

        async def render(events: Sequence[LoggedEvent]) -> str:
            nonlocal has_bid
            summaries = [_summary(event) for event in events]
            has_bid = has_bid or (viewer is not None and viewer.username in {one.data.bidder for one in summaries})
            board = await self._board(gid, events[-1].version)
            role = role_of(board.auction, viewer, has_bid=has_bid)
            kinds = {one.type for one in summaries}
            extended = "auction.extended" in kinds
            changed = bool(kinds & {"auction.amended", "photos.arranged"})
            # The bid box brings the new description and photos with it.
            box = changed or bool(kinds & {"auction.opened", "auction.closed", "auction.cancelled"})
            flags = {
                "role": role,
                "tied": tied(board.auction, viewer, board.bids),
                "known": viewer is not None,
                "extended": extended,
                "box": box,
                "changed": changed,
            }
            key = (gid, board.auction.head, *flags.values())
            context = {"a": board.auction, "bids": board.bids, **flags}
            return self._fragments.render(language, "parts/lot_live.html", key, context)

        after = request.query_params.get("after", "")
        known = EventId(gid, int(after)) if after.isascii() and after.isdigit() and len(after) <= 9 else None
        told = self._teller(request, gid, viewer)
        follower = await self._services.feed.follow(gid, _resumed(request, gid) or known)
        return PageStream(follower, self._services.feed.now, render, told, told)

    def _teller(self, request: Request, gid: str, viewer: Viewer | None) -> Callable[[], Awaitable[str]]:
        """Return a function that returns the HTML of what was added to the lot's story since it was last called."""
        language, seen = self._site.language(request), read_mark(request.query_params.get("story", ""))

        async def told() -> str:
            nonlocal seen
            try:
                story = await self._story(gid)
            except (DatabaseUnavailable, Busy):
                return ""  # the next beat is soon enough
            own = viewer is not None and viewer.username == story.author
            mark, before = mark_of(story.remarks, story.questions, own=own), seen
            if mark == before:
                return ""
            seen = mark
            flags = {
                "remarked": not own and mark.remarks > before.remarks,
                "answered": not own and mark.answers > before.answers,
                "asked": mark.asked if mark.asked > before.asked else 0,
            }
            context = {"gid": gid, "story": story, **flags}
            # The texts are in the key: a database that has lost some may get others.
            key = (gid, *story.remarks, *story.questions, *flags.values())
            return self._fragments.render(language, "parts/lot_story.html", key, context)

        return told

    async def _story(self, gid: str) -> Story:
        """Return the lot's story as it was not long ago: it is read once for all who follow the lot."""
        until, story = self._stories.get(gid, (0.0, None))
        if story is None or time.monotonic() > until:
            story = await self._services.shared_reads.ask(lot.story, gid)
            self._stories.keep(gid, (time.monotonic() + STORY_SECONDS, story))
        return story

    async def cards(self, request: Request) -> Response:
        """GET /live?lots=GID,GID: the cards of these lots, at the beginning and whenever one of them changes.

        With `list=1` also a note whenever a list of lots may have changed, which the page then asks for.
        """
        sent, lists = request.query_params.get("lots", ""), request.query_params.get("list") == "1"
        gids = sent.split(",") if sent or not lists else []
        if len(gids) > LOTS_MAX or not all(GID.fullmatch(gid) for gid in gids):
            raise Invalid.one("lots", "lots", f"must be the gids of up to {LOTS_MAX} lots, separated by commas")
        wanted = frozenset(gids)
        viewer, marks = await self._site.read(request, catalogue.marks, gids)
        amounts = dict(marks.amounts)
        language = self._site.language(request)

        async def card(gid: str) -> str:
            try:
                view = await self._view(gid)
            except UnknownAuction:
                return ""
            reader = card_reader(view, viewer, amounts.get(gid))
            context = {"a": view, "reader": reader, "oob": True}
            return self._fragments.render(language, "parts/card_state.html", (gid, view.head, reader), context)

        async def render(events: Sequence[LoggedEvent]) -> str:
            seen = [event for event in events if event.gid in wanted]
            if viewer is not None:
                bids = [(event.gid, _summary(event).data) for event in seen]
                amounts.update((gid, bid.amount) for gid, bid in bids if bid.bidder == viewer.username and bid.amount)
            news = lists and any(_summary(event).type in LIST_CHANGES for event in events)
            return "".join([await card(gid) for gid in dict.fromkeys(event.gid for event in seen)]) + LIST_NEWS * news

        async def first() -> str:
            # A page that comes back may have missed a change of its list.
            back = lists and "last-event-id" in request.headers
            return "".join([await card(gid) for gid in gids]) + LIST_NEWS * back

        return PageStream(await self._services.feed.follow(None, None), self._services.feed.now, render, first)

    async def screen(self, request: Request) -> Response:
        """GET /lots/{gid}/screen/live: the lot on the hall's screen, at the beginning and whenever it changes."""
        gid = lot_gid(request)
        language = self._site.language(request)

        async def state(board: Board, *, extended: bool) -> str:
            bids = with_whole_ties(board.bids, BIDS_ON_SCREEN)
            context = {"a": board.auction, "bids": bids, "oob": True, "extended": extended}
            key = (gid, board.auction.head, extended)
            return self._fragments.render(language, "parts/screen_state.html", key, context)

        async def render(events: Sequence[LoggedEvent]) -> str:
            board = await self._board(gid, events[-1].version)
            return await state(board, extended=any(_summary(event).type == "auction.extended" for event in events))

        async def first() -> str:
            return await state(await self._board(gid, (await self._view(gid)).version), extended=False)

        return PageStream(await self._services.feed.follow(gid, None), self._services.feed.now, render, first)

    async def _view(self, gid: str) -> AuctionView:
        return _decoded((await self._services.auction_views.ask((gid, None))).json)

    async def _board(self, gid: str, version: int) -> Board:
        """Return the lot as it is, at `version` or later."""
        if self._rewinds != self._services.feed.rewinds:
            # The database has lost the events that these were read from.
            self._rewinds = self._services.feed.rewinds
            self._boards.clear()
        board = self._boards.get(gid)
        if board is not None and board.auction.version >= version:
            return board
        view = await self._view(gid)
        bids, _ = await self._services.shared_reads.ask(reading.bid_history, gid, None, BIDS_SHOWN + 1, None)
        return self._boards.keep(gid, Board(view, with_whole_ties(bids, BIDS_SHOWN)))


class _Data(Struct, frozen=True):
    bidder: str | None = None
    amount: str | None = None


class _EventSummary(Struct, frozen=True):
    """The members of an event that a stream needs."""

    type: str
    data: _Data


@lru_cache(CACHED_MAX)
def _summary(event: LoggedEvent) -> _EventSummary:
    return msgspec.json.decode(event.payload, type=_EventSummary)


@lru_cache(CACHED_MAX)
def _decoded(json: bytes) -> AuctionView:
    return msgspec.json.decode(json, type=AuctionView)


def _has_bid(tx: Transaction, token: str | None, gid: str) -> bool:
    """Return whether the reader has bid on the lot. Raises UnknownAuction."""
    return reading.has_bid(tx, token, gid)


def _resumed(request: Request, gid: str) -> EventId | None:
    """Return the last event that the page has seen, as its browser says when it comes back. Raises Invalid."""
    sent = request.headers.get("last-event-id")
    found = parse_event_id(sent) if sent else None
    if isinstance(found, EventId) and found.gid != gid:
        found = Fault("event_id", "must be the id of an event of this lot")
    if isinstance(found, Fault):
        raise Invalid({"Last-Event-ID": [found]})
    return found
