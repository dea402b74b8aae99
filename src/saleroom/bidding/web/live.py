"""The live parts of the pages of lots: a lot's page, the cards of a list, and the hall's screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.domain.views import AuctionView, BidView, with_whole_ties
from saleroom.bidding.service import catalogue, lot, reading
from saleroom.bidding.service.catalogue import Interest
from saleroom.bidding.service.lot import Story
from saleroom.bidding.service.reading import LotReader
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.lots import BIDS_SHOWN, card_reader, lot_gid, role_of, tied
from saleroom.bidding.web.story import mark_of, read_mark
from saleroom.kernel.errors import Busy, Fault, Invalid
from saleroom.kernel.identifiers import BEGINNING, GID, EventId, parse_event_id
from saleroom.log.store import LoggedEvent
from saleroom.site.language import Language
from saleroom.site.live import CACHED_MAX, Audiences, BoundedCache, Fragments, LivePage, Pace, PageStream
from saleroom.site.site import Site, Viewer
from saleroom.storage.database import Transaction
from saleroom.storage.faults import DatabaseUnavailable

BIDS_ON_SCREEN = 5
LOTS_MAX = 100
STORY_SECONDS = 5.0
"""How long a process keeps the remarks and questions of a lot, for all its followers."""
LIST_CHANGES = frozenset(
    {
        "auction.amended",
        "auction.cancelled",
        "auction.closed",
        "auction.created",
        "auction.hidden",
        "auction.opened",
        "auction.shown",
        "photos.arranged",
    }
)
"""The events after which a list may have other lots, or other names and photos of them."""
_BOX_CHANGES = {
    "act.undone",
    "auction.called",
    "auction.cancelled",
    "auction.closed",
    "auction.decided",
    "auction.hidden",
    "auction.opened",
    "auction.paused",
    "auction.reopened",
    "auction.resumed",
    "auction.shown",
    "auction.skipped",
    "bid.retracted",
    "bid.voided",
}
LIST_NEWS = '<i id="list-news" hidden hx-swap-oob="true"></i>'
"""The note on a page of a list that its list may have changed."""


class Board(Struct, frozen=True):
    """A lot as anyone sees it, with its newest bids."""

    auction: AuctionView
    bids: list[BidView]
    numbers: Mapping[str, int]
    """The numbers of its leader and these bidders by name: lots of a sale need not show usernames."""


class Card(Struct, frozen=True):
    """A lot as anyone sees it, with the number of the user who leads."""

    auction: AuctionView
    leader_id: int | None


class LotNews:
    """What some events change on pages of lots."""

    def __init__(self) -> None:
        self.last, self.over = BEGINNING, False
        self.lists = False
        """Whether a list of lots may have changed."""
        self.versions: dict[str, int] = {}
        """The lots that have changed, with their versions."""
        self.kinds: dict[str, set[str]] = {}
        """The types of their events."""
        self.amounts: dict[tuple[str, str], str] = {}
        """The amount of the last bid by lot and bidder."""

    def add(self, events: Sequence[LoggedEvent]) -> None:
        """Take in later events."""
        for event in events:
            summary, gid = msgspec.json.decode(event.payload, type=_EventSummary), event.gid
            self.versions[gid] = event.version
            self.kinds.setdefault(gid, set()).add(summary.type)
            if summary.type == "bid.placed" and summary.data.bidder and summary.data.amount:
                self.amounts[gid, summary.data.bidder] = summary.data.amount
            self.lists = self.lists or summary.type in LIST_CHANGES
            self.over = self.over or event.last
        self.last = EventId(events[-1].gid, events[-1].version)


class LotPage(LivePage[LotNews, Board]):
    """The page of one lot, open before one reader."""

    def __init__(
        self, fragments: Fragments, language: Language, gid: str, viewer: Viewer | None, reader: LotReader | None
    ) -> None:
        super().__init__()
        self._fragments, self._language = fragments, language
        self._gid, self._viewer, self._reader = gid, viewer, reader
        self._kinds: set[str] = set()

    def note(self, news: LotNews) -> bool:
        """Note the kinds of changes, and whether the reader has bid."""
        self.owe(self._gid, news.versions[self._gid])
        self._kinds |= news.kinds[self._gid]
        reader = self._reader
        if reader is not None and (self._gid, reader.known_as) in news.amounts:
            self._reader = structs.replace(reader, has_bid=True)
        return True

    def html(self, states: Mapping[str, Board]) -> str:
        """Return the panel, the standing, the history and the news, as this reader sees them."""
        board, viewer, reader = states[self._gid], self._viewer, self._seen_on(states[self._gid])
        known_as = None if reader is None else reader.known_as
        kinds, self._kinds = self._kinds, set()
        changed = bool(kinds & {"auction.amended", "photos.arranged"})
        flags = {
            "role": role_of(board.auction, viewer, known_as, has_bid=reader is not None and reader.has_bid),
            "tied": tied(board.auction, known_as, board.bids),
            "known": viewer is not None,
            "extended": "auction.extended" in kinds,
            # The bid box brings the new description and photos with it.
            "box": changed or bool(kinds & _BOX_CHANGES),
            "changed": changed,
            "voided": "bid.voided" in kinds,
        }
        key = (self._gid, board.auction.head, *flags.values())
        context = {"a": board.auction, "bids": board.bids, **flags}
        return self._fragments.render(self._language, "parts/lot_live.html", key, context)

    def _seen_on(self, board: Board) -> LotReader | None:
        """Return the reader, who may have got another name in the sale, and have bid, since the page was opened."""
        reader = self._reader
        if reader is not None and board.numbers.get(reader.known_as) != reader.id:
            for name, number in board.numbers.items():
                if number == reader.id:
                    reader = self._reader = LotReader(number, name, has_bid=True)
        return reader


class ScreenPage(LivePage[LotNews, Board]):
    """The hall's screen."""

    def __init__(self, fragments: Fragments, language: Language, gid: str) -> None:
        super().__init__()
        self._fragments, self._language, self._gid = fragments, language, gid
        self._extended = False

    def note(self, news: LotNews) -> bool:
        """Note whether the end has moved."""
        self.owe(self._gid, news.versions[self._gid])
        self._extended = self._extended or "auction.extended" in news.kinds[self._gid]
        return True

    def html(self, states: Mapping[str, Board]) -> str:
        """Return the whole state of the screen."""
        board = states[self._gid]
        extended, self._extended = self._extended, False
        bids = with_whole_ties(board.bids, BIDS_ON_SCREEN)
        context = {"a": board.auction, "bids": bids, "oob": True, "extended": extended}
        key = (self._gid, board.auction.head, extended)
        return self._fragments.render(self._language, "parts/screen_state.html", key, context)


class CardsPage(LivePage[LotNews, Card]):
    """The cards of some lots, before one reader; with `lists` on a page whose list follows the house."""

    def __init__(
        self,
        fragments: Fragments,
        language: Language,
        viewer: Viewer | None,
        interest: Interest,
        gids: Sequence[str],
        *,
        lists: bool,
    ) -> None:
        super().__init__()
        self._fragments, self._language, self._viewer = fragments, language, viewer
        self._amounts, self._names, self._user_id = dict(interest.amounts), dict(interest.names), interest.user_id
        self._gids = frozenset(gids)
        self._lists = lists
        self.stale = False
        """Whether the list may have changed."""

    def note(self, news: LotNews) -> bool:
        """Note which cards have changed, and the reader's own bids on them."""
        self.stale = self.stale or (self._lists and news.lists)
        for gid in news.versions.keys() & self._gids:
            self.owe(gid, news.versions[gid])
            amount = news.amounts.get((gid, self._known_as(gid) or ""))
            if amount is not None:
                self._amounts[gid] = amount
        return self.stale or bool(self.due)

    def html(self, states: Mapping[str, Card]) -> str:
        """Return these cards, and the note that the list may have changed."""
        stale, self.stale = self.stale, False
        return "".join(self._card(card) for card in states.values()) + LIST_NEWS * stale

    def _known_as(self, gid: str) -> str | None:
        return None if self._viewer is None else self._names.get(gid, self._viewer.username)

    def _card(self, card: Card) -> str:
        view = card.auction
        if view.current_bidder is not None and card.leader_id is not None and card.leader_id == self._user_id:
            # The reader may have got this name in the sale since the page was opened.
            self._names[view.gid] = view.current_bidder
            self._amounts.setdefault(view.gid, view.current_bid or "")
        reader = card_reader(view, self._viewer, self._known_as(view.gid), self._amounts.get(view.gid))
        context = {"a": view, "reader": reader, "oob": True}
        return self._fragments.render(self._language, "parts/card_state.html", (view.gid, view.head, reader), context)


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
        """GET /lots/{gid}/live?after=VERSION&story=MARK: the changes of the lot's page after that version and mark.

        Remarks and answers are no events: with the time, the stream asks whether there are new ones.
        """
        gid = lot_gid(request)
        viewer, reader = await self._site.read(request, _reader, gid)
        after = request.query_params.get("after", "")
        known = EventId(gid, int(after)) if after.isascii() and after.isdigit() and len(after) <= 9 else None
        page = LotPage(self._fragments, self._site.language(request), gid, viewer, reader)
        told = self._teller(request, gid, viewer)
        follower = await self._services.feed.follow(gid, _resumed(request, gid) or known)
        return PageStream(follower, self._lots, page, told, told)

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
        viewer, interest = await self._site.read(request, catalogue.interest, gids)
        language = self._site.language(request)
        page = CardsPage(self._fragments, language, viewer, interest, gids, lists=lists)

        async def first() -> str:
            # A page that comes back may have missed a change of its list.
            page.stale = lists and "last-event-id" in request.headers
            return page.html(await self._cards_of(dict.fromkeys(gids, 0)))

        return PageStream(await self._services.feed.follow(None, None), self._lists, page, first)

    async def screen(self, request: Request) -> Response:
        """GET /lots/{gid}/screen/live: the lot on the hall's screen, at the beginning and whenever it changes."""
        gid = lot_gid(request)
        page = ScreenPage(self._fragments, self._site.language(request), gid)

        async def first() -> str:
            return page.html(await self._boards_of({gid: (await self._card(gid)).auction.version}))

        return PageStream(await self._services.feed.follow(gid, None), self._lots, page, first)

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
        if self._rewinds != self._services.feed.rewinds:
            # The database has lost the events that these were read from.
            self._rewinds = self._services.feed.rewinds
            self._boards.clear()
        board = self._boards.get(gid)
        if board is not None and board.auction.version >= version:
            return board
        card = await self._card(gid)
        bids, numbers = await self._services.shared_reads.ask(reading.board, gid, BIDS_SHOWN + 1)
        leader = card.auction.current_bidder
        if leader is not None and card.leader_id is not None:
            numbers[leader] = card.leader_id
        return self._boards.keep(gid, Board(card.auction, with_whole_ties(bids, BIDS_SHOWN), numbers))


class _Data(Struct, frozen=True):
    bidder: str | None = None
    amount: str | None = None


class _EventSummary(Struct, frozen=True):
    """The members of an event that a stream needs."""

    type: str
    data: _Data


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
