"""Reading: auctions, lists of them, the history of bids, and the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct, structs

from saleroom.accounts.domain.accounts import Account, Holder
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate, holder_with, token_digest
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.domain.events import AuctionAmended, AuctionCreated, Outcome, PhotosArranged, Terms
from saleroom.bidding.domain.preconditions import changes
from saleroom.bidding.domain.views import AuctionView, BidView, auction_view, with_whole_ties
from saleroom.bidding.service.admission import known_as
from saleroom.bidding.service.lookup import get_one, moderates, refuse_unless_seen, sees, sees_hidden, view_for
from saleroom.bidding.storage import auctions, bids, event_log, listing, mine
from saleroom.bidding.storage.archive import ArchiveMissing
from saleroom.bidding.storage.listing import Filter, ListPlace, Sort
from saleroom.kernel.errors import Change, Refusal
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.kernel.page import Page, page_of
from saleroom.storage.database import Transaction, brief, ranked
from saleroom.storage.turns import Rank

R = TypeVar("R")

SEQUENCES_BACK = 1_000
"""A page of the history has sequences if it begins at most this many bids back: counting them takes 1 ms for a thousand."""

_encode = msgspec.json.Encoder().encode


class Standing(StrEnum):
    """A bidder's position in an auction."""

    LEADING = "leading"
    OUTBID = "outbid"
    WON = "won"
    LOST = "lost"
    VOIDED = "voided"
    """All bids of the bidder were voided."""


class MyBid(Struct, frozen=True):
    """An auction with a bid of the user, and the user's position in it."""

    auction: AuctionView
    standing: Standing


class LotReader(Struct, frozen=True):
    """A user as an auction knows them: the name by which it shows their bids, and whether a bid of theirs stands.

    `sees_hidden` is whether they see it also while the house hides it.
    """

    id: int
    known_as: str
    has_bid: bool
    sees_hidden: bool = False


class AuctionJson(Struct, frozen=True):
    """An auction's JSON for its reader; `tag` is the same for the same JSON, and differs for any other.

    `hidden`: the house hides the auction from this reader, and the JSON is what all others may still know of it.
    """

    json: bytes
    tag: str
    hidden: bool = False
    leader_id: int | None = None
    """The number of the user who leads, which is not public."""


@ranked(Rank.HOUSE)
@brief
def shown(tx: Transaction, asked: Sequence[tuple[str, str | None]]) -> list[AuctionJson | Exception]:
    """Return auctions by gid as the holder of a token may see them, or without a token as anyone may.

    UnknownAuction stands for an auction that does not exist, Unauthenticated for a dead token.
    """
    digests = {token: token_digest(token) for _, token in asked if token is not None}
    viewers = accounts.holders_by_token(tx, digests.values(), tx.now()) if digests else {}
    found = auctions.get_many(tx, (gid for gid, _ in asked))
    return [_shown(tx, found.get(gid), token, viewers.get(digests.get(token or "", ""))) for gid, token in asked]


def _shown(tx: Transaction, one: Auction | None, token: str | None, viewer: Holder | None) -> AuctionJson | Exception:
    if token is not None:
        try:
            holder_with(viewer, Right.READ)
        except Refusal as refusal:
            return refusal
    if one is None:
        return UnknownAuction()
    own = viewer is not None and viewer.id == one.author.id
    if own and _author_sees_more(one):
        return for_author(one)
    if one.is_hidden and viewer is not None and sees(one, viewer):
        whose = "staff" if moderates(viewer) else "won"
        return AuctionJson(_encode(view_for(one, viewer, staff=moderates(viewer))), f'"{one.tag}-{whose}"')
    leader_id = None if one.leader is None else one.leader.id
    return AuctionJson(auctions.public_json(tx, one), f'"{one.tag}"', one.is_hidden, leader_id)


def for_author(one: Auction) -> AuctionJson:
    """Return an auction as its author sees it; the tag is everybody's unless the author sees more."""
    tag = f'"{one.tag}-own"' if _author_sees_more(one) else f'"{one.tag}"'
    return AuctionJson(_encode(auction_view(one, own=True)), tag)


def _author_sees_more(one: Auction) -> bool:
    return one.reserve_price is not None or one.is_hidden


@ranked(Rank.COSTLY)
def searched(tx: Transaction, read: Callable[[Transaction], R]) -> R:
    """Run a read that may look at a great part of the house; few of them run at a time."""
    return read(tx)


def auction_list(
    tx: Transaction, token: str | None, which: Filter, sort: Sort, limit: int, after: ListPlace | None
) -> Page[bytes, ListPlace]:
    """Return a page of auctions, each as JSON.

    Raises ValueError for a place in another list, or Unauthenticated for a dead token.
    """
    viewer = _viewer(tx, token)
    page = listing.page(tx, which, sort, limit, after)
    return page.with_rows([_json(tx, one, viewer) for one in page.rows])


def board(tx: Transaction, gid: str, limit: int) -> tuple[list[BidView], dict[str, int]]:
    """Return the newest bids of an auction as anyone may see them, and the number of each user by the name in them.

    Raises UnknownAuction.
    """
    one = get_one(tx, gid)
    rows = bids.newest(tx, one.id, limit, None, one.sale_id)
    return _views(rows, None), {bid.bidder: bid.bidder_id for bid in rows}


def shown_history(tx: Transaction, gid: str, token: str | None, limit: int, before: int | None) -> Page[BidView, int]:
    """Return a page of an auction's bids, newest first, with the sequences of their events.

    A maximum is shown on the user's own bids only. Raises UnknownAuction, TakenDown, or Unauthenticated for a dead token.
    """
    viewer = _viewer(tx, token)
    one = get_one(tx, gid)
    refuse_unless_seen(one, viewer)
    rows = bids.newest(tx, one.id, limit + 1, before, one.sale_id)
    views = _views(rows[:limit], viewer, _sequences(tx, one, rows[:limit]))
    return Page(views, rows[limit - 1].number if len(rows) > limit else None)


def _sequences(tx: Transaction, one: Auction, rows: Sequence[bids.Bid]) -> Mapping[int, int]:
    """Return the sequences of the events of these bids by their numbers.

    There are none for a page further back than `SEQUENCES_BACK`, or while the files of an archived lot are away.
    """
    if rows and one.bid_count - rows[0].number < SEQUENCES_BACK:
        with suppress(ArchiveMissing):
            return event_log.bid_versions(tx, one.id, rows[0].number, len(rows))
    return {}


def history(
    tx: Transaction, one: Auction, viewer: Account | None, limit: int, before: int | None
) -> Page[BidView, int]:
    """Return a page of an auction's bids, newest first, as `viewer` may see them. Equal bids stand on one page."""
    rows = bids.newest(tx, one.id, limit + 1, before, one.sale_id)
    shown = with_whole_ties(_views(rows, viewer), limit)
    return Page(shown, rows[len(shown) - 1].number if len(rows) > len(shown) else None)


def _views(
    rows: Sequence[bids.Bid], viewer: Account | None, sequences: Mapping[int, int] = MappingProxyType({})
) -> list[BidView]:
    return [
        BidView(
            amount=str(bid.amount),
            bidder=bid.bidder,
            received_at=maybe_instant(bid.received_at),
            placed_at=instant(bid.placed_at),
            automatic=bid.automatic,
            sequence=sequences.get(bid.number, UNSET),
            maximum=str(bid.maximum) if viewer is not None and viewer.id == bid.bidder_id else UNSET,
            voided=UNSET if bid.voided is None else bid.voided,
        )
        for bid in rows
    ]


def my_auctions(tx: Transaction, token: str, limit: int, after: ListPlace | None) -> Page[bytes, ListPlace]:
    """Return a page of the caller's own auctions, newest first. Raises Unauthenticated, ValueError for a bad place."""
    account = authenticate(tx, token, Right.READ)
    return auction_list(tx, token, Filter(author=account.username, hidden=True), Sort.NEWEST, limit, after)


def my_bids(tx: Transaction, token: str, limit: int, before: int | None) -> Page[MyBid, int]:
    """Return a page of the auctions on which the caller has bid, newest auction first. Raises Unauthenticated."""
    account = authenticate(tx, token, Right.READ)
    page = page_of(bids.auctions_of_bidder(tx, account.id, limit + 1, before), limit, lambda number: number)
    found = {one.id: one for one in auctions.by_ids(tx, page.rows)}
    limits = mine.limits(tx, account.id, page.rows)
    return page.with_rows(
        [MyBid(view_for(found[i], account), standing(found[i], account.id, limits.get(i))) for i in page.rows]
    )


def reader(tx: Transaction, token: str | None, gid: str) -> LotReader | None:
    """Return what an auction has to do with the caller; None without a token.

    Raises UnknownAuction, or Unauthenticated for a dead token.
    """
    one, viewer = get_one(tx, gid), _viewer(tx, token)
    if viewer is None:
        return None
    has_bid = bids.highest_limit(tx, one.id, viewer.id) is not None
    return LotReader(viewer.id, known_as(tx, one, viewer.party), has_bid, sees_hidden(one, viewer))


def changed_since(tx: Transaction, gid: str, seen: int | None) -> tuple[int, tuple[Change, ...]]:
    """Return an auction's version, and the changes to its terms and photos since version `seen`, as far as the log has them.

    Raises UnknownAuction.
    """
    one = get_one(tx, gid)
    if seen is None or seen > one.version:
        return one.version, ()
    before = event_log.last_public(tx, one.id, (AuctionCreated, AuctionAmended), seen)
    if not isinstance(before, Terms):
        return one.version, ()
    latest = event_log.last_public(tx, one.id, (AuctionCreated, AuctionAmended, PhotosArranged), seen)
    assert isinstance(latest, Terms | PhotosArranged), "this is that event, or one after it"
    before = structs.replace(before, category=latest.category)
    shown = [event_log.last_public(tx, one.id, (PhotosArranged,), until) for until in (seen, one.version)]
    was, now = ([photo.id for photo in each.photos] if isinstance(each, PhotosArranged) else [] for each in shown)
    return one.version, changes(before, one, (was, now))


def standing(one: Auction, user_id: int, limit: Decimal | None) -> Standing:
    """Return a bidder's position: only a sold auction is won, and only by its leader.

    `limit` is the highest of the bidder's bids that stand, None if all were voided.
    """
    if limit is None:
        return Standing.VOIDED
    leads = one.leader is not None and one.leader.id == user_id
    if one.over:
        return Standing.WON if leads and one.outcome is Outcome.SOLD else Standing.LOST
    return Standing.LEADING if leads else Standing.OUTBID


def _viewer(tx: Transaction, token: str | None) -> Account | None:
    return None if token is None else authenticate(tx, token, Right.READ)


def _json(tx: Transaction, one: Auction, viewer: Account | None) -> bytes:
    if viewer is not None and viewer.id == one.author.id:
        return _encode(view_for(one, viewer))
    return auctions.public_json(tx, one)
