"""The names by which users bid on the lots of a sale, as rows."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

import msgspec
from sqlalchemy import Select, delete, exists, insert, select

from saleroom.bidding.domain.block_events import BidderNamed
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.storage import event_log
from saleroom.bidding.storage.tables import NAMED, auctions, bidder_names, bids, events
from saleroom.storage.bulk import among, among_pairs
from saleroom.storage.database import Transaction


def of_pairs(tx: Transaction, pairs: Collection[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Return the names of users in sales, by the numbers of both, for those that have one."""
    columns = (bidder_names.c.sale_id, bidder_names.c.user_id)
    rows = tx.execute(select(bidder_names).where(among_pairs(tx, columns, pairs)))
    return {(row.sale_id, row.user_id): row.name for row in rows}


def of_user(tx: Transaction, user_id: int) -> dict[int, str]:
    """Return the names of a user by the number of the sale."""
    rows = tx.execute(select(bidder_names).where(bidder_names.c.user_id == user_id))
    return {row.sale_id: row.name for row in rows}


def has_bid(tx: Transaction, sale_id: int, user_id: int) -> bool:
    """Return whether a user has bid on a lot of a sale, also if all these bids were voided, or made by the floor."""
    lots = select(auctions.c.id).where(auctions.c.sale_id == sale_id, auctions.c.sale_id.is_not(None))
    found = exists().where(bids.c.bidder_id == user_id, bids.c.auction_id.in_(lots))
    return bool(tx.execute(select(found)).scalar_one()) or bool(named_on(tx, sale_id, user_id))


def named_on(tx: Transaction, sale_id: int, user_id: int) -> set[str]:
    """Return the gids of the lots of a sale on which a clerk has named the user as the bidder of a bid of the floor.

    The rows of these bids stay those of the floor, so that the log alone says it.
    """
    of_sale = (auctions.c.sale_id == sale_id, auctions.c.sale_id.is_not(None))
    found = select(auctions.c.gid).where(auctions.c.id.in_(_named(user_id)), *of_sale)
    return set(tx.execute(found).scalars())


def named(tx: Transaction, auction_ids: Collection[int], user_ids: Collection[int]) -> set[tuple[int, int]]:
    """Return which of these users a clerk has named as the bidder of a bid of the floor on which of these auctions, ever."""
    acts = select(events.c.auction_id, events.c.private).where(events.c.type == BidderNamed.TYPE)
    rows = tx.execute(acts.where(among(tx, events.c.auction_id, auction_ids))).all()
    found = {(row.auction_id, msgspec.json.decode(row.private)["bidderId"]) for row in rows}
    return {(auction_id, user_id) for auction_id, user_id in found if user_id in user_ids}


def lots_named_on(tx: Transaction, user_id: int) -> set[int]:
    """Return the numbers of all lots of sales on which a clerk has named the user."""
    return set(tx.execute(_named(user_id)).scalars())


def outbid_after_named(tx: Transaction, user_id: int, sale_ids: Select[tuple[int]]) -> dict[int, Decimal]:
    """Return the lots of these sales that others lead and on which a bid of the floor stands that the user was named for.

    Beside each is the highest of these bids. As above the log alone says it.
    """
    of_sales = (auctions.c.sale_id.is_not(None), auctions.c.sale_id.in_(sale_ids))
    outbid = auctions.c.current_bidder_id.is_distinct_from(user_id)
    which = (auctions.c.id.in_(_named(user_id)), *of_sales, outbid)
    found = tx.execute(select(auctions.c.id).where(*which)).scalars().all()
    logs = event_log.read_all(tx, found)
    standing = {number: BidBook(log).standing_of(user_id) for number, log in logs.items()}
    return {number: max(limit for _, limit in bids_of) for number, bids_of in standing.items() if bids_of}


def _named(user_id: int) -> Select[tuple[int]]:
    """Select the numbers of the lots on which a clerk has named a user, whose number is all that these events hide."""
    return select(events.c.auction_id).where(NAMED, events.c.private == msgspec.json.encode({"bidderId": user_id}))


def put(tx: Transaction, sale_id: int, user_id: int, name: str | None) -> None:
    """Give a user a name in a sale, or none. Raises IntegrityError if another has it there."""
    tx.execute(delete(bidder_names).where(bidder_names.c.sale_id == sale_id, bidder_names.c.user_id == user_id))
    if name is not None:
        tx.execute(insert(bidder_names), {"sale_id": sale_id, "user_id": user_id, "name": name})


def forget(tx: Transaction, user_id: int) -> None:
    """Delete all names of a user."""
    tx.execute(delete(bidder_names).where(bidder_names.c.user_id == user_id))
