"""The tables of all areas: each area declares its own, and `areas.py` gathers them.

Exports, imports and the check of migrations read this list, so that no table is lost because no module imported it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Column, ColumnElement, Table, delete, select
from sqlalchemy.sql.ddl import sort_tables

from saleroom.kernel.errors import Fault
from saleroom.storage.database import Transaction

TextRule = Callable[[str], Fault | None]
RowRule = Callable[[Mapping[str, Any]], str | None]


@dataclass(frozen=True)
class AreaTables:
    """The tables of one area, and their rules for exports and imports."""

    tables: tuple[Table, ...]
    not_exported: tuple[Table, ...] = ()
    """Tables with a meaning in one database only, or that `rebuild` fills again."""
    filled_at_start: tuple[Table, ...] = ()
    """Tables that have rows even in an empty house; an import replaces these rows."""
    large_rows: tuple[Table, ...] = ()
    """Tables in which one row may be a megabyte."""
    ledgers: Table | None = None
    """The table with a ledger in each row: its `gid` and its `head`."""
    text_rules: Mapping[Column[Any], TextRule] = field(default_factory=dict)
    """How an import checks texts, by column; the default rule allows no control characters."""
    row_rules: Mapping[Table, RowRule] = field(default_factory=dict)
    """Further checks of an import: each returns the fault of a row."""
    rebuild: Callable[[Transaction, Callable[[int], object]], None] | None = None
    """Fills the tables that are not exported, and reports from time to time how many rows are done."""
    stays: tuple[Column[Any], ...] = ()
    """Columns that go on to refer to a person who is erased, by the pseudonym. Rows that refer by others are deleted."""
    forget: Callable[[Transaction, int], None] | None = None
    """Does what else the area does when a person is erased, by the number, or raises a refusal; it comes last."""
    index_prefix: str | None = None
    """How the tables of the area's own index begin; no migration of SQLAlchemy's describes them."""


class HouseTables:
    """The tables of all areas together, each after those that it refers to."""

    def __init__(self, areas: Sequence[AreaTables]) -> None:
        self.areas = areas
        self.tables = sort_tables(sorted((table for area in areas for table in area.tables), key=lambda t: t.name))
        left_out = {table for area in areas for table in area.not_exported}
        self.exported = [table for table in self.tables if table not in left_out]
        self.filled_at_start = {table for area in areas for table in area.filled_at_start}
        self.large_rows = {table for area in areas for table in area.large_rows}
        self.ledgers = next((area.ledgers for area in areas if area.ledgers is not None), None)
        self.text_rules = {column: rule for area in areas for column, rule in area.text_rules.items()}
        self.row_rules = {table: rule for area in areas for table, rule in area.row_rules.items()}

    def forget(self, tx: Transaction, person: Column[Any], number: int) -> None:
        """Delete all rows that refer to a person, by `person`, but those that stay. Raises the refusals of the areas."""
        stays = {column for area in self.areas for column in area.stays}
        for table in self.tables:
            for key in table.foreign_keys:
                if key.column is person and key.parent not in stays:
                    self._delete(tx, table, key.parent == number)
        for area in reversed(self.areas):  # what an area forgets may still be needed by those after it, to find theirs
            if area.forget is not None:
                area.forget(tx, number)

    def _delete(self, tx: Transaction, table: Table, which: ColumnElement[bool]) -> None:
        """Delete rows, and before them the rows that refer to them."""
        for other in self.tables:
            for key in other.foreign_keys:
                if key.column.table is table:
                    self._delete(tx, other, key.parent.in_(select(key.column).where(which)))
        tx.execute(delete(table).where(which))

    def is_index(self, name: str) -> bool:
        """Return whether a table of this name is part of an area's own index."""
        return any(area.index_prefix is not None and name.startswith(area.index_prefix) for area in self.areas)
