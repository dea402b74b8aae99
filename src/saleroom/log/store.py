"""The event log: appended in the transaction that decides, read by everything live (docs/events.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Row, Select, Text, cast, func, select, update

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.domain.events import AuctionCancelled, AuctionClosed, Event
from saleroom.bidding.domain.ledger import Entry, LedgerEvent
from saleroom.bidding.domain.views import event_from_parts
from saleroom.bidding.storage import auctions as auction_rows
from saleroom.bidding.storage.auctions import ending_rank
from saleroom.bidding.storage.tables import auctions
from saleroom.kernel.errors import UnknownEvent
from saleroom.log.tables import events
from saleroom.storage import bulk
from saleroom.storage.database import Transaction, brief, ranked
from saleroom.storage.faults import Unavailable
from saleroom.storage.turns import Rank

PAGE_MAX = 500


class LoggedEvent(Struct, frozen=True):
    """A public event as the log has it; `payload` is its wire form, `last` says that its auction is over."""

    id: int
    gid: str
    version: int
    payload: bytes
    last: bool


class Backlog(Struct, frozen=True):
    """An auction's public events after a version, as many as a page holds.

    `version` is that of the last of them, or where there is none the auction's own or the one asked for; `more` says that
    the page ended before the log did, `over` that after the log's end nothing comes any more.
    """

    events: list[LoggedEvent]
    version: int
    more: bool
    over: bool


class OwedEvent(Struct, frozen=True):
    """A public event that no broker has acknowledged yet; `payload` is its wire form."""

    id: int
    auction_id: int
    gid: str
    version: int
    payload: bytes


def append(tx: Transaction, steps: Iterable[tuple[Auction, Event, Entry]]) -> None:
    """Log events, each with its auction as it was right after it, and as the ledger has it."""
    rows = [row_of(*step) for step in steps]
    bulk.insert(tx, events, rows, {"written_by": "pg_current_xact_id()"} if tx.dialect == "postgresql" else None)


def row_of(auction: Auction, event: Event, entry: Entry) -> dict[str, Any]:
    """Return the columns of an event as it is logged, by name; `auction` is as it was right after it."""
    return {
        "auction_id": auction.id,
        "position": auction.position,
        "version": auction.version if event.PUBLIC else None,
        "type": event.TYPE,
        "at": event.at,
        "payload": entry.payload,
        "private": entry.private,
        "price": auction.starting_price if auction.current_bid is None else auction.current_bid,
        "ending_rank": ending_rank(auction),
    }


def read(tx: Transaction, auction_id: int) -> list[Event]:
    """Return all events of an auction in order, the private parts too, as `domain.ledger.replay` takes them."""
    return [_event(each.type, each.at, each.payload, each.private) for each in logged(tx, auction_id)]


def _event(kind: str, at: datetime, payload: bytes | None, private: dict[str, Any]) -> Event:
    public = {} if payload is None else msgspec.json.decode(payload)["data"]
    return event_from_parts(kind, at, public, private)


def last_public(tx: Transaction, auction_id: int, kinds: Iterable[type[Event]], until: int) -> Event | None:
    """Return an auction's last event of these public `kinds` up to the version `until`, its private part too."""
    which = (events.c.auction_id == auction_id, events.c.version <= until)
    among = events.c.type.in_([kind.TYPE for kind in kinds])
    row = tx.execute(select(events).where(*which, among).order_by(events.c.position.desc()).limit(1)).first()
    return None if row is None else _event(row.type, row.at, row.payload, msgspec.json.decode(row.private))


def logged(tx: Transaction, auction_id: int, after: int = 0, until: int | None = None) -> list[LedgerEvent]:
    """Return an auction's events, the hidden ones too, after position `after` and up to `until`, as they were written."""
    which = [events.c.auction_id == auction_id, events.c.position > after]
    if until is not None:
        which.append(events.c.position <= until)
    return _as_written(tx, select(events).where(*which).order_by(events.c.position))


def published(tx: Transaction, auction_id: int, after: int, until: int) -> list[LedgerEvent]:
    """Return an auction's public events after version `after` and up to `until`, as they were written."""
    # Positions are indexed, and what is after a version is also after that position.
    which = (events.c.auction_id == auction_id, events.c.position > after, events.c.version > after)
    return _as_written(tx, select(events).where(*which).order_by(events.c.position).limit(until - after))


def _as_written(tx: Transaction, statement: Select[Any]) -> list[LedgerEvent]:
    return [
        LedgerEvent(row.type, row.at, row.payload, msgspec.json.decode(row.private)) for row in tx.execute(statement)
    ]


@ranked(Rank.HOUSE)
@brief
def backlogs(tx: Transaction, asked: Sequence[tuple[str, int | None]]) -> list[Backlog | Exception]:
    """Return for each (gid, version) what follows that version; for version None nothing, but where the auction stands.

    UnknownAuction stands for what is not there, UnknownEvent for a version that the auction has not reached.
    """
    found = auction_rows.get_many(tx, (gid for gid, _ in asked))
    return [_backlog(tx, found.get(gid), version) for gid, version in asked]


def _backlog(tx: Transaction, auction: Auction | None, version: int | None) -> Backlog | Exception:
    if auction is None:
        return UnknownAuction()
    if version is None or version == auction.version:
        return Backlog([], auction.version, more=False, over=auction.over)
    if version > auction.version:
        return UnknownEvent()
    # Positions are indexed, and what is after a version is also after that position.
    after = (events.c.auction_id == auction.id, events.c.position > version, events.c.version > version)
    page = [_logged(row) for row in tx.execute(_ROWS.where(*after).order_by(events.c.position).limit(PAGE_MAX))]
    reached = page[-1].version if page else auction.version
    return Backlog(page, reached, more=reached < auction.version, over=auction.over)


def number_of(tx: Transaction, gid: str, version: int) -> int:
    """Return the number of an auction's public event in the whole log. Raises UnknownEvent."""
    which = (auctions.c.gid == gid, events.c.position >= version, events.c.version == version)
    row = tx.execute(_ROWS.where(*which)).first()
    if row is None:
        raise UnknownEvent
    return int(row.id)


def last_until(tx: Transaction, number: int) -> tuple[str, int] | None:
    """Return the gid and version of the last public event up to a number in the whole log, None where there is none."""
    which = (events.c.id <= number, events.c.version.is_not(None))
    row = tx.execute(_ROWS.where(*which).order_by(events.c.id.desc()).limit(1)).first()
    return None if row is None else (row.gid, row.version)


@ranked(Rank.HOUSE)
@brief
def between(tx: Transaction, asked: Sequence[tuple[int, int]]) -> list[list[LoggedEvent] | Exception]:
    """Return for each pair of numbers a page of all public events after the first and up to the second, in order."""
    answers: list[list[LoggedEvent] | Exception] = []
    for after, until in asked:
        which = (events.c.id > after, events.c.id <= until, events.c.version.is_not(None))
        answers.append([_logged(row) for row in tx.execute(_ROWS.where(*which).order_by(events.c.id).limit(PAGE_MAX))])
    return answers


class Tail(Struct, frozen=True):
    """What has been added to the log: the public events, and the numbers of all, in order.

    On PostgreSQL transactions have numbers too: before these rows were read all below `settled` were over, and none from
    `begun` on had begun.
    """

    numbers: list[int]
    events: list[LoggedEvent]
    settled: int
    begun: int
    last: Seen
    more: bool


class Seen(Struct, frozen=True):
    """How far the log was read: a number, and the event that had it, where there was one."""

    number: int
    event: tuple[Any, ...] | None = None


class Rewound(Unavailable):
    """The log is not the one that was read: a failover or a restored backup has lost events."""


@brief
def tail(tx: Transaction, after: Seen, missing: Sequence[int]) -> Tail:
    """Return a page of what is after `after`, and those of `missing` that can be seen by now. Raises Rewound."""
    settled, begun = _transactions(tx) if missing else (0, 0)
    found = list(tx.execute(_ROWS.where(bulk.among(tx, events.c.id, missing)).order_by(events.c.id))) if missing else []
    beyond = tx.execute(_ROWS.where(events.c.id >= after.number).order_by(events.c.id).limit(PAGE_MAX + 1)).all()
    if after.event is not None and (not beyond or tuple(beyond[0]) != after.event):
        raise Rewound("the log is not the one that was read")
    last = Seen(beyond[-1].id, tuple(beyond[-1])) if beyond else after
    found += [row for row in beyond if row.id > after.number]
    public = [_logged(row) for row in found if row.version is not None]
    return Tail([row.id for row in found], public, settled, begun, last, len(beyond) > PAGE_MAX)


def numbers(tx: Transaction, last: int) -> list[int]:
    """Return the numbers of the `last` events of the log, fewer where there are gaps, in order."""
    newest = select(func.max(events.c.id)).scalar_subquery()
    return list(tx.execute(select(events.c.id).where(events.c.id > newest - last).order_by(events.c.id)).scalars())


def _transactions(tx: Transaction) -> tuple[int, int]:
    """Return below which number all transactions are over, and from which on none has begun; see `Tail`."""
    if tx.dialect == "sqlite":
        return 1, 1  # what cannot be seen there is not there
    snapshot = func.pg_current_snapshot()
    settled, begun = func.pg_snapshot_xmin(snapshot), func.pg_snapshot_xmax(snapshot)
    row: Any = tx.execute(select(cast(settled, Text), cast(begun, Text))).one()
    return int(row[0]), int(row[1])


def _logged(row: Row[Any]) -> LoggedEvent:
    return LoggedEvent(row.id, row.gid, row.version, row.payload, row.type in _LAST)


_LAST = frozenset({AuctionClosed.TYPE, AuctionCancelled.TYPE})
_ROWS = select(
    events.c.id, auctions.c.gid, events.c.version, events.c.type, events.c.payload, events.c.at, events.c.position
).join_from(events, auctions, events.c.auction_id == auctions.c.id)


def owed(tx: Transaction, limit: int) -> list[OwedEvent]:
    """Return up to `limit` events that are not yet delivered, in order; an auction's always in order of version."""
    statement = (
        select(events.c.id, events.c.auction_id, auctions.c.gid, events.c.version, events.c.payload)
        .join_from(events, auctions, events.c.auction_id == auctions.c.id)
        .where(events.c.delivered_at.is_(None), events.c.version.is_not(None))
        .order_by(events.c.id)
        .limit(limit)
    )
    return [OwedEvent(row.id, row.auction_id, row.gid, row.version, row.payload) for row in tx.execute(statement)]


def owed_count(tx: Transaction) -> int:
    """Return how many events are not yet delivered."""
    statement = select(func.count()).where(events.c.delivered_at.is_(None), events.c.version.is_not(None))
    return int(tx.execute(statement).scalar_one())


@ranked(Rank.HOUSE)
def owed_counts(tx: Transaction, asked: Sequence[str]) -> list[int]:
    """Return that number for each question: those who ask at the same time share it."""
    return [owed_count(tx)] * len(asked)


def mark_delivered(tx: Transaction, ids: Sequence[int]) -> None:
    """Note that the broker has acknowledged these events."""
    tx.execute(update(events).where(bulk.among(tx, events.c.id, ids)).values(delivered_at=tx.now()))
