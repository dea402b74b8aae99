"""Where the causes of words are read: the log of auctions, the bids, and the watch lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, String, and_, cast, exists, func, literal, or_, select

from saleroom.accounts.storage.tables import mail_addresses
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.block_events import ActUndone, BidderNamed, BidRetracted
from saleroom.bidding.domain.events import BidPlaced, BidVoided
from saleroom.bidding.domain.views import event_from_parts
from saleroom.bidding.storage.tables import HIDDEN, auctions, bids, events, watches
from saleroom.notices.domain.causes import TYPES, Entry
from saleroom.notices.storage.tables import push_subscriptions
from saleroom.outbox.message import PUSH
from saleroom.outbox.tables import outbox
from saleroom.sales.storage.tables import consignors, lots
from saleroom.storage import bulk
from saleroom.storage.database import Transaction

PAGE = 500
_STANDINGS = (BidPlaced.TYPE, BidVoided.TYPE, BidderNamed.TYPE, BidRetracted.TYPE, ActUndone.TYPE)
"""The types of events that may change who leads."""
_LEADING_AMONG = 4
"""Of so many bids in a row at least one leads: a decision logs two at most, and one of them leads."""

_SOLD = auctions.outerjoin(lots, lots.c.auction_id == auctions.c.id).outerjoin(
    consignors, consignors.c.id == lots.c.consignor_id
)
"""Auctions with those who brought their lots to a sale, if anybody did."""


def numbers_upto(tx: Transaction, after: int, until: int) -> int:
    """Return the number of the last event of the page after `after`, which ends at `until`."""
    page = select(events.c.id).where(events.c.id > after, events.c.id <= until).order_by(events.c.id).limit(PAGE)
    last = tx.execute(select(func.max(page.subquery().c.id))).scalar_one()
    return until if last is None else int(last)


def entries(tx: Transaction, after: int, until: int, types: Collection[str] = TYPES) -> list[Entry]:
    """Return the events of these types after one number and up to another, in order."""
    source = events.join(_SOLD, events.c.auction_id == auctions.c.id)
    found = (
        select(
            events.c.id,
            events.c.auction_id,
            auctions.c.gid,
            auctions.c.author_id,
            consignors.c.user_id.label("consignor_id"),
            HIDDEN.label("is_hidden"),
            events.c.type,
            events.c.at,
            events.c.payload,
            events.c.private,
        )
        .select_from(source)
        .where(events.c.id > after, events.c.id <= until, events.c.type.in_(types))
        .order_by(events.c.id)
    )
    return [
        Entry(
            number=row.id,
            auction_id=row.auction_id,
            gid=row.gid,
            author_id=row.author_id,
            consignor_id=row.consignor_id,
            hidden=row.is_hidden,
            event=event_from_parts(
                row.type, row.at, msgspec.json.decode(row.payload)["data"], msgspec.json.decode(row.private)
            ),
        )
        for row in tx.execute(found)
    ]


def sellers(tx: Transaction, auction_ids: Collection[int]) -> dict[int, int]:
    """Return who hears of each of these auctions as its seller (`Entry.seller_id`)."""
    seller = func.coalesce(consignors.c.user_id, auctions.c.author_id).label("seller")
    found = select(auctions.c.id, seller).select_from(_SOLD).where(bulk.among(tx, auctions.c.id, auction_ids))
    return {row.id: row.seller for row in tx.execute(found)}


def leaders_before(tx: Transaction, first: Iterable[Entry]) -> dict[int, int]:
    """Return for each auction of these entries who led before its first one, by numbers."""
    starts: dict[int, int] = {}
    for entry in first:
        starts.setdefault(entry.auction_id, entry.number)
    found: dict[int, int] = {}
    for auction_id, number in starts.items():
        earlier = (
            select(events.c.type, events.c.payload, events.c.private)
            .where(events.c.auction_id == auction_id, events.c.id < number, events.c.type.in_(_STANDINGS))
            .order_by(events.c.position.desc())
            .limit(_LEADING_AMONG)
        )
        for row in tx.execute(earlier):
            private = msgspec.json.decode(row.private)
            if row.type in (BidVoided.TYPE, ActUndone.TYPE):
                leader = private.get("leaderId")
            elif row.type == BidRetracted.TYPE:
                leader = None
            elif row.type == BidderNamed.TYPE or msgspec.json.decode(row.payload)["data"]["leading"]:
                leader = private["bidderId"]
            else:
                continue
            if leader is not None:
                found[auction_id] = leader
            break
    return found


def _reachable(channel: str) -> tuple[ColumnElement[int], Select[int]]:
    """Return the column of users, and who of them can be reached by a channel: a verified mail address, or a browser."""
    if channel == PUSH:
        column: ColumnElement[int] = push_subscriptions.c.user_id
        return column, select(column).distinct()
    column = mail_addresses.c.user_id
    return column, select(column).where(mail_addresses.c.verified_at.is_not(None))


def followers(tx: Transaction, auction_id: int, channel: str, *, watchers: bool) -> list[int]:
    """Return all who have bid on an auction, and with `watchers` all who watch it, by number, as far as they can be reached."""
    column, found = _reachable(channel)
    bid = column.in_(select(bids.c.bidder_id).where(bids.c.auction_id == auction_id))
    watch = column.in_(select(watches.c.user_id).where(watches.c.auction_id == auction_id))
    return list(tx.execute(found.where(or_(bid, watch) if watchers else bid).order_by(column)).scalars())


def reachable(tx: Transaction, user_ids: Collection[int], channel: str) -> frozenset[int]:
    """Return those of these users who can be reached by a channel."""
    if not user_ids:
        return frozenset()
    column, found = _reachable(channel)
    return frozenset(tx.execute(found.where(bulk.among(tx, column, user_ids))).scalars())


class EndingLot(NamedTuple):
    """An auction that ends soon, and a user who watches it."""

    auction_id: int
    gid: str
    user_id: int


def watchers_of_ending(tx: Transaction, now: datetime, until: datetime, channel: str) -> list[EndingLot]:
    """Return a page of lots that end by `until`, for each user who watches them and was not told yet."""
    key = literal("ending:") + cast(auctions.c.id, String) + ":" + cast(watches.c.user_id, String)
    source = auctions.join(watches, watches.c.auction_id == auctions.c.id).outerjoin(
        outbox, and_(outbox.c.channel == channel, outbox.c.key == key)
    )
    column, found_by = _reachable(channel)
    found = (
        select(auctions.c.id, auctions.c.gid, watches.c.user_id)
        .select_from(source)
        .where(
            auctions.c.due_at > now,
            auctions.c.due_at <= until,
            auctions.c.status == Status.OPEN,
            exists(found_by.where(column == watches.c.user_id).correlate(watches)),
            outbox.c.id.is_(None),
        )
        .order_by(auctions.c.due_at, watches.c.id)
        .limit(PAGE)
    )
    return [EndingLot(row.id, row.gid, row.user_id) for row in tx.execute(found)]
