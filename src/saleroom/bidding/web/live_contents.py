"""The contents of live pages of lots: what events change on them, and their HTML as the lots are now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from saleroom.bidding.domain.views import AuctionView, BidView, with_whole_ties
from saleroom.bidding.service.catalogue import Interest
from saleroom.bidding.service.reading import LotReader
from saleroom.bidding.web.lots import card_reader, role_of, tied
from saleroom.kernel.identifiers import BEGINNING, EventId
from saleroom.log.store import LoggedEvent
from saleroom.site.language import Language
from saleroom.site.live import Fragments, LivePage
from saleroom.site.site import Viewer

BIDS_ON_SCREEN = 5
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
        self,
        fragments: Fragments,
        language: Language,
        gid: str,
        viewer: Viewer | None,
        reader: LotReader | None,
        shown: str | None = None,
    ) -> None:
        """`shown` is the head of the ledger that the page shows; None if it is not known."""
        super().__init__()
        self._fragments, self._language = fragments, language
        self._gid, self._viewer, self._reader = gid, viewer, reader
        self._shown = shown
        self._kinds: set[str] = set()
        self._renews = False

    def note(self, news: LotNews) -> bool:
        """Note the kinds of changes, and whether the reader has bid."""
        self.owe(self._gid, news.versions[self._gid])
        self._kinds |= news.kinds[self._gid]
        reader = self._reader
        if reader is not None and (self._gid, reader.known_as) in news.amounts:
            self._reader = structs.replace(reader, has_bid=True)
        return True

    def renew(self) -> None:
        """Have the page show the lot as it is, unless it does."""
        self.owe(self._gid, 0)
        self._renews = True

    def html(self, states: Mapping[str, Board]) -> str:
        """Return the panel, the standing, the history and the news, as this reader sees them."""
        board, viewer, reader = states[self._gid], self._viewer, self._seen_on(states[self._gid])
        known_as = None if reader is None else reader.known_as
        kinds, self._kinds = self._kinds, set()
        renews, self._renews = self._renews, False
        shown, self._shown = self._shown, board.auction.head
        if not kinds and shown == self._shown:
            return ""
        changed = bool(kinds & {"auction.amended", "photos.arranged"})
        flags = {
            "role": role_of(board.auction, viewer, known_as, has_bid=reader is not None and reader.has_bid),
            "tied": tied(board.auction, known_as, board.bids),
            "known": viewer is not None,
            "extended": "auction.extended" in kinds,
            # The bid box brings the new description and photos with it.
            "box": changed or bool(kinds & _BOX_CHANGES) or (renews and shown is not None),
            "changed": changed,
            "voided": "bid.voided" in kinds,
            "renewed": renews,
            "gone": bool(board.auction.hidden) and not (reader is not None and reader.sees_hidden),
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
                    reader = self._reader = structs.replace(reader, known_as=name, has_bid=True)
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

    def renew(self) -> None:
        """Have the screen show the lot as it is."""
        self.owe(self._gid, 0)

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

    def renew(self) -> None:
        """Have the page show all cards as they are. All readers would ask for their lists at once, so they do not."""
        for gid in self._gids:
            self.owe(gid, 0)

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
        key = (view.gid, view.head, view.hidden, reader)  # a lot that is over is hidden without an event
        return self._fragments.render(self._language, "parts/card_state.html", key, context)


class _Data(Struct, frozen=True):
    bidder: str | None = None
    amount: str | None = None


class _EventSummary(Struct, frozen=True):
    """The members of an event that a stream needs."""

    type: str
    data: _Data
