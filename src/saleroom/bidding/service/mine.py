"""A user's own lots: those that the user bids on, offers or watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from msgspec import Struct

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.photos import Photo
from saleroom.bidding.domain.views import AuctionView, is_tied
from saleroom.bidding.service import photos
from saleroom.bidding.service.lookup import view_for
from saleroom.bidding.service.reading import Standing, standing
from saleroom.bidding.storage import auctions, mine, questions, watches
from saleroom.bidding.storage.mine import RankPlace
from saleroom.kernel.page import Page, page_of
from saleroom.storage.database import Transaction

LIVE = (Status.OPEN, Status.SCHEDULED)

Source = Callable[[Transaction, int, Sequence[Status], int, RankPlace | None], Page[Auction, RankPlace]]


class MyLot(Struct, frozen=True):
    """An auction of the user. `standing` is None without a bid; `limit` is the user's maximum while the user leads.

    `tied`: another user leads with an equal bid, which was earlier. `questions` counts those that concern the user before
    the end: open ones on the user's own lot, otherwise the user's own that are answered.
    """

    auction: AuctionView
    cover: Photo | None
    standing: Standing | None
    limit: Decimal | None
    tied: bool
    questions: int


def bidding(
    tx: Transaction, token: str | None, statuses: Sequence[Status], limit: int, after: RankPlace | None
) -> Page[MyLot, RankPlace]:
    """Return a page of the auctions on which the holder of `token` has bid. Raises Unauthenticated."""
    return _page_of(tx, token, mine.bid_on, statuses, limit, after)


def selling(
    tx: Transaction, token: str | None, statuses: Sequence[Status], limit: int, after: RankPlace | None
) -> Page[MyLot, RankPlace]:
    """Return a page of the auctions that the holder of `token` offers. Raises Unauthenticated."""
    return _page_of(tx, token, mine.offered, statuses, limit, after)


def watching(tx: Transaction, token: str | None, limit: int, before: int | None) -> Page[MyLot, int]:
    """Return a page of the auctions that the holder of `token` watches, the last one added first. Raises Unauthenticated."""
    viewer = authenticate(tx, token, Right.READ)
    page = page_of(watches.newest(tx, viewer.id, limit + 1, before), limit, lambda row: row[0])
    found = {one.id: one for one in auctions.by_ids(tx, [number for _, number in page.rows])}
    return page.with_rows(_my_lots(tx, [found[number] for _, number in page.rows], viewer))


def count_outbid(tx: Transaction, token: str | None) -> int:
    """Return the number of running auctions in which the user has been outbid. Raises Unauthenticated."""
    return mine.count_outbid(tx, authenticate(tx, token, Right.READ).id)


def _page_of(
    tx: Transaction, token: str | None, stored: Source, statuses: Sequence[Status], limit: int, after: RankPlace | None
) -> Page[MyLot, RankPlace]:
    viewer = authenticate(tx, token, Right.READ)
    page = stored(tx, viewer.id, statuses, limit, after)
    return page.with_rows(_my_lots(tx, page.rows, viewer))


def _my_lots(tx: Transaction, found: Sequence[Auction], viewer: Account) -> list[MyLot]:
    covers = photos.covers(tx, [one.gid for one in found])
    limits = mine.limits(tx, viewer.id, [one.id for one in found])
    asked = questions.counts_for(tx, viewer.id, [one.id for one in found if not one.over])
    rows = []
    for one in found:
        highest = limits.get(one.id)
        stands = standing(one, viewer.id, highest) if one.id in limits else None
        rows.append(_my_lot(one, viewer, covers.get(one.gid), stands, highest, asked.get(one.id, 0)))
    return rows


def _my_lot(
    one: Auction, viewer: Account, cover: Photo | None, stands: Standing | None, highest: Decimal | None, asked: int
) -> MyLot:
    leads = one.leader is not None and one.leader.id == viewer.id
    view = view_for(one, viewer)
    return MyLot(
        view,
        cover,
        stands,
        one.maximum if leads and not one.over else None,
        # The limit of a bidder whose bid equals that of the leader is used up: it is the amount.
        tied=highest is not None and not leads and is_tied(view, viewer.username, str(highest)),
        questions=asked,
    )
