"""The history of bids, as rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct, structs
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Integer,
    Select,
    and_,
    bindparam,
    func,
    select,
    union,
    update,
)

from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import BidPlaced
from saleroom.bidding.storage import bidder_names
from saleroom.bidding.storage.tables import auctions, bids
from saleroom.bidding.storage.tables import bidder_names as names
from saleroom.storage import bulk
from saleroom.storage.bulk import PreparedSelect, among
from saleroom.storage.database import SharedPart, Transaction
from saleroom.storage.schema import NUMBER_MAX, read_instant, read_maybe_instant

STANDS = bids.c.voided.is_(None)
SALES_OF: SharedPart[Callable[[int], Select[tuple[int]]]] = SharedPart()
"""Selects the numbers of the live sales in which a user takes part."""


class Bid(Struct, frozen=True, array_like=True):
    """A recorded bid; `number` counts those of its auction from 1, `maximum` is for the bidder's own eyes.

    `voided` is the reason for which it was voided, None if it stands.
    """

    number: int
    bidder_id: int
    bidder: str
    amount: Decimal
    maximum: Decimal
    automatic: bool
    placed_at: datetime
    received_at: datetime | None
    voided: str | None


def add(tx: Transaction, placed: Iterable[tuple[Auction, BidPlaced]]) -> None:
    """Record bids, each with its auction as it was right after it."""
    rows = [row_of(auction, bid) for auction, bid in placed]
    bulk.insert(tx, bids, rows)


def row_of(auction: Auction, bid: BidPlaced) -> dict[str, Any]:
    """Return the columns of a bid as it is recorded, by name; `auction` is as it was right after it."""
    return {
        "auction_id": auction.id,
        "number": auction.bid_count,
        "bidder_id": bid.bidder_id,
        "amount": bid.amount,
        "maximum": bid.maximum,
        "automatic": bid.automatic,
        "placed_at": bid.at,
        "received_at": bid.received_at,
    }


def newest(tx: Transaction, auction_id: int, limit: int, before: int | None, sale_id: int | None = None) -> list[Bid]:
    """Return up to `limit` bids of an auction, newest first, from number `before` (exclusive) downwards.

    `sale_id` is the sale that the auction belongs to, which may give its bidders other names.
    """
    chosen = _NEWEST_OF_SALE if sale_id else _NEWEST
    found = chosen(tx, auction_id=auction_id, sale_id=sale_id, before=before, most=limit)
    found.sort(key=lambda bid: bid.number, reverse=True)
    return [
        structs.replace(bid, placed_at=read_instant(bid.placed_at), received_at=read_maybe_instant(bid.received_at))
        for bid in found
    ]


def _newest(name: ColumnElement[str]) -> Select[Any]:
    """Select the members of a `Bid`, whose bidder is known by `name`, without what gives the name."""
    columns = {"bidder": name.label("bidder")}
    chosen = (columns[member] if member in columns else bids.c[member] for member in Bid.__struct_fields__)
    return (
        select(*chosen)
        .join_from(bids, users, users.c.id == bids.c.bidder_id)
        .where(
            bids.c.auction_id == bindparam("auction_id", type_=BigInteger),
            bids.c.number < func.coalesce(bindparam("before", type_=BigInteger), NUMBER_MAX),
        )
        .order_by(bids.c.number.desc())
        .limit(bindparam("most", type_=Integer))
    )


_NEWEST = PreparedSelect(Bid, _newest(users.c.username))
_NEWEST_OF_SALE = PreparedSelect(
    Bid,
    _newest(func.coalesce(names.c.name, users.c.username)).outerjoin(
        names, and_(names.c.user_id == users.c.id, names.c.sale_id == bindparam("sale_id", type_=BigInteger))
    ),
)


def auctions_of_bidder(tx: Transaction, bidder_id: int, limit: int, before: int | None) -> list[int]:
    """Return the numbers of up to `limit` auctions as `lots_of_bidder` selects them, newest auction first."""
    found = lots_of_bidder(tx, bidder_id).subquery()
    number = found.c.auction_id
    statement = select(number) if before is None else select(number).where(number < before)
    return list(tx.execute(statement.order_by(number.desc()).limit(limit)).scalars())


def lots_of_bidder(tx: Transaction, bidder_id: int) -> CompoundSelect[tuple[int]]:
    """Select the numbers of the auctions on which the user has bid, also by a bid of the floor that a clerk has named.

    The row of such a bid stays that of the floor.
    """
    made = select(bids.c.auction_id).where(bids.c.bidder_id == bidder_id).distinct()
    sales_of = tx.provided(SALES_OF)
    if sales_of is None:
        return union(made)
    of_sales = (auctions.c.sale_id.is_not(None), auctions.c.sale_id.in_(sales_of(bidder_id)))
    led = select(auctions.c.id).where(*of_sales, auctions.c.current_bidder_id == bidder_id)
    outbid = select(auctions.c.id).where(among(tx, auctions.c.id, outbid_in_hall(tx, bidder_id)))
    return union(made, led, outbid)


def outbid_in_hall(tx: Transaction, bidder_id: int) -> dict[int, Decimal]:
    """Return the lots on which the user was outbid after a clerk had named them for a bid of the floor.

    Beside each is the highest of these bids.
    """
    sales_of = tx.provided(SALES_OF)
    if sales_of is None:
        return {}
    return bidder_names.outbid_after_named(tx, bidder_id, sales_of(bidder_id))


def bidders(tx: Transaction, auction_ids: Collection[int], user_ids: Collection[int]) -> set[tuple[int, int]]:
    """Return which of these users have a bid that stands on which of these auctions, by the numbers of both."""
    rows = select(bids.c.auction_id, bids.c.bidder_id).distinct().where(STANDS)
    chosen = rows.where(among(tx, bids.c.auction_id, auction_ids), among(tx, bids.c.bidder_id, user_ids))
    return {(row.auction_id, row.bidder_id) for row in tx.execute(chosen)}


def void(tx: Transaction, auction_id: int, numbers: Collection[int], reason: str) -> None:
    """Mark bids as voided for `reason`."""
    which = (bids.c.auction_id == auction_id, bids.c.number.in_(numbers))
    tx.execute(update(bids).where(*which).values(voided=reason))


def mark(tx: Transaction, auction_id: int, marks: Mapping[int, str]) -> None:
    """Mark exactly these bids of an auction as no longer standing, each with its reason, by number."""
    of_auction = bids.c.auction_id == auction_id
    marked = tx.execute(select(bids.c.number, bids.c.voided).where(of_auction, ~STANDS)).all()
    was = {row.number: row.voided for row in marked}
    changed = {number: marks.get(number) for number in {*was, *marks} if was.get(number) != marks.get(number)}
    for number, reason in changed.items():
        tx.execute(update(bids).where(of_auction, bids.c.number == number).values(voided=reason))


def last_void(tx: Transaction, auction_id: int, bidder_id: int) -> str | None:
    """Return the reason for which the newest of the user's voided bids on an auction was voided; None if there is none."""
    own = select(bids.c.voided).where(bids.c.bidder_id == bidder_id, bids.c.auction_id == auction_id, ~STANDS)
    return tx.execute(own.order_by(bids.c.number.desc()).limit(1)).scalar()


def highest_limit(tx: Transaction, auction_id: int, bidder_id: int) -> Decimal | None:
    """Return the highest limit behind the user's bids that stand on an auction; None if there is none."""
    own = select(bids.c.maximum).where(bids.c.bidder_id == bidder_id, bids.c.auction_id == auction_id, STANDS)
    return tx.execute(own.order_by(bids.c.maximum.desc()).limit(1)).scalar()
