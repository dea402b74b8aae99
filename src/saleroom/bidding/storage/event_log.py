"""The event log of auctions, as rows and as events of the domain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec
from sqlalchemy import BigInteger, Integer, Row, bindparam, func, select, update

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.domain.events import BidPlaced, Event
from saleroom.bidding.domain.ledger import Entry, LedgerEvent
from saleroom.bidding.domain.pseudonyms import NAMING, salts_in, without_name
from saleroom.bidding.domain.views import event_from_parts
from saleroom.bidding.storage import archive
from saleroom.bidding.storage import auctions as auction_rows
from saleroom.bidding.storage.auction_columns import ending_rank
from saleroom.bidding.storage.tables import ENDS, auctions, bids, events
from saleroom.log.store import Log, LoggedEvent
from saleroom.storage import bulk
from saleroom.storage.bulk import PreparedSelect
from saleroom.storage.database import Transaction

PAGE = 500
Logged = Row[Any] | archive.ArchivedRow
"""An event as its table has it, or as it stood there."""


def _archived(tx: Transaction, auction_id: int, after: int, before: int) -> Iterator[LoggedEvent]:
    for row in archive.public_of(tx, auction_id, after, before):
        assert row.version is not None and row.payload is not None
        yield LoggedEvent(row.id, row.gid, row.version, row.payload, row.type in ENDS)


LOG = Log(events, events.c.auction_id, auctions, ENDS, auction_rows.get_many, UnknownAuction, _archived)


def append(tx: Transaction, steps: Iterable[tuple[Auction, Event, Entry]]) -> None:
    """Log events, each with its auction as it was right after it, and as the ledger has it."""
    LOG.append(tx, [row_of(*step) for step in steps])


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


def read_all(tx: Transaction, auction_ids: Collection[int]) -> dict[int, list[Event]]:
    """Return the events of several auctions as `read` does, by number."""
    found: dict[int, list[Event]] = {number: [] for number in auction_ids}
    if found:
        which = bulk.among(tx, events.c.auction_id, auction_ids)
        rows: dict[int, list[Logged]] = {number: [] for number in auction_ids}
        for row in tx.execute(select(events).where(which).order_by(events.c.auction_id, events.c.position)):
            rows[row.auction_id].append(row)
        for number, own in rows.items():
            whole = _whole(tx, number, own)
            found[number] = [_event(each.type, each.at, each.payload, _private(each)) for each in whole]
    return found


def _event(kind: str, at: datetime, payload: bytes | None, private: dict[str, Any]) -> Event:
    public = {} if payload is None else msgspec.json.decode(payload)["data"]
    return event_from_parts(kind, at, public, private)


def last_public(tx: Transaction, auction_id: int, kinds: Iterable[type[Event]], until: int) -> Event | None:
    """Return an auction's last event of these public `kinds` up to the version `until`, its private part too."""
    which = (events.c.auction_id == auction_id, events.c.version <= until)
    among = events.c.type.in_([kind.TYPE for kind in kinds])
    row: Logged | None = tx.execute(
        select(events).where(*which, among).order_by(events.c.position.desc()).limit(1)
    ).first()
    if row is None:
        types = {kind.TYPE for kind in kinds}
        rows = (each for each in archive.public_of(tx, auction_id, 0, until + 1) if each.type in types)
        row = max(rows, key=lambda each: each.position, default=None)
    return None if row is None else _event(row.type, row.at, row.payload, _private(row))


def logged(tx: Transaction, auction_id: int, after: int = 0, until: int | None = None) -> list[LedgerEvent]:
    """Return an auction's events, the hidden ones too, after position `after` and up to `until`, as they were written."""
    which = [events.c.auction_id == auction_id, events.c.position > after]
    if until is not None:
        which.append(events.c.position <= until)
    rows = tx.execute(select(events).where(*which).order_by(events.c.position)).all()
    return _as_written(_whole(tx, auction_id, rows, after, until))


def published(tx: Transaction, auction_id: int, after: int, until: int) -> list[LedgerEvent]:
    """Return an auction's public events after version `after` and up to `until`, as they were written."""
    # Positions are indexed, and an event after a version is also after that position.
    which = (events.c.auction_id == auction_id, events.c.position > after, events.c.version > after)
    rows: Sequence[Logged] = tx.execute(
        select(events).where(*which).order_by(events.c.position).limit(until - after)
    ).all()
    if not rows or rows[0].version != after + 1:
        before = min(until + 1, rows[0].version or 0) if rows else until + 1
        rows = [*archive.public_of(tx, auction_id, after, before), *rows][: until - after]
    return _as_written(rows)


def bid_versions(tx: Transaction, auction_id: int, number: int, limit: int) -> dict[int, int]:
    """Return the versions of up to `limit` bids of an auction by their numbers, from bid `number` downwards.

    Raises ArchiveMissing.
    """
    rows = _NEWEST_BIDS(tx, auction_id=auction_id, number=number, most=limit)
    found = [version for version, _ in sorted(rows, key=lambda row: row[1], reverse=True)]
    if len(found) < min(limit, number):
        found = archive.bid_versions(tx, auction_id, max(1, number - limit + 1), number)[::-1]
    return {number - place: version for place, version in enumerate(found)}


_AUCTION = bindparam("auction_id", type_=BigInteger)
_NEWEST_BIDS = PreparedSelect(
    tuple[int, int],
    select(events.c.version, events.c.position)
    .where(events.c.auction_id == _AUCTION, events.c.type == BidPlaced.TYPE)
    .order_by(events.c.position.desc())
    .offset(
        # Counted back from the last bid, which another transaction may have added since `number` was read.
        select(func.max(bids.c.number)).where(bids.c.auction_id == _AUCTION).scalar_subquery()
        - bindparam("number", type_=BigInteger)
    )
    .limit(bindparam("most", type_=Integer)),
)


def _whole(
    tx: Transaction, auction_id: int, rows: Sequence[Logged], after: int = 0, until: int | None = None
) -> Sequence[Logged]:
    """Return `rows` of a log behind position `after`, and before them those that are in files: the first ones of old lots."""
    if rows and rows[0].position == after + 1:
        return rows
    before = None if until is None else until + 1
    if rows:
        before = rows[0].position
    return [*archive.rows_of(tx, auction_id, after, before), *rows]


def _private(row: Logged) -> dict[str, Any]:
    return cast("dict[str, Any]", msgspec.json.decode(row.private))


def _as_written(rows: Iterable[Logged]) -> list[LedgerEvent]:
    return [LedgerEvent(row.type, row.at, row.payload, _private(row)) for row in rows]


def take_out(tx: Transaction, auction_id: int, name: str) -> None:
    """Put the pseudonym in place of a name in all events of an auction that have its salt; their hashes stay true."""
    after = 0
    change = update(events).where(events.c.id == bindparam("number")).values(payload=bindparam("without"))
    naming = select(events.c.id, events.c.position, events.c.payload).where(
        events.c.auction_id == auction_id, events.c.type.in_(NAMING)
    )
    while rows := tx.execute(naming.where(events.c.position > after).order_by(events.c.position).limit(PAGE)).all():
        after = rows[-1].position
        found = [(row.id, msgspec.json.decode(row.payload)) for row in rows if name.encode() in row.payload]
        named = [(number, event) for number, event in found if name in salts_in(event["data"])]
        if named:
            tx.execute(change, [{"number": number, "without": without_name(event, name)} for number, event in named])


def changed_at(tx: Transaction, auction_ids: Collection[int]) -> dict[int, datetime]:
    """Return for each of these auctions when its last public event was decided, by number."""
    last = (events.c.auction_id == auctions.c.id) & (events.c.version == auctions.c.version)
    found = select(events.c.auction_id, events.c.at).select_from(auctions.join(events, last))
    rows = tx.execute(found.where(bulk.among(tx, auctions.c.id, auction_ids))) if auction_ids else ()
    return {row.auction_id: row.at for row in rows}
