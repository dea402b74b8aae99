"""A whole database compared with its ledgers: every event, every auction and every bid (docs/ledger.md).

Rows are compared as the driver gives them, before any conversion: on SQLite `2026-11-21T12:00` and `2026-11-21 12:00` are the
same instant, but sort differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct, field
from sqlalchemy import Dialect, RowMapping, Table, bindparam, func, select, type_coerce
from sqlalchemy.types import NullType

from saleroom.accounts.domain.accounts import name_digest
from saleroom.accounts.storage.tables import users
from saleroom.admin.photo_check import picture_faults
from saleroom.admin.pledge_check import pledge_faults
from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.block_events import BidderNamed
from saleroom.bidding.domain.events import AuctionCreated, BidPlaced, Event
from saleroom.bidding.domain.ledger import enter
from saleroom.bidding.domain.pseudonyms import is_pseudonym
from saleroom.bidding.domain.retrace import RuleViolation, retrace
from saleroom.bidding.domain.views import event_from_parts
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.storage import archive, auction_columns, bidder_names, event_log
from saleroom.bidding.storage import bids as bid_rows
from saleroom.bidding.storage.tables import auctions, bids, events
from saleroom.kernel.chain import canonical
from saleroom.sales.domain.book_log import line_faults
from saleroom.sales.storage import book
from saleroom.settlement.service.documents.document_check import document_faults
from saleroom.storage.database import Transaction
from saleroom.storage.schema import read_instant
from saleroom.storage.transfer import Heads

PAGE = 200
NUMBER_BELOW_ALL = -(1 << 63)
FAULTS_MAX = 1000
"""A longer list helps nobody."""
SECRET = frozenset({"seed", "maximum", "reserve_price"})

Report = Callable[[str, int, int], None]
"""Is called with the work under way, the number of auctions done, and the number of all auctions."""


class CheckResult(Struct):
    """The contents of a database: counts, a digest of its ledger heads, and its `faults` in words."""

    auctions: int = 0
    events: int = 0
    bids: int = 0
    digest: str = ""
    faults: list[str] = field(default_factory=list)


class _LedgerFault(Exception):
    """An auction is wrong; the message says how."""


def faults_of(tx: Transaction) -> list[str]:
    """Return every fault in the ledgers and rows of the whole database, at most FAULTS_MAX."""
    return check(tx).faults


def faults_of_lot(tx: Transaction, number: int) -> list[str]:
    """Return every fault in the ledger and the rows of one auction, which exists."""
    stored = _StoredRows(tx)
    row = tx.execute(stored.one, {"number": number}).mappings().one()
    return list(_auction_faults(tx, stored, CheckResult(), row))


def check(tx: Transaction, report: Report = lambda *_: None) -> CheckResult:
    """Compare all auctions with their ledgers, one after the other, and check all documents of settlement.

    `tx` must not see later writes of others.
    """
    result, stored = CheckResult(), _StoredRows(tx)
    heads: list[tuple[str, str]] = []
    total = int(tx.execute(select(func.count()).select_from(auctions)).scalar_one())
    ledgers = _faults(tx, stored, result, heads, lambda done: report("checking the ledgers", done, total))
    for found in chain(ledgers, document_faults(tx)):
        result.faults.append(found)
        if len(result.faults) == FAULTS_MAX:
            result.faults.append(f"and more: these are the first {FAULTS_MAX}")
            break
    result.digest = Heads.of(heads).digest
    return result


def _faults(
    tx: Transaction, stored: _StoredRows, result: CheckResult, heads: list[tuple[str, str]], tell: Callable[[int], None]
) -> Iterator[str]:
    after = NUMBER_BELOW_ALL
    while True:
        rows = tx.execute(stored.page, {"after": after}).mappings().all()
        for row in rows:
            result.auctions += 1
            heads.append((str(row["gid"]), str(row["head"])))
            for found in _auction_faults(tx, stored, result, row):
                yield f"auction {_shown(row['gid'])}: {found}"
            tell(result.auctions)
        if len(rows) < PAGE:
            break
        after = rows[-1]["id"]
    for table in (events, bids):
        orphans = select(table.c.auction_id).where(table.c.auction_id.not_in(select(auctions.c.id))).distinct()
        for number in tx.execute(orphans.limit(FAULTS_MAX)).scalars():
            yield f"{table.name}: there are rows of an auction number {_shown(number)}, which does not exist"
    yield from pledge_faults(tx)


def _auction_faults(tx: Transaction, stored: _StoredRows, result: CheckResult, row: RowMapping) -> Iterator[str]:
    """Yield the faults of one auction. A broken log is the only fault reported, because everything is compared with it."""
    try:
        auction, log, placed = _replayed(tx, stored, result, row["id"])
        marks = BidBook(log).marks()
        expected = stored.of(auctions, auction_columns.row_of(auction) | {"id": auction.id})
    except _LedgerFault as fault:
        yield str(fault)
        return
    except (ArithmeticError, ValueError, TypeError) as error:
        yield f"its log has a value that cannot be stored: {type(error).__name__}"
        return
    try:
        retrace(log)
    except RuleViolation as error:
        yield f"event {error.index + 1}: {error.reason}"
    yield from (f"its row: {each}" for each in stored.differences(row, expected))
    yield from _bid_faults(tx, stored, result, row["id"], placed, marks)
    yield from _name_faults(tx, log, row["sale_id"])
    if row["sale_id"] is not None:
        yield from line_faults(log, book.of_lot(tx, row["id"]))
    yield from picture_faults(tx, row["id"], auction.author.id, log)


def _replayed(
    tx: Transaction, stored: _StoredRows, result: CheckResult, number: int
) -> tuple[Auction, list[Event], list[tuple[Auction, BidPlaced]]]:
    """Return the auction that the log gives, the log, and its bids. Raises _LedgerFault at the first wrong event."""
    auction: Auction | None = None
    log: list[Event] = []
    placed: list[tuple[Auction, BidPlaced]] = []
    before = None
    for row in _rows(tx, stored, events, number):
        result.events += 1
        place = f"event {len(log) + 1}"
        event = _event(row, place)
        if isinstance(event, AuctionCreated) != (auction is None):
            raise _LedgerFault(f"{place}: {AuctionCreated.TYPE} must be the first event, and no other")
        auction = begin(number, event) if isinstance(event, AuctionCreated) else _after(auction, event)
        auction, entry = enter(auction, event)
        expected = event_log.row_of(auction, event, entry)
        if canonical(msgspec.json.decode(row["private"])) != canonical(msgspec.json.decode(expected.pop("private"))):
            raise _LedgerFault(f"{place}: its private part does not fit the event")
        for each in stored.differences(row, stored.of(events, expected)):
            raise _LedgerFault(f"{place}: {each}")
        if before is not None and row["id"] <= before:
            raise _LedgerFault(f"{place}: it was numbered before the event before it")
        before = row["id"]
        log.append(event)
        if isinstance(event, BidPlaced):
            placed.append((auction, event))
    if auction is None:
        raise _LedgerFault("it has no events")
    return auction, log, placed


def _after(auction: Auction | None, event: Event) -> Auction:
    assert auction is not None, "the first event is a creation"
    return auction.after(event)


def _event(row: Mapping[Any, Any], place: str) -> Event:
    """Return the event in a row. Raises _LedgerFault if it cannot be read."""
    try:
        public = {} if row["payload"] is None else msgspec.json.decode(row["payload"])["data"]
        return event_from_parts(row["type"], row["at_read"], public, msgspec.json.decode(row["private"]))
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise _LedgerFault(f"{place}: it cannot be read: {type(error).__name__}") from None


def _bid_faults(
    tx: Transaction,
    stored: _StoredRows,
    result: CheckResult,
    number: int,
    placed: list[tuple[Auction, BidPlaced]],
    marks: dict[int, str],
) -> Iterator[str]:
    rows = list(_rows(tx, stored, bids, number))
    result.bids += len(rows)
    if len(rows) != len(placed):
        yield f"there are {len(rows)} rows of bids, and {len(placed)} bids in the log"
    before = None
    for count, (row, step) in enumerate(zip(rows, placed, strict=False), 1):
        expected = stored.of(bids, bid_rows.row_of(*step) | {"voided": marks.get(count)})
        yield from (f"bid {count}: {each}" for each in stored.differences(row, expected))
        if before is not None and row["id"] <= before:
            yield f"bid {count}: it was numbered before the bid before it"
        before = row["id"]


def _name_faults(tx: Transaction, log: list[Event], sale_id: int | None) -> Iterator[str]:
    """Yield the people in the log whose number and name are not those of a user. Read from the table, not from the cache.

    A bidder has the name that they have in the sale `sale_id`, if there is one, otherwise that of the user. Somebody who was
    erased is found by the digest of the name that they had, or has a pseudonym, which the chain covers.
    """
    named = {(e.author_id, e.author) for e in log if isinstance(e, AuctionCreated)}
    authors = set(named)
    named |= {(e.bidder_id, e.bidder) for e in log if isinstance(e, BidPlaced | BidderNamed)}
    people = sorted(named)
    for start in range(0, len(people), PAGE):
        page = people[start : start + PAGE]
        among = select(users.c.id, users.c.username, users.c.former_name)
        known = {row.id: row for row in tx.execute(among.where(users.c.id.in_([number for number, _ in page])))}
        in_sale = {} if sale_id is None else bidder_names.of_pairs(tx, [(sale_id, number) for number, _ in page])
        for number, name in page:
            user = known.get(number)
            if sale_id is not None and (number, name) not in authors and (sale_id, number) in in_sale:
                if name != (is_ := in_sale[sale_id, number]):
                    yield f"user {number} is {_shown(name)} in its log, and {_shown(is_)} in its sale"
                continue
            if user is None or not _was_named(user.username, user.former_name, name):
                is_ = _shown(None if user is None else user.username)
                yield f"user {number} is {_shown(name)} in its log, and {is_} among the users"


def _was_named(username: str, former_name: str | None, name: str) -> bool:
    """Whether `name` is a user's in a log. The log of somebody who was erased has the name that they had, or a pseudonym."""
    if former_name is None:
        return name == username
    return is_pseudonym(name) or name_digest(name) == former_name


def _rows(tx: Transaction, stored: _StoredRows, table: Table, number: int) -> list[Mapping[Any, Any]]:
    """Return an auction's rows in order, the archived ones too. Raises _LedgerFault if one cannot be read."""
    try:
        rows: list[Mapping[Any, Any]] = list(tx.execute(stored.of_auction[table.name], {"number": number}).mappings())
        if table is events and (not rows or rows[0]["position"] != 1):
            before = rows[0]["position"] if rows else None
            first = archive.rows_of(tx, number, before=before)
            rows[:0] = [stored.as_read(events, row.columns()) | {"at_read": row.at} for row in first]
            if (fault := archive.fault(tx, number)) is not None:
                raise _LedgerFault(fault)
        return rows
    except archive.ArchiveMissing as error:
        raise _LedgerFault(str(error)) from None
    except (ValueError, TypeError) as error:
        raise _LedgerFault(f"its {table.name} cannot be read: {type(error).__name__}") from None


class _StoredRows:
    """Rows in the form in which the driver reads and writes them."""

    def __init__(self, tx: Transaction) -> None:
        self._dialect = tx.connection.dialect
        self._writers = {table.name: _writers(table, self._dialect) for table in (auctions, events, bids)}
        self.one = select(*_columns(auctions)).where(auctions.c.id == bindparam("number"))
        self.page = select(*_columns(auctions)).where(auctions.c.id > bindparam("after"))
        self.page = self.page.order_by(auctions.c.id).limit(PAGE)
        self.of_auction = {
            table.name: select(*_columns(table), *read).where(table.c.auction_id == bindparam("number")).order_by(order)
            for table, order, read in (
                (events, events.c.position, [events.c.at.label("at_read")]),
                (bids, bids.c.number, []),
            )
        }

    def of(self, table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return `row` in its stored form."""
        writers = self._writers[table.name]
        return {name: writers[name](value) for name, value in row.items()}

    def as_read(self, table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return `row` as the driver reads it back."""
        return {name: bytes(v) if isinstance(v, memoryview) else v for name, v in self.of(table, row).items()}

    def differences(self, found: Mapping[Any, Any], expected: Mapping[str, Any]) -> Iterator[str]:
        """Yield the differences of a row from the expected one, without the values of secret columns."""
        for name, value in expected.items():
            if not _same(found[name], value):
                is_, must = _shown(found[name]), _shown(value)
                yield f"{name} is not what it must be" if name in SECRET else f"{name} is {is_}, but must be {must}"


def _columns(table: Table) -> list[Any]:
    """Return the columns of `table` in their stored form."""
    return [type_coerce(column, NullType()).label(column.name) for column in table.columns]


def _writers(table: Table, dialect: Dialect) -> dict[str, Callable[[Any], Any]]:
    found = {column.name: column.type.dialect_impl(dialect).bind_processor(dialect) for column in table.columns}
    return {name: writer or (lambda value: value) for name, writer in found.items()}


def _same(found: Any, expected: Any) -> bool:
    if isinstance(expected, memoryview):
        expected = bytes(expected)
    if isinstance(expected, datetime) and expected.tzinfo is not None and isinstance(found, datetime):
        found = read_instant(found)  # asyncpg reads the last instant without a zone
    return type(found) is type(expected) and bool(found == expected)


def _shown(value: Any) -> str:
    """Return a value fit for a terminal, shortened because the wire form of an event is long."""
    if isinstance(value, bytes | memoryview):
        return "other bytes"
    text = value if isinstance(value, str) and value.isascii() and value.isprintable() and value else repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"
