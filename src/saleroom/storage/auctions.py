"""Auctions as rows: lock, save, read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Row, bindparam, func, insert, select, update

from saleroom.domain.auction import Auction, Party, Status, begin
from saleroom.domain.events import AuctionCreated, Outcome, SoftClose
from saleroom.domain.increments import Ladder, Tier
from saleroom.domain.views import auction_view
from saleroom.storage.accounts import usernames
from saleroom.storage.database import Transaction
from saleroom.storage.tables import auctions

NO_END_RANK = 1 << 61
OVER_RANK = 1 << 62
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_encode = msgspec.json.Encoder().encode
_decode_tiers = msgspec.json.Decoder(tuple[Tier, ...]).decode
_decode_soft_close = msgspec.json.Decoder(SoftClose).decode


def ending_rank(auction: Auction) -> int:
    """Return where `auction` stands in a list by end: soonest first, then those without an end, then those that are over."""
    if auction.over:
        return OVER_RANK - ((auction.ends_at or auction.created_at) - _EPOCH) // _MICROSECOND
    return NO_END_RANK if auction.ends_at is None else (auction.ends_at - _EPOCH) // _MICROSECOND


def insert_auction(tx: Transaction, event: AuctionCreated) -> Auction:
    """Store the auction that `event` begins. Raises IntegrityError where its gid exists already."""
    auction = begin(0, event)
    row = _row(auction) | {
        "gid": auction.gid,
        "author_id": auction.author.id,
        "increment": _encode(auction.ladder.tiers).decode(),
        "created_at": auction.created_at,
    }
    auction_id = tx.execute(insert(auctions).returning(auctions.c.id), row).scalar_one()
    auction = msgspec.structs.replace(auction, id=auction_id)
    tx.changed.append(auction)
    return auction


def lock(tx: Transaction, gids: Iterable[str]) -> dict[str, Auction]:
    """Return the auctions with these gids, locked until the transaction ends, always in order of id."""
    statement = select(auctions).where(auctions.c.gid.in_(sorted(set(gids)))).order_by(auctions.c.id).with_for_update()
    return {auction.gid: auction for auction in _auctions(tx, tx.execute(statement).all())}


def lock_due(tx: Transaction, now: datetime, limit: int) -> list[Auction]:
    """Return up to `limit` auctions whose start or end has come by `now`, locked, in order of id."""
    statement = select(auctions).where(auctions.c.due_at <= now).order_by(auctions.c.id).limit(limit).with_for_update()
    return _auctions(tx, tx.execute(statement).all())


def lock_ending_between(tx: Transaction, after: datetime, until: datetime) -> list[Auction]:
    """Return all auctions that are not over and end after `after` and by `until`, locked, in order of id."""
    live = auctions.c.status.in_([Status.SCHEDULED, Status.OPEN])
    ends = auctions.c.ends_at
    statement = select(auctions).where(live, ends > after, ends <= until).order_by(auctions.c.id).with_for_update()
    return _auctions(tx, tx.execute(statement).all())


def next_due(tx: Transaction) -> datetime | None:
    """Return the next instant at which any auction opens or ends."""
    due: datetime | None = tx.execute(select(func.min(auctions.c.due_at, type_=auctions.c.due_at.type))).scalar_one()
    return due


def save(tx: Transaction, changed: Sequence[Auction]) -> None:
    """Write auctions back, each as it is now; the caller holds their locks."""
    if changed:
        tx.execute(_SAVE, [_row(auction) | {"key": auction.id} for auction in changed])
        tx.changed.extend(changed)


def get(tx: Transaction, gid: str) -> Auction | None:
    """Return one auction, not locked."""
    found = _auctions(tx, tx.execute(select(auctions).where(auctions.c.gid == gid)).all())
    return found[0] if found else None


def by_ids(tx: Transaction, auction_ids: Collection[int]) -> list[Auction]:
    """Return these auctions, not locked, in no particular order."""
    return _auctions(tx, tx.execute(select(auctions).where(auctions.c.id.in_(sorted(auction_ids)))).all())


def public_states(tx: Transaction, auction_ids: Collection[int]) -> dict[int, tuple[str, bytes]]:
    """Return each auction's gid and the JSON that `GET /auctions/{gid}` shows to anyone, by the store's number."""
    return {auction.id: (auction.gid, _encode(auction_view(auction))) for auction in by_ids(tx, auction_ids)}


def from_rows(tx: Transaction, rows: Sequence[Row[Any]]) -> list[Auction]:
    """Return the auctions that rows of the table hold, in their order, with their parties' names."""
    return _auctions(tx, rows)


def _auctions(tx: Transaction, rows: Sequence[Row[Any]]) -> list[Auction]:
    # The names come by a statement of their own: under a lock a join would show the leader that was, not the one that is.
    ids = {row.author_id for row in rows} | {row.current_bidder_id for row in rows if row.current_bidder_id is not None}
    names = usernames(tx, ids)
    return [_auction(row, names) for row in rows]


def _auction(row: Row[Any], names: dict[int, str]) -> Auction:
    leader = row.current_bidder_id
    return Auction(
        id=row.id,
        gid=row.gid,
        name=row.name,
        description=row.description,
        author=Party(row.author_id, names[row.author_id]),
        starting_price=row.starting_price,
        reserve_price=row.reserve_price,
        buy_now_price=row.buy_now_price,
        ladder=Ladder(_decode_tiers(row.increment)),
        soft_close=None if row.soft_close is None else _decode_soft_close(row.soft_close),
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        created_at=row.created_at,
        status=Status(row.status),
        outcome=None if row.outcome is None else Outcome(row.outcome),
        current_bid=row.current_bid,
        leader=None if leader is None else Party(leader, names[leader]),
        current_bid_at=row.current_bid_at,
        maximum=row.maximum,
        bid_count=row.bid_count,
        version=row.version,
        position=row.position,
    )


def _row(auction: Auction) -> dict[str, Any]:
    """Return the columns that can change, by name."""
    rule = auction.soft_close
    return {
        "name": auction.name,
        "description": auction.description,
        "starting_price": auction.starting_price,
        "reserve_price": auction.reserve_price,
        "buy_now_price": auction.buy_now_price,
        "soft_close": None if rule is None else _encode(rule).decode(),
        "starts_at": auction.starts_at,
        "ends_at": auction.ends_at,
        "due_at": auction.due_at,
        "status": auction.status.value,
        "outcome": None if auction.outcome is None else auction.outcome.value,
        "current_bid": auction.current_bid,
        "current_bidder_id": None if auction.leader is None else auction.leader.id,
        "current_bid_at": auction.current_bid_at,
        "maximum": auction.maximum,
        "bid_count": auction.bid_count,
        "version": auction.version,
        "position": auction.position,
        "price": auction.starting_price if auction.current_bid is None else auction.current_bid,
        "ending_rank": ending_rank(auction),
    }


_SAVED = (
    *("name", "description", "starting_price", "reserve_price", "buy_now_price", "soft_close", "starts_at", "ends_at"),
    *("due_at", "status", "outcome", "current_bid", "current_bidder_id", "current_bid_at", "maximum", "bid_count"),
    *("version", "position", "price", "ending_rank"),
)
_SAVE = update(auctions).where(auctions.c.id == bindparam("key")).values({name: bindparam(name) for name in _SAVED})
