"""The book of absentee bids, as rows. The bids say who bids, and whether the bid stands."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, and_, insert, select

from saleroom.accounts.storage.tables import users
from saleroom.bidding.storage.tables import auctions, bids
from saleroom.sales.domain.book import BookBid, BookRow
from saleroom.sales.storage.tables import book_lines, lots, participants
from saleroom.storage.database import Transaction


def add(tx: Transaction, auction_id: int, one: BookBid, clerk_id: int, at: datetime) -> None:
    """Enter a line."""
    row = {"auction_id": auction_id, "number": one.number, "maximum": one.maximum, "clerk_id": clerk_id}
    tx.execute(insert(book_lines), row | {"entered_at": at})


def of_lot(tx: Transaction, auction_id: int) -> list[BookBid]:
    """Return what the book has of a lot, taken back or not."""
    rows = tx.execute(select(book_lines.c.number, book_lines.c.maximum).where(book_lines.c.auction_id == auction_id))
    return [BookBid(row.number, row.maximum) for row in rows]


def has(tx: Transaction, auction_id: int, number: int) -> bool:
    """Return whether a bid came from the book."""
    which = (book_lines.c.auction_id == auction_id, book_lines.c.number == number)
    return tx.execute(select(book_lines.c.id).where(*which).limit(1)).scalar() is not None


def page(tx: Transaction, sale_id: int, limit: int, before: int | None = None) -> list[BookRow]:
    """Return up to `limit` lines of a sale, the newest first, from the number `before` (exclusive) downwards."""
    found = _lines().where(auctions.c.sale_id == sale_id).order_by(book_lines.c.id.desc()).limit(limit)
    if before is not None:
        found = found.where(book_lines.c.id < before)
    return [_line(row) for row in tx.execute(found)]


def last(tx: Transaction, auction_id: int, user_id: int) -> BookRow | None:
    """Return the newest line of a bidder on a lot."""
    which = (book_lines.c.auction_id == auction_id, bids.c.bidder_id == user_id)
    row = tx.execute(_lines().where(*which).order_by(book_lines.c.id.desc()).limit(1)).first()
    return None if row is None else _line(row)


def _lines() -> Select[Any]:
    bidders, clerks = users.alias("bidders"), users.alias("clerks")
    of_sale = and_(participants.c.sale_id == auctions.c.sale_id, participants.c.user_id == bids.c.bidder_id)
    leads = auctions.c.current_bidder_id == bids.c.bidder_id
    return (
        select(book_lines, lots.c.gid, lots.c.label, participants.c.paddle, participants.c.name.label("person"))
        .add_columns(bidders.c.username.label("bidder"), clerks.c.username.label("clerk"))
        .add_columns(bids.c.voided, leads.label("leads"))
        .join_from(book_lines, auctions, auctions.c.id == book_lines.c.auction_id)
        .join(lots, lots.c.auction_id == auctions.c.id)
        .join(bids, and_(bids.c.auction_id == auctions.c.id, bids.c.number == book_lines.c.number))
        .join(bidders, bidders.c.id == bids.c.bidder_id)
        .join(clerks, clerks.c.id == book_lines.c.clerk_id)
        .outerjoin(participants, of_sale)
    )


def _line(row: Row[Any]) -> BookRow:
    return BookRow(
        id=row.id,
        lot=row.gid,
        label=row.label,
        paddle=row.paddle,
        bidder=row.person or row.bidder,
        maximum=row.maximum,
        stands=row.voided is None,
        leads=row.voided is None and bool(row.leads),
        clerk=row.clerk,
        entered_at=row.entered_at,
    )
