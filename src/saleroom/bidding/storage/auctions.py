"""Auctions as rows: lock, save, read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Select, and_, bindparam, func, insert, or_, select, update

from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.block import Block
from saleroom.bidding.domain.events import (
    AuctionAmended,
    Event,
    Outcome,
    SoftClose,
)
from saleroom.bidding.domain.increments import Ladder, Tier
from saleroom.bidding.domain.views import auction_view
from saleroom.bidding.storage import search_index
from saleroom.bidding.storage.auction_columns import columns_after, row_of
from saleroom.bidding.storage.tables import RUNNING, auctions, bidder_names, events
from saleroom.kernel.chain import Chain
from saleroom.kernel.parties import Party
from saleroom.storage import bulk
from saleroom.storage.bulk import BulkLookup, among
from saleroom.storage.cache import CacheKey
from saleroom.storage.database import Note, Transaction, ranked
from saleroom.storage.schema import read_instant, read_maybe_instant
from saleroom.storage.turns import Rank

CACHED_MAX = 16_384
"""Auctions that a process caches: about 2 KB each, and up to 40 KB with the longest description."""
AUCTIONS: CacheKey[Auction] = CacheKey(CACHED_MAX)
PUBLIC_JSON: CacheKey[tuple[str, bytes]] = CacheKey(CACHED_MAX)
"""The tag of an auction, and the JSON that anyone may see."""
CHANGED: Note[Auction] = Note()
"""Every auction that a transaction has written."""


CHAIN_MARK = (auctions.c.id, auctions.c.position, auctions.c.head, auctions.c.hidden, auctions.c.renamed)
"""The position and chain of an auction, and how often its people were renamed: a cached one is current if these are equal."""
ChainMark = tuple[int, int, str, str, int]
"""The values of `CHAIN_MARK`."""

_encode = msgspec.json.Encoder().encode
_decode_tiers = msgspec.json.Decoder(tuple[Tier, ...]).decode
_decode_block = msgspec.json.Decoder(Block).decode
_decode_soft_close = msgspec.json.Decoder(SoftClose).decode


def insert_auction(tx: Transaction, auction: Auction) -> Auction:
    """Store a new auction and return it with its number. Raises IntegrityError if its gid exists already."""
    row = row_of(auction) | {"sale_id": auction.sale_id}
    auction_id = tx.execute(insert(auctions).returning(auctions.c.id), row).scalar_one()
    auction = msgspec.structs.replace(auction, id=auction_id)
    search_index.put(tx, auction_id, auction.name, auction.description)
    _note(tx, {auction_id: auction})
    return auction


def insert_auctions(tx: Transaction, new: Sequence[Auction]) -> list[Auction]:
    """Store new auctions and return them with their numbers, in their order. Raises IntegrityError as `insert_auction`."""
    bulk.insert(tx, auctions, [row_of(auction) | {"sale_id": auction.sale_id} for auction in new])
    found = select(auctions.c.gid, auctions.c.id).where(among(tx, auctions.c.gid, [auction.gid for auction in new]))
    numbers = {row.gid: row.id for row in tx.execute(found)}
    stored = [msgspec.structs.replace(auction, id=numbers[auction.gid]) for auction in new]
    for auction in stored:
        search_index.put(tx, auction.id, auction.name, auction.description)
    _note(tx, {auction.id: auction for auction in stored})
    return stored


def is_block(text: str) -> bool:
    """Return whether `text` is the column `block` of a lot."""
    try:
        _decode_block(text)
    except msgspec.MsgspecError:
        return False
    return True


def lock(tx: Transaction, gids: Iterable[str]) -> dict[str, Auction]:
    """Return the auctions with these gids, locked until the transaction ends, always in order of id."""
    found = _resolve(tx, _LOCK(tx, set(gids)))
    return {auction.gid: auction for auction in found}


@ranked(Rank.HOUSE)
def lock_free(tx: Transaction, gids: Iterable[str]) -> set[str]:
    """Lock those of these auctions that no other session has locked, without a wait, and return their gids."""
    rows = select(auctions.c.gid).where(among(tx, auctions.c.gid, sorted(gids)))
    return set(tx.execute(rows.order_by(auctions.c.id).with_for_update(key_share=True, skip_locked=True)).scalars())


def lock_due(tx: Transaction, now: datetime, limit: int, *, free: bool = False) -> list[Auction]:
    """Return up to `limit` auctions whose start or end has come by `now`, the longest due first, locked in order of id.

    With `free`, those that another session has locked are left out, and nothing waits for them.
    """
    due = select(auctions.c.id).where(auctions.c.due_at <= now).order_by(auctions.c.due_at).limit(limit)
    if free:
        due = due.with_for_update(key_share=True, skip_locked=True)
    ids = tx.execute(due).scalars().all()
    # Another process may have settled one before the lock was granted. That auction is then due later, or never.
    return _resolve(tx, _LOCK_DUE(tx, ids, now=now)) if ids else []


def due_between(tx: Transaction, after: datetime, until: datetime, limit: int) -> list[int]:
    """Return the numbers of up to `limit` auctions that are due after `after` and by `until`, the first due first."""
    due = select(auctions.c.id).where(auctions.c.due_at > after, auctions.c.due_at <= until)
    return list(tx.execute(due.order_by(auctions.c.due_at).limit(limit)).scalars())


class DueAuction(Struct, frozen=True):
    """When an auction is due and ends, and the seconds of its last window; None without a soft close."""

    id: int
    due_at: datetime
    ends_at: datetime | None
    window: int | None


def due_after(tx: Transaction, after: datetime, after_id: int, until: datetime, limit: int) -> list[DueAuction]:
    """Return up to `limit` auctions that are due after (`after`, `after_id`) and by `until`, in that order and not locked."""
    c = auctions.c
    later = or_(c.due_at > after, and_(c.due_at == after, c.id > after_id))
    due = select(c.id, c.due_at, c.ends_at, c.soft_close).where(c.due_at >= after, later, c.due_at <= until)
    return [
        DueAuction(row.id, row.due_at, row.ends_at, _window(row.soft_close))
        for row in tx.execute(due.order_by(c.due_at, c.id).limit(limit))
    ]


def lock_live(tx: Transaction, ids: Collection[int]) -> list[Auction]:
    """Return those of these auctions that are not over, locked, in order of id."""
    return _resolve(tx, _LOCK_LIVE(tx, ids)) if ids else []


@lru_cache(256)
def _window(soft_close: str | None) -> int | None:
    if soft_close is None:
        return None
    return _decode_soft_close(soft_close).window


def count_running(tx: Transaction, author_id: int, limit: int) -> int:
    """Return how many auctions of an author outside sales are scheduled or open, counted no further than to `limit`."""
    own = (auctions.c.author_id == author_id, auctions.c.sale_id.is_(None))
    running = select(auctions.c.id).where(*own, RUNNING).limit(limit).subquery()
    return int(tx.execute(select(func.count()).select_from(running)).scalar_one())


def created_before_last(tx: Transaction, author_id: int, count: int) -> datetime | None:
    """Return when an author created auction number `count` of theirs outside sales, from the newest on; None without it."""
    own = select(auctions.c.id).where(auctions.c.author_id == author_id, auctions.c.sale_id.is_(None))
    nth = own.order_by(auctions.c.id.desc()).offset(count - 1).limit(1).scalar_subquery()
    created: datetime | None = tx.execute(select(auctions.c.created_at).where(auctions.c.id == nth)).scalar()
    return created


def next_due(tx: Transaction) -> datetime | None:
    """Return the next instant at which any auction opens or ends."""
    first = select(func.min(auctions.c.due_at, type_=auctions.c.due_at.type))
    # SQLite uses the index only if the condition has the index's own words.
    due: datetime | None = tx.execute(first.where(auctions.c.due_at.is_not(None))).scalar_one()
    return due


def save(tx: Transaction, changed: Iterable[Auction], events: Collection[type[Event]]) -> None:
    """Write locked auctions back, the last state of each, after events of the kinds `events`.

    Only the columns that they change are written: SQLite writes each index of a column in the statement, changed or not.
    """
    last = {auction.id: auction for auction in changed}
    columns = columns_after(events)
    bulk.update(tx, auctions, [{"id": a.id} | columns(a) for a in last.values()])
    if AuctionAmended in events:
        for auction in last.values():
            search_index.put(tx, auction.id, auction.name, auction.description)
    if last:
        _note(tx, last)


def _note(tx: Transaction, changed: Mapping[int, Auction]) -> None:
    tx.keep(AUCTIONS, changed)
    tx.note(CHANGED, changed.values())


def get(tx: Transaction, gid: str) -> Auction | None:
    """Return one auction, not locked."""
    return get_many(tx, [gid]).get(gid)


def get_many(tx: Transaction, gids: Iterable[str]) -> dict[str, Auction]:
    """Return the auctions with these gids, not locked."""
    found = _resolve(tx, _BY_GID(tx, set(gids)))
    return {auction.gid: auction for auction in found}


def by_ids(tx: Transaction, auction_ids: Collection[int]) -> list[Auction]:
    """Return these auctions, not locked, in no particular order."""
    return _resolve(tx, _BY_ID(tx, auction_ids))


def public_states(tx: Transaction, auction_ids: Collection[int]) -> dict[int, tuple[str, bytes, bool]]:
    """Return each auction's gid, the JSON that `GET /auctions/{gid}` shows to anyone, and whether it is over, by number."""
    return {auction.id: (auction.gid, public_json(tx, auction), auction.over) for auction in by_ids(tx, auction_ids)}


def running_numbers(tx: Transaction, before: int | None, limit: int) -> list[int]:
    """Return the numbers of up to `limit` auctions that are not over, the newest first, from `before` (exclusive) downwards."""
    running = select(auctions.c.id).where(RUNNING).order_by(auctions.c.id.desc()).limit(limit)
    return list(tx.execute(running if before is None else running.where(auctions.c.id < before)).scalars())


def withhold(tx: Transaction, auction: Auction, reason: str | None) -> Auction:
    """Hide an auction that is over, or show it again for None, beside its ledger; return it as it is then."""
    values = {"withheld": reason, "renamed": auctions.c.renamed + 1}
    tx.execute(update(auctions).where(auctions.c.id == auction.id).values(values))
    taken_down, withheld = reason, reason is not None
    return msgspec.structs.replace(auction, taken_down=taken_down, withheld=withheld, renamed=auction.renamed + 1)


def public_json(tx: Transaction, auction: Auction) -> bytes:
    """Return an auction as anyone may see it. It must have been read, not changed, by `tx`: a change may be rolled back."""
    cached = tx.cache[PUBLIC_JSON]
    state = f"{auction.chain.head} {auction.renamed}"  # the head names the whole log (`kernel/chain.py`)
    known, shown = cached.get(auction.id) or (None, b"")
    if known != state:
        shown = _encode(auction_view(auction))
        cached.put(auction.id, (state, shown))
    return shown


def at_marks(tx: Transaction, marks: Sequence[ChainMark]) -> list[Auction]:
    """Return the auctions at `marks` (`CHAIN_MARK`), which a statement of this transaction has just read, in their order."""
    found = {auction.id: auction for auction in _resolve(tx, marks)}
    return [found[number] for number, *_ in marks]


def _resolve(tx: Transaction, marks: Iterable[ChainMark]) -> list[Auction]:
    """Return the auctions at these marks: from the cache, and the others from their rows."""
    found = []
    news = []
    cached = tx.cache[AUCTIONS].get
    for number, position, head, hidden, renamed in marks:
        known = cached(number)
        if (
            known is not None
            and (position, head, hidden) == (known.position, known.chain.head, known.chain.hidden)
            and renamed == known.renamed
        ):
            found.append(known)
        else:
            news.append(number)
    if news:
        read = [_auction(row) for row in _ROWS(tx, news)]
        tx.keep(AUCTIONS, {auction.id: auction for auction in read})
        found.extend(read)
    return found


class _Row(Struct, frozen=True, array_like=True):
    """An auction as the database gives it, with the names of its people and the instant of its last event."""

    id: int
    gid: str
    name: str
    description: str
    author_id: int
    author_name: str
    starting_price: Decimal
    reserve_price: Decimal | None
    buy_now_price: Decimal | None
    increment: str
    soft_close: str | None
    starts_at: datetime | None
    ends_at: datetime | None
    created_at: datetime
    changed_at: datetime | None
    status: Status
    outcome: Outcome | None
    current_bid: Decimal | None
    current_bidder_id: int | None
    leader_name: str | None
    current_bid_at: datetime | None
    maximum: Decimal | None
    bid_count: int
    version: int
    terms_version: int
    position: int
    seed: str
    head: str
    hidden: str
    category: str | None
    taken_down: str | None
    cancelled_for: str | None
    renamed: int
    withheld: str | None
    sale_id: int | None
    paused_at: datetime | None
    block: str | None


@lru_cache(256)
def _ladder(increment: str) -> Ladder:
    """Return the ladder in its column. Most auctions of a house share a few."""
    return Ladder(_decode_tiers(increment))


def _auction(row: _Row) -> Auction:
    return Auction(
        id=row.id,
        gid=row.gid,
        name=row.name,
        description=row.description,
        author=Party(row.author_id, row.author_name),
        starting_price=row.starting_price,
        reserve_price=row.reserve_price,
        buy_now_price=row.buy_now_price,
        ladder=_ladder(row.increment),
        soft_close=None if row.soft_close is None else _decode_soft_close(row.soft_close),
        starts_at=read_maybe_instant(row.starts_at),
        ends_at=read_maybe_instant(row.ends_at),
        created_at=read_instant(row.created_at),
        changed_at=read_instant(row.changed_at or row.created_at),
        status=row.status,
        outcome=row.outcome,
        current_bid=row.current_bid,
        leader=_party(row.current_bidder_id, row.leader_name),
        current_bid_at=read_maybe_instant(row.current_bid_at),
        maximum=row.maximum,
        bid_count=row.bid_count,
        version=row.version,
        terms_version=row.terms_version,
        position=row.position,
        chain=Chain(row.seed, row.head, row.hidden),
        category=row.category,
        taken_down=row.taken_down if row.withheld is None else row.withheld,
        cancelled_for=row.cancelled_for,
        renamed=row.renamed,
        withheld=row.withheld is not None,
        sale_id=row.sale_id,
        paused_at=read_maybe_instant(row.paused_at),
        block=None if row.block is None else _decode_block(row.block),
    )


def _party(number: int | None, name: str | None) -> Party | None:
    return None if number is None or name is None else Party(number, name)


def _locking(statement: Select[Any]) -> Select[Any]:
    # NO KEY UPDATE keeps other writers out, but not transactions that only refer to the auction.
    return statement.order_by(auctions.c.id).with_for_update(key_share=True)


_author, _leader = users.alias("author"), users.alias("leader")
_OF_OTHERS = {
    "author_name": _author.c.username,
    "leader_name": func.coalesce(bidder_names.c.name, _leader.c.username),
    "changed_at": events.c.at,
}
"""The members of a `_Row` that stand in other tables."""
_ROWS = BulkLookup(
    _Row,
    # Locks are taken by the statement before this one, so these names are as they were after any wait.
    select(
        *((_OF_OTHERS[name] if name in _OF_OTHERS else auctions.c[name]).label(name) for name in _Row.__struct_fields__)
    )
    .join_from(auctions, _author, _author.c.id == auctions.c.author_id)
    .outerjoin(_leader, _leader.c.id == auctions.c.current_bidder_id)
    .outerjoin(bidder_names, and_(bidder_names.c.sale_id == auctions.c.sale_id, bidder_names.c.user_id == _leader.c.id))
    # `saleroom verify --database` reports a log that lacks its last event.
    .outerjoin(events, and_(events.c.auction_id == auctions.c.id, events.c.position == auctions.c.position)),
    auctions.c.id,
)
_CHAIN_MARKS = select(*CHAIN_MARK)
_BY_GID = BulkLookup(tuple[Any, ...], _CHAIN_MARKS, auctions.c.gid)
_BY_ID = BulkLookup(tuple[Any, ...], _CHAIN_MARKS, auctions.c.id)
_LOCK = BulkLookup(tuple[Any, ...], _CHAIN_MARKS, auctions.c.gid, _locking)
_LOCK_DUE = BulkLookup(
    tuple[Any, ...], _CHAIN_MARKS.where(auctions.c.due_at <= bindparam("now")), auctions.c.id, _locking
)
_LOCK_LIVE = BulkLookup(tuple[Any, ...], _CHAIN_MARKS.where(RUNNING), auctions.c.id, _locking)
