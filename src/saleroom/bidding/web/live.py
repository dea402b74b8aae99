"""The streams of live pages of lots: a lot's page, the cards of a list, and the hall's screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.auction import OVER
from saleroom.bidding.domain.errors import TakenDown, UnknownAuction
from saleroom.bidding.domain.views import AuctionView, with_whole_ties
from saleroom.bidding.service import catalogue, lot, reading
from saleroom.bidding.service.lookup import if_shown
from saleroom.bidding.service.lot import Story
from saleroom.bidding.service.reading import LotReader
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.live_contents import Board, Card, CardsPage, LotNews, LotPage, ScreenPage
from saleroom.bidding.web.lots import BIDS_SHOWN, lot_gid
from saleroom.bidding.web.story import mark_of, read_mark
from saleroom.kernel.errors import Busy, Fault, Invalid
from saleroom.kernel.identifiers import GID, EventId, parse_event_id
from saleroom.site.live import CACHED_MAX, Audiences, BoundedCache, Fragments, Pace, PageStream
from saleroom.site.site import Site, Viewer
from saleroom.storage.database import Transaction
from saleroom.storage.faults import DatabaseUnavailable

LOTS_MAX = 100
STORY_SECONDS = 5.0
"""How long a process keeps the remarks and questions of a lot, for all its followers."""


class LivePages:
    """The streams of the pages."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services
        self._boards: BoundedCache[str, Board] = BoundedCache()
        self._stories: BoundedCache[str, tuple[float, Story]] = BoundedCache()
        self._rewinds = 0
        self._fragments = Fragments(site.renderer)
        pace = Pace()
        self._lots = Audiences(services.feed, pace, LotNews, self._boards_of)
        self._lists = Audiences(services.feed, pace, LotNews, self._cards_of)

    async def lot(self, request: Request) -> Response:
        """GET /lots/{gid}/live?after=VERSION&head=HEAD&story=MARK: the changes of the lot's page after that version and mark.

        If the lot has another head of the ledger than the page, the stream begins with the lot as it is: after a failover
        another event may have that version. A page that comes back gets the lot in any case, as it may have shown more.
        Remarks and answers are no events: with the time, the stream asks whether there are new ones. Of a hidden lot a
        reader who may not see it learns only that. Raises TakenDown if it is over, too, as nothing follows.
        """
        gid = lot_gid(request)
        viewer, reader = await self._site.read(request, _reader, gid)
        if (reader is None or not reader.sees_hidden) and await self._is_gone(gid):
            raise TakenDown
        after = request.query_params.get("after", "")
        known = EventId(gid, int(after)) if after.isascii() and after.isdigit() and len(after) <= 9 else None
        resumed = _resumed(request, gid)
        head = request.query_params.get("head") if resumed is None else None
        page = LotPage(self._fragments, self._site.language(request), gid, viewer, reader, head)
        told = self._teller(request, gid, viewer)
        follower = await self._services.feed.follow(gid, resumed or known, self._site.session(request, viewer))
        stream = PageStream(follower, self._lots, page, told, told)
        if head is not None or resumed is not None:
            stream.renew()
            page.owe(gid, follower.origin.version)
        return stream

    def _teller(self, request: Request, gid: str, viewer: Viewer | None) -> Callable[[], Awaitable[str]]:
        """Return a function that returns the HTML of what was added to the lot's story since it was last called."""
        language, seen = self._site.language(request), read_mark(request.query_params.get("story", ""))

        async def told() -> str:
            nonlocal seen
            try:
                story = await self._story(gid)
            except (DatabaseUnavailable, Busy):
                return ""  # the next beat is soon enough
            except TakenDown:
                return ""  # the page has what its reader may see of it
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
            story = await self._services.shared_reads.ask(if_shown, gid, lot.story)
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
        viewer, interest = await self._site.read(request, catalogue.interest, gids)
        language = self._site.language(request)
        page = CardsPage(self._fragments, language, viewer, interest, gids, lists=lists)

        async def first() -> str:
            # A page that comes back may have missed a change of its list.
            page.stale = lists and "last-event-id" in request.headers
            return page.html(await self._cards_of(dict.fromkeys(gids, 0)))

        follower = await self._services.feed.follow(None, None, self._site.session(request, viewer))
        return PageStream(follower, self._lists, page, first)

    async def screen(self, request: Request) -> Response:
        """GET /lots/{gid}/screen/live: the lot on the hall's screen, at the beginning and whenever it changes.

        Raises UnknownAuction, or TakenDown as the screen itself. A screen that is open when the house hides its lot goes on.
        """
        gid = lot_gid(request)
        if (await self._services.auction_views.ask((gid, None))).hidden:
            raise TakenDown
        page = ScreenPage(self._fragments, self._site.language(request), gid)

        async def first() -> str:
            return page.html(await self._boards_of({gid: (await self._card(gid)).auction.version}))

        return PageStream(await self._services.feed.follow(gid, None), self._lots, page, first)

    async def _is_gone(self, gid: str) -> bool:
        """Return whether a lot is over, and hidden."""
        found = await self._services.auction_views.ask((gid, None))
        return found.hidden and _decoded(found.json).status in OVER

    async def _cards_of(self, due: Mapping[str, int]) -> dict[str, Card]:
        """Return lots as they are, without those that do not exist."""
        found = await asyncio.gather(*map(self._card, due), return_exceptions=True)
        cards: dict[str, Card] = {}
        for gid, card in zip(due, found, strict=True):
            if isinstance(card, Card):
                cards[gid] = card
            elif not isinstance(card, UnknownAuction):
                raise card
        return cards

    async def _boards_of(self, due: Mapping[str, int]) -> dict[str, Board]:
        """Return lots as they are, each at its version in `due` or later."""
        return {gid: await self._board(gid, version) for gid, version in due.items()}

    async def _card(self, gid: str) -> Card:
        found = await self._services.auction_views.ask((gid, None))
        return Card(_decoded(found.json), found.leader_id)

    async def _board(self, gid: str, version: int) -> Board:
        """Return the lot as it is, at `version` or later."""
        rewinds = self._services.feed.rewinds
        if self._rewinds != rewinds:
            # The database has lost the events that these were read from.
            self._rewinds = rewinds
            self._boards.clear()
        board = self._boards.get(gid)
        if board is not None and board.auction.version >= version:
            return board
        card = await self._card(gid)
        bids, numbers = await self._services.shared_reads.ask(reading.board, gid, BIDS_SHOWN + 1)
        leader = card.auction.current_bidder
        if leader is not None and card.leader_id is not None:
            numbers[leader] = card.leader_id
        board = Board(card.auction, with_whole_ties(bids, BIDS_SHOWN), numbers)
        return self._boards.keep(gid, board) if rewinds == self._services.feed.rewinds else board


@lru_cache(CACHED_MAX)
def _decoded(json: bytes) -> AuctionView:
    return msgspec.json.decode(json, type=AuctionView)


def _reader(tx: Transaction, token: str | None, gid: str) -> LotReader | None:
    """Return what the lot has to do with its reader. Raises UnknownAuction."""
    return reading.reader(tx, token, gid)


def _resumed(request: Request, gid: str) -> EventId | None:
    """Return the last event that the page has seen, as its browser says when it comes back. Raises Invalid."""
    sent = request.headers.get("last-event-id")
    found = parse_event_id(sent) if sent else None
    if isinstance(found, EventId) and found.gid != gid:
        found = Fault("event_id", "must be the id of an event of this lot")
    if isinstance(found, Fault):
        raise Invalid({"Last-Event-ID": [found]})
    return found
