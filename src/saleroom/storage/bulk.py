"""Many rows by one statement, on either database.

A statement per row costs a round trip on PostgreSQL. On SQLite it costs a turn of the interpreter's lock, which the
thread that serves requests needs as well: beside a busy thread 200 rows took 600 ms, and 20 ms in few statements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Dialect,
    Integer,
    Select,
    Table,
    Text,
    any_,
    bindparam,
    case,
    cast,
    func,
    literal,
    literal_column,
    make_url,
    select,
    tuple_,
    type_coerce,
)
from sqlalchemy.dialects.postgresql import ARRAY

from saleroom.storage.database import Transaction
from saleroom.storage.schema import Instant, Money, instant_text, money_text

_DIALECTS: dict[str, Dialect] = {
    name: make_url(f"{name}+{driver}://").get_dialect()()
    for name, driver in (("sqlite", "pysqlite"), ("postgresql", "asyncpg"))
}
_CHUNKS = (512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 7, 6, 5, 4, 3, 2, 1)
"""Rows of a statement on SQLite: few enough sizes to stay prepared, and mostly two or three statements for any number."""

_LATE: ColumnElement[datetime] = literal_column("'9999-12-30 00:00:00+00'::timestamptz")
_LAST: ColumnElement[datetime] = literal_column("'9999-12-31 23:59:59.999999+00'::timestamptz")
_IN_UTC: ColumnElement[str] = literal_column("""'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'""")

R = TypeVar("R")
Rows = Sequence[Mapping[str, Any]]


def insert(tx: Transaction, table: Table, rows: Rows, also: Mapping[str, str] | None = None) -> None:
    """Insert `rows`, which name the same columns each; `also` has SQL expressions that hold for all of them."""
    if not rows:
        return
    names, columns, more = tuple(rows[0]), _columns(tx, table, rows), tuple((also or {}).items())
    if tx.dialect == "postgresql":
        same = _same(columns)
        tx.driver_sql(_insert_arrays(table, names, same, more), _arguments(table, names, columns, same))
        return
    for size, values in _chunks(columns, len(rows)):
        tx.driver_sql(_insert_values(table, names, more, size), values)


def update(tx: Transaction, table: Table, rows: Rows) -> None:
    """Set the columns that `rows` name, each in the row with its `id`; all name the same columns, `id` first."""
    if not rows:
        return
    names, columns = tuple(rows[0]), _columns(tx, table, rows)
    assert names[0] == "id", "the key comes first"
    if tx.dialect == "postgresql":
        same = _same(columns)
        tx.driver_sql(_update_arrays(table, names, same), _arguments(table, names, columns, same))
        return
    for size, values in _chunks(columns, len(rows)):
        tx.driver_sql(_update_values(table, names, size), values)


class PreparedSelect(Generic[R]):
    """Reads rows with a statement that is built and compiled once for each database.

    The rows come as one row of JSON, in no order. Amounts are as JSON has them, and instants have a zone: see
    `schema.read_instant`.
    """

    def __init__(self, row: type[R], chosen: Select[Any] | Mapping[str, Select[Any]]) -> None:
        """`row` is a type of arrays with a member for each column of `chosen`, in their order; none of them is binary.

        `chosen` may be another statement for each dialect.
        """
        self._by_dialect = chosen if isinstance(chosen, Mapping) else dict.fromkeys(_DIALECTS, chosen)
        self._statements: dict[str, _DriverStatement] = {}
        """By dialect, once they were needed: commands should not start later for them."""
        self._decode = msgspec.json.Decoder(list[row]).decode  # type: ignore[valid-type]  # a variable, as it may be any row

    def __call__(self, tx: Transaction, **parameters: Any) -> list[R]:
        """Return the rows; `parameters` are those of the statement that have no value."""
        if tx.dialect not in self._statements:
            chosen = _one_row(self._by_dialect[tx.dialect], tx.dialect)
            self._statements[tx.dialect] = _DriverStatement(chosen, tx.dialect)
        statement = self._statements[tx.dialect]
        found = tx.driver_sql(statement.text, statement.values(parameters)).scalar_one()
        return [] if found is None else self._decode(found)


class BulkLookup(Generic[R]):
    """Reads rows by any number of keys with one `PreparedSelect`."""

    def __init__(
        self,
        row: type[R],
        chosen: Select[Any],
        by: ColumnElement[Any],
        finish: Callable[[Select[Any]], Select[Any]] = lambda s: s,
    ) -> None:
        """`by` is the column of the keys, and `finish` completes the statement."""
        array, listed = bindparam("keys", type_=ARRAY(by.type)), bindparam("keys", type_=Text)
        by_array, by_list = finish(chosen.where(by == any_(array))), finish(chosen.where(by.in_(_values(listed))))
        self._select = PreparedSelect(row, {"postgresql": by_array, "sqlite": by_list})

    def __call__(self, tx: Transaction, keys: Collection[Any], **parameters: Any) -> list[R]:
        """Return the rows; `parameters` are those of `finish`."""
        sent = list(keys) if tx.dialect == "postgresql" else _encode(list(keys)).decode()
        return self._select(tx, keys=sent, **parameters)


class _DriverStatement:
    """A statement as a driver takes it. SQLAlchemy takes longer to find the text of a statement than SQLite to run it."""

    def __init__(self, statement: Select[Any], dialect: str) -> None:
        of = _DIALECTS[dialect]
        compiled = statement.compile(dialect=of)
        self.text = str(compiled)
        assert "[POSTCOMPILE" not in self.text, "the text must be the same for all values"
        self._own = {name: value for name, value in compiled.params.items() if not compiled.binds[name].required}
        self._parameters = [
            (name, _processor(compiled.binds[name].type.dialect_impl(of), of)) for name in compiled.positiontup or ()
        ]

    def values(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the values of all parameters in their order: those of the statement itself, and `given`, which has the others.

        Raises KeyError for one that is missing.
        """
        values = {**self._own, **given}
        return tuple(values[name] if process is None else process(values[name]) for name, process in self._parameters)


def among(tx: Transaction, column: ColumnElement[Any], values: Collection[Any]) -> ColumnElement[bool]:
    """Return the condition that `column` is one of `values` (numbers or text): the same statement for any number of them."""
    if tx.dialect == "postgresql":
        return column == any_(literal(list(values), ARRAY(column.type)))
    return column.in_(_values(literal(_encode(list(values)).decode(), Text)))


def among_pairs(
    tx: Transaction, columns: tuple[ColumnElement[Any], ColumnElement[Any]], pairs: Collection[tuple[Any, Any]]
) -> ColumnElement[bool]:
    """Return the condition that two columns together are one of `pairs`; see `among`."""
    if tx.dialect == "postgresql":
        arrays = (
            literal(list(values), ARRAY(column.type))
            for column, values in zip(columns, zip(*pairs, strict=True), strict=True)
        )
        listed = func.unnest(*arrays).table_valued("first", "second").render_derived()
        return tuple_(*columns).in_(select(listed.c.first, listed.c.second))
    listed = func.json_each(literal(_encode(list(pairs)).decode(), Text)).table_valued("value")
    parts = (func.json_extract(listed.c.value, f"$[{place}]") for place in range(2))
    return tuple_(*columns).in_(select(*parts))


def _values(listed: ColumnElement[str]) -> Select[Any]:
    """Return the values of a JSON array, as rows."""
    return select(func.json_each(listed).table_valued("value").c.value)


def _one_row(statement: Select[Any], dialect: str) -> Select[Any]:
    """Return all rows as one row with one JSON text: the drivers take longer for a row than for its content."""
    columns = statement.subquery().c
    if dialect == "postgresql":
        return select(cast(func.json_agg(func.json_build_array(*map(_in_years_of_python, columns))), Text))
    return select(cast(func.json_group_array(func.json_array(*map(_as_json, columns))), Text))


def _in_years_of_python(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column of PostgreSQL with the last instants as Python can read them in JSON.

    asyncpg writes the very last one as `infinity`; and a session east of UTC says the hours before it in the year 10000.
    """
    if not isinstance(column.type, Instant):
        return column
    in_utc = func.timezone("UTC", func.least(column, _LAST))
    return case((column >= _LATE, func.to_json(func.to_char(in_utc, _IN_UTC))), else_=func.to_json(column))


def _as_json(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column of SQLite as JSON has it.

    Its instants get their zone, UTC: Python takes longer to put it in place of none.
    """
    if isinstance(column.type, Instant):
        return type_coerce(column, Text) + literal_column("'Z'")
    if isinstance(column.type, Boolean):
        return func.json(case((column, literal_column("'true'")), (~column, literal_column("'false'"))))
    return column


def _columns(tx: Transaction, table: Table, rows: Rows) -> list[list[Any]]:
    """Return the values column by column, as the driver takes them."""
    columns = []
    for name, process in _processors(table, tuple(rows[0]), tx.dialect):
        values = [row[name] for row in rows]
        columns.append(values if process is None else _processed(process, values))
    return columns


def _processed(process: Any, values: list[Any]) -> list[Any]:
    """Apply `process` to each value, but only once to equal neighbours, such as the instant of a batch."""
    processed = []
    before = after = None
    for value in values:
        if value is not before:
            before, after = value, None if value is None else process(value)
        processed.append(after)
    return processed


@lru_cache
def _processors(table: Table, names: tuple[str, ...], dialect: str) -> list[tuple[str, Any]]:
    of = _DIALECTS[dialect]
    return [(name, _processor(table.c[name].type.dialect_impl(of), of)) for name in names]


def _processor(kind: Any, dialect: Dialect) -> Any:
    if isinstance(kind, Money):  # the fastest way
        return money_text if dialect.name == "sqlite" else None
    if isinstance(kind, Instant) and dialect.name == "sqlite":
        return instant_text
    return kind.bind_processor(dialect)


def _same(columns: list[list[Any]]) -> tuple[bool, ...]:
    """Tell for each column whether one value holds for all rows; the first counts the rows and always goes as an array."""
    return (False, *(all(value is column[0] for value in column) for column in columns[1:]))


def _arguments(table: Table, names: Sequence[str], columns: list[list[Any]], same: tuple[bool, ...]) -> tuple[Any, ...]:
    return tuple(
        column[0] if one else _array(table, name, column)
        for name, column, one in zip(names, columns, same, strict=True)
    )


def _array(table: Table, name: str, values: list[Any]) -> str | list[Any]:
    return _array_text(values) if _is_plain(table, name) else values


def _is_plain(table: Table, name: str) -> bool:
    """Tell whether values of a column need no quotes in PostgreSQL's text for an array."""
    return isinstance(table.c[name].type, BigInteger | Integer | Boolean | Money | Instant)


def _array_text(values: list[Any]) -> str:
    """Return PostgreSQL's text for an array of values without quotes. The driver's encoding takes four times as long."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def _chunks(columns: list[list[Any]], count: int) -> list[tuple[int, tuple[Any, ...]]]:
    """Return sizes of statements that add up to `count`, each with the values of its rows, one row after the other."""
    chunks = []
    rows = list(zip(*columns, strict=True))
    done = 0
    for size in _CHUNKS:
        while count - done >= size:
            chunks.append((size, tuple(chain.from_iterable(rows[done : done + size]))))
            done += size
    return chunks


@lru_cache
def _insert_arrays(
    table: Table, names: tuple[str, ...], same: tuple[bool, ...], also: tuple[tuple[str, str], ...]
) -> str:
    values, rows = _arrays(table, names, same)
    targets = ", ".join([*names, *(name for name, _ in also)])
    selected = ", ".join([*values, *(expression for _, expression in also)])
    return f"INSERT INTO {table.name} ({targets}) SELECT {selected} FROM {rows}"  # noqa: S608  # names of our own tables only


@lru_cache
def _insert_values(table: Table, names: tuple[str, ...], also: tuple[tuple[str, str], ...], size: int) -> str:
    targets = ", ".join([*names, *(name for name, _ in also)])
    row = ", ".join([*("?" for _ in names), *(expression for _, expression in also)])
    return f"INSERT INTO {table.name} ({targets}) VALUES " + ", ".join([f"({row})"] * size)  # noqa: S608  # names of our own tables only


@lru_cache
def _update_arrays(table: Table, names: tuple[str, ...], same: tuple[bool, ...]) -> str:
    values, rows = _arrays(table, names, same)
    changes = ", ".join(f"{name} = {value}" for name, value in zip(names[1:], values[1:], strict=True))
    return f"UPDATE {table.name} SET {changes} FROM {rows} WHERE {table.name}.id = {values[0]}"  # noqa: S608  # names of our own tables only


@lru_cache
def _update_values(table: Table, names: tuple[str, ...], size: int) -> str:
    changes = ", ".join(f"{name} = new.column{place}" for place, name in enumerate(names[1:], 2))
    rows = ", ".join([f"({', '.join('?' for _ in names)})"] * size)
    return f"UPDATE {table.name} SET {changes} FROM (VALUES {rows}) AS new WHERE {table.name}.id = new.column1"  # noqa: S608  # names of our own tables only


def _arrays(table: Table, names: tuple[str, ...], same: tuple[bool, ...]) -> tuple[list[str], str]:
    """Return the expression of each column's value, and the source of rows that they refer to."""
    values, arrays, listed = [], [], []
    for place, (name, one) in enumerate(zip(names, same, strict=True), 1):
        kind = table.c[name].type.compile(_DIALECTS["postgresql"])
        if one:
            values.append(f"${place}::{kind}")
            continue
        values.append(f"new.{name}")
        arrays.append(f"${place}{'::text' if _is_plain(table, name) else ''}::{kind}[]")
        listed.append(name)
    return values, f"unnest({', '.join(arrays)}) AS new ({', '.join(listed)})"


_encode = msgspec.json.Encoder().encode
