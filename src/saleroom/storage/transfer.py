"""The whole house as lines of JSON, the same from either database; docs/backup.md describes the format.

The tables that the areas declare (`HouseTables`) decide the content: a new table or column needs no change here.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain
from types import MappingProxyType
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from sqlalchemy import (
    Boolean,
    Column,
    Integer,
    LargeBinary,
    RowMapping,
    String,
    Table,
    func,
    insert,
    select,
    text,
    tuple_,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement

from saleroom.kernel.chain import canonical
from saleroom.kernel.errors import Fault
from saleroom.kernel.instants import instant
from saleroom.kernel.texts import control_fault
from saleroom.storage.areas import HouseTables
from saleroom.storage.database import Transaction
from saleroom.storage.migrations import current_revision, migrate, newest_revision
from saleroom.storage.schema import Instant, Money

FORMAT = "saleroom-export/1"
COLUMNS_LEFT_OUT = frozenset({"written_by"})
"""PostgreSQL's numbers of transactions mean nothing in another database."""

BATCH, LARGE_BATCH = 500, 16
"""Rows that are in memory at a time; `LARGE_BATCH` of tables in which a row may be a megabyte."""
LINE_BYTES_MAX = 1 << 26
SAFE_INTEGER_MAX = (1 << 53) - 1
"""Beyond it a JSON number is not exact for everybody (RFC 8785, 3.2.2.3): such numbers are written as strings."""

Tell = Callable[[int], None]
SomeRows = Sequence[Mapping[str, Any] | RowMapping]
Complete = Mapping[Table, Callable[[Transaction, SomeRows], SomeRows]]
_MONEY = re.compile(r"[0-9]{1,17}\.[0-9]{3}")
_INTEGER = re.compile(r"-?[0-9]{1,19}")


class BadExport(Exception):
    """The export is incomplete, damaged or from another version; `str` says where and why."""


class Heads(Struct, frozen=True):
    """How many auctions there are, and the SHA-256 of the heads of all their ledgers in hexadecimal digits."""

    auctions: int
    digest: str

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Heads:
        """Return the digest over `gid head` and a line feed for each auction, by gid."""
        digest, count = hashlib.sha256(), 0
        for count, (gid, head) in enumerate(sorted(pairs), 1):  # noqa: B007  # the last number is how many there are
            digest.update(f"{gid} {head}\n".encode())
        return cls(count, digest.hexdigest())


def heads(tx: Transaction, house: HouseTables) -> Heads:
    """Return the number and the digest of all ledgers."""
    if house.ledgers is None:
        return Heads.of([])
    columns = house.ledgers.c
    return Heads.of((row.gid, row.head) for row in tx.execute(select(columns.gid, columns.head)))


def columns(table: Table) -> list[Column[Any]]:
    """Return the columns of a table that are exported."""
    return [column for column in table.columns if column.name not in COLUMNS_LEFT_OUT]


def count(tx: Transaction, house: HouseTables) -> int:
    """Return how many lines an export would have."""
    return 2 + sum(int(tx.execute(select(func.count()).select_from(table)).scalar_one()) for table in house.exported)


def export(
    tx: Transaction, house: HouseTables, write: Callable[[bytes], object], complete: Complete = MappingProxyType({})
) -> Heads:
    """Write an export line by line, and return the heads of its ledgers. Call `freeze` first, so that all lines agree.

    `complete` adds to the rows of some tables what is kept elsewhere.
    """
    hashed, counts = hashlib.sha256(), _no_rows(house)
    ledgers: list[tuple[str, str]] = []
    for line in _lines(tx, house, complete, counts, ledgers):
        hashed.update(line)
        write(line)
    written = Heads.of(ledgers)
    write(canonical({"counts": counts, "heads": written.digest, "sha256": hashed.hexdigest()}) + b"\n")
    return written


def freeze(tx: Transaction) -> None:
    """Let the rest of `tx` see the database as it is now; it must be the first thing that `tx` does."""
    if tx.dialect == "postgresql":  # SQLite's transactions do by themselves
        tx.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))


def _no_rows(house: HouseTables) -> dict[str, int]:
    return {str(table.name): 0 for table in house.exported}


def _lines(
    tx: Transaction, house: HouseTables, complete: Complete, counts: dict[str, int], ledgers: list[tuple[str, str]]
) -> Iterator[bytes]:
    yield _header(current_revision(tx))
    for table in house.exported:
        pages = _pages(tx, table, _batch(house, table))
        for row in chain.from_iterable(complete[table](tx, some) if table in complete else some for some in pages):
            counts[table.name] += 1
            if table is house.ledgers:
                ledgers.append((row["gid"], row["head"]))
            yield _line(table, row)


def _pages(tx: Transaction, table: Table, batch: int) -> Iterator[Sequence[RowMapping]]:
    """Yield all rows by their primary key, a batch in memory at a time; text in the order of its bytes."""
    key: list[ColumnElement[Any]] = [
        column.collate("C") if tx.dialect == "postgresql" and isinstance(column.type, String) else column
        for column in table.primary_key
    ]
    order = select(*columns(table)).order_by(*key).limit(batch)
    page = tx.execute(order).mappings().all()
    while page:
        yield page
        last = tuple(page[-1][column.name] for column in table.primary_key)
        page = tx.execute(order.where(tuple_(*key) > tuple_(*last))).mappings().all()


def _batch(house: HouseTables, table: Table) -> int:
    return LARGE_BATCH if table in house.large_rows else BATCH


def _line(table: Table, row: Mapping[str, Any] | RowMapping) -> bytes:
    told = {str(column.name): written(row[column.name]) for column in columns(table)}
    return canonical({"table": str(table.name), "row": told}) + b"\n"


def written(value: Any) -> Any:
    """Return a value of a row as JSON has it."""
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, int) and abs(value) > SAFE_INTEGER_MAX:
        return str(value)
    return value


def load(tx: Transaction, house: HouseTables, file: BinaryIO, tell: Tell) -> Heads:
    """Read a whole export into an empty database; make its tables if there are none.

    All of it is checked. Raises BadExport; the caller then rolls back.
    """
    lines = _Lines(file, tell)
    _check_header(lines.next(), newest_revision())
    migrate(tx)
    _refuse_rows(tx, house)
    for table in house.filled_at_start:
        tx.execute(table.delete())
    counts, ledgers = _no_rows(house), []
    for table, rows in _batches(lines, house):
        counts[table.name] += len(rows)
        if table is house.ledgers:
            ledgers += [(row["gid"], row["head"]) for row in rows]
        _insert(tx, table, rows, lines.number)
    told = Heads.of(ledgers)
    lines.check_summary({"counts": counts, "heads": told.digest})
    _number_on(tx, house)
    for area in house.areas:
        if area.rebuild is not None:
            area.rebuild(tx, lambda _: tell(lines.bytes))
    if heads(tx, house) != told:
        raise BadExport("the auctions in the database have other heads than those in the file")
    return told


def _refuse_rows(tx: Transaction, house: HouseTables) -> None:
    full = [
        table.name
        for table in house.tables
        if table not in house.filled_at_start and tx.execute(select(table).limit(1)).first() is not None
    ]
    if full:
        raise BadExport(f"the house is not empty, and must be: there are rows in {', '.join(full)}")


def _check_header(line: bytes, revision: str | None) -> None:
    header = _object(line, 1)
    if set(header) != {"format", "revision"} or header["format"] != FORMAT:
        raise BadExport(f'line 1: this is no export: it should say {{"format":"{FORMAT}",…}}')
    if header["revision"] != revision:
        raise BadExport(
            f"line 1: the export is of tables at revision {str(header['revision'])[:20]!r}, ours at {revision}; "
            "import it with the saleroom that wrote it, into a new database, and migrate that"
        )
    if line != _header(revision):
        raise BadExport("line 1: not as an export writes it (RFC 8785)")


def _header(revision: str | None) -> bytes:
    return canonical({"format": FORMAT, "revision": revision}) + b"\n"


class _Lines:
    """The lines of a file, counted and hashed; the last one is the summary."""

    def __init__(self, file: BinaryIO, tell: Tell) -> None:
        self.number = 0
        self.summary = b""
        self._file = file
        self._hashed = hashlib.sha256()
        self._tell, self.bytes = tell, 0

    def next(self) -> bytes:
        """Return the next line and take it as one of a row. Raises BadExport at the end of the file."""
        line = self._read()
        self._hashed.update(line)
        return line

    def rows(self) -> Iterator[tuple[int, dict[str, Any], bytes]]:
        """Yield number, object and bytes of each line up to the summary."""
        while True:
            line = self._read()
            found = _object(line, self.number)
            if "table" not in found:
                self.summary = line
                return
            self._hashed.update(line)
            yield self.number, found, line

    def check_summary(self, counted: dict[str, Any]) -> None:
        """Raise BadExport unless the summary agrees with the lines read, and is the last line."""
        expected = canonical({**counted, "sha256": self._hashed.hexdigest()}) + b"\n"
        if self.summary != expected:
            raise BadExport(
                f"line {self.number}: the summary does not fit what is above it: a line is changed or missing"
            )
        if self._file.read(1):
            raise BadExport(f"line {self.number + 1}: there is more after the summary")

    def _read(self) -> bytes:
        line = self._file.readline(LINE_BYTES_MAX)
        self.number += 1
        if not line.endswith(b"\n"):
            raise BadExport(f"line {self.number}: the file is cut off, or no export")
        self.bytes += len(line)
        self._tell(self.bytes)
        return line


def _batches(lines: _Lines, house: HouseTables) -> Iterator[tuple[Table, list[dict[str, Any]]]]:
    """Yield the rows, checked and in order, a batch of one table at a time."""
    known = {table.name: (place, table) for place, table in enumerate(house.exported)}
    batch: list[dict[str, Any]] = []
    last: tuple[int, tuple[Any, ...]] = (-1, ())
    table = house.exported[0]
    for number, found, line in lines.rows():
        place, named = known.get(str(found["table"]), (-1, None))
        if named is None:
            raise BadExport(f"line {number}: there is no table {str(found['table'])[:40]!r}")
        row = _read_row(house, named, found.get("row"), number)
        if _line(named, row) != line:
            raise BadExport(f"line {number}: not as an export writes it (RFC 8785, nothing else in the line)")
        at = (place, tuple(_bytewise(row[column.name]) for column in named.primary_key))
        if at <= last:
            raise BadExport(f"line {number}: the row is out of order, or there twice")
        if batch and (named is not table or len(batch) >= _batch(house, table)):
            yield table, batch
            batch = []
        batch.append(row)
        table, last = named, at
    if batch:
        yield table, batch


def _read_row(house: HouseTables, table: Table, row: Any, number: int) -> dict[str, Any]:
    wanted = {column.name: column for column in columns(table)}
    if not isinstance(row, dict) or set(row) != set(wanted):
        odd = ", ".join(sorted(set(row) ^ set(wanted)))[:200] if isinstance(row, dict) else "row"
        raise BadExport(f"line {number}: a row of {table.name} with other columns than ours: {odd}")
    try:
        found = {name: value_of(column, row[name]) for name, column in wanted.items()}
    except (ValueError, TypeError):
        raise BadExport(f"line {number}: a value of {table.name} is not of its column's kind") from None
    for column in wanted.values():
        if (fault := _text_fault(house, column, found[column.name])) is not None:
            raise BadExport(f"line {number}: {column.name} of {table.name} {fault.message}")
    wrong = house.row_rules[table](found) if table in house.row_rules else None
    if wrong is not None:
        raise BadExport(f"line {number}: {wrong}")
    return found


def _text_fault(house: HouseTables, column: Column[Any], value: Any) -> Fault | None:
    """Return the fault of a text, which the house prints and publishes. Other values have no fault."""
    if not isinstance(value, str) or not isinstance(column.type, String):
        return None
    rule = house.text_rules.get(column)
    return control_fault(value, lines=False) if rule is None else rule(value)


def value_of(column: Column[Any], value: Any) -> Any:
    """Return a value of JSON as its column has it; `_line` checks its form. Raises ValueError, TypeError."""
    if value is None and column.nullable:
        return None
    read = next((read for kind, read in _READERS if isinstance(column.type, kind)), lambda text_: _is(str, text_))
    return read(value)


def _integer(value: Any) -> int:
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else int(_is(int, value))


def _money(value: Any) -> Decimal:
    if not _MONEY.fullmatch(value):
        raise ValueError
    return Decimal(value)


def _instant(value: Any) -> datetime:
    return datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def _is(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value


_READERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (Boolean, lambda value: _is(bool, value)),
    (Integer, _integer),
    (Money, _money),
    (Instant, _instant),
    (LargeBinary, lambda value: base64.b64decode(value, validate=True)),
)


def _bytewise(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadExport(f"line {number}: not a line of an export")
    return found


def _insert(tx: Transaction, table: Table, rows: list[dict[str, Any]], number: int) -> None:
    try:
        tx.execute(insert(table), rows)
    except (DBAPIError, OverflowError) as error:
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            raise
        # The driver's message may repeat values, such as digests of passwords.
        raise BadExport(f"before line {number}: the database refuses a row of {table.name}") from None


def _number_on(tx: Transaction, house: HouseTables) -> None:
    """Let PostgreSQL continue after the highest number; SQLite does so by itself."""
    if tx.dialect != "postgresql":
        return
    for table in house.exported:
        if "id" in table.columns:
            sequence = func.pg_get_serial_sequence(table.name, "id")
            last = select(func.max(table.c.id)).scalar_subquery()
            tx.execute(select(func.setval(sequence, last)).where(last.is_not(None)))
