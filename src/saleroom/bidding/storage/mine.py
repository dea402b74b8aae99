"""The auctions that a user bids on or offers, in the order in which they need the user."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct
from sqlalchemy import BigInteger, ColumnElement, and_, case, func, literal, select, tuple_

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.storage.auctions import CHAIN_MARK, at_marks
from saleroom.bidding.storage.bids import STANDS, lots_of_bidder, outbid_in_hall
from saleroom.bidding.storage.tables import auctions, bidder_names, bids
from saleroom.kernel.page import Page, page_of
from saleroom.storage.database import Transaction
from saleroom.storage.schema import NUMBER_MAX

_WHOLE = Meta(ge=0, le=NUMBER_MAX)


class RankPlace(Struct, frozen=True, array_like=True):
    """The end of a page: whether the reader leads in its last auction, the rank of the end, and the store's number."""

    leads: Annotated[int, _WHOLE]
    rank: Annotated[int, _WHOLE]
    id: Annotated[int, _WHOLE]


def bid_on(
    tx: Transaction, user_id: int, statuses: Sequence[Status], limit: int, after: RankPlace | None
) -> Page[Auction, RankPlace]:
    """Return up to `limit` auctions of `lots_of_bidder`: first those that others lead, then by end.

    Running auctions come by their end, soonest first; those that are over, latest first.
    """
    mine = lots_of_bidder(tx, user_id)
    runs = auctions.c.status.not_in([Status.CLOSED, Status.CANCELLED])
    leads = case((and_(runs, auctions.c.current_bidder_id == user_id), 1), else_=0)
    return _page(tx, [auctions.c.id.in_(mine), auctions.c.status.in_(statuses)], leads, limit, after)


def count_outbid(tx: Transaction, user_id: int) -> int:
    """Return the number of running auctions on which the user has bid and another bidder leads."""
    mine = auctions.c.id.in_(lots_of_bidder(tx, user_id))
    which = (mine, auctions.c.status == Status.OPEN, auctions.c.current_bidder_id != user_id)
    return int(tx.execute(select(func.count()).select_from(auctions).where(*which)).scalar_one())


def limits(tx: Transaction, user_id: int, auction_ids: Collection[int]) -> dict[int, Decimal | None]:
    """Return the highest limit behind the user's bids that stand, by auction, for those on which the user has bid.

    It is None if all of these bids were voided. A bid of the floor counts as a bid of the user whom a clerk has named for it.
    """
    most = func.max(case((STANDS, bids.c.maximum)), type_=bids.c.maximum.type)
    highest = select(bids.c.auction_id, most.label("most")).group_by(bids.c.auction_id)
    mine = highest.where(bids.c.bidder_id == user_id, bids.c.auction_id.in_(auction_ids))
    found = {row.auction_id: row.most for row in tx.execute(mine)}
    led = select(auctions.c.id, auctions.c.maximum).where(auctions.c.current_bidder_id == user_id)
    found.update({row.id: row.maximum for row in tx.execute(led.where(auctions.c.id.in_(auction_ids)))})
    without = {number for number in auction_ids if found.get(number) is None}
    if without:
        outbid = outbid_in_hall(tx, user_id)
        found |= {number: outbid[number] for number in without & outbid.keys()}
    return found


def amounts(tx: Transaction, user_id: int, gids: Collection[str]) -> dict[str, tuple[Decimal, str | None]]:
    """Return the highest amount that the user has bid, by gid, for the auctions on which a bid of the user stands.

    Beside it is the name by which the auction shows the user, None if it is the username.
    """
    own = and_(bidder_names.c.sale_id == auctions.c.sale_id, bidder_names.c.user_id == user_id)
    most, name = func.max(bids.c.amount).label("most"), func.max(bidder_names.c.name).label("name")
    mine = (
        select(auctions.c.gid, most, name).join(bids, bids.c.auction_id == auctions.c.id).outerjoin(bidder_names, own)
    )
    found = mine.where(STANDS, auctions.c.gid.in_(gids), bids.c.bidder_id == user_id).group_by(auctions.c.gid)
    return {row.gid: (row.most, row.name) for row in tx.execute(found)}


def offered(
    tx: Transaction, user_id: int, statuses: Sequence[Status], limit: int, after: RankPlace | None
) -> Page[Auction, RankPlace]:
    """Return up to `limit` auctions that the user offers, in the same order."""
    which = [auctions.c.author_id == user_id, auctions.c.status.in_(statuses)]
    return _page(tx, which, literal(0, BigInteger()), limit, after)


def _page(
    tx: Transaction,
    which: Sequence[ColumnElement[bool]],
    leads: ColumnElement[int],
    limit: int,
    after: RankPlace | None,
) -> Page[Auction, RankPlace]:
    key = (leads, auctions.c.ending_rank, auctions.c.id)
    statement = select(*CHAIN_MARK, leads.label("leads"), auctions.c.ending_rank).where(*which)
    if after is not None:
        last = (literal(number, BigInteger()) for number in (after.leads, after.rank, after.id))
        statement = statement.where(tuple_(*key) > tuple_(*last))
    rows = tx.execute(statement.order_by(*key).limit(limit + 1)).all()
    found = page_of(rows, limit, lambda row: RankPlace(row.leads, row.ending_rank, row.id))
    return found.with_rows(at_marks(tx, [row[: len(CHAIN_MARK)] for row in found.rows]))
