"""The table of an event log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    TextClause,
    UniqueConstraint,
    text,
)

from saleroom.storage.schema import Instant, Number, TransactionId, metadata

_OWED = text("delivered_at IS NULL AND version IS NOT NULL")


def log_table(name: str, aggregate: str, ends: Sequence[str], *columns: Column[Any]) -> Table:
    """Return the table of a log; `aggregate` is the column of the aggregate's number, `columns` are those of the area.

    Events are ordered by `position`. `version` counts the public ones, so what follows a version also follows that position.
    `payload` is the public wire form (null if `version` is null: a hidden event), `private` the rest of the event.
    `delivered_at` is when the MQTT broker had it. `cleared_at` is when the broker removed the state of an aggregate that one
    of the types `ends` ended.

    There are no foreign keys: rows are written while their aggregate is locked, nothing is deleted, and checking took as
    long as inserting (docs/decisions/0017).
    """
    kept = state_kept(ends)
    return Table(
        name,
        metadata,
        Column("id", Number, primary_key=True),
        Column(aggregate, BigInteger, nullable=False),
        Column("position", Integer, nullable=False),
        Column("version", Integer),
        Column("type", String, nullable=False),
        Column("at", Instant, nullable=False),
        Column("payload", LargeBinary),
        Column("private", LargeBinary, nullable=False),
        *columns,
        Column("written_by", BigInteger().with_variant(TransactionId(), "postgresql")),
        Column("delivered_at", Instant),
        Column("cleared_at", Instant),
        UniqueConstraint(aggregate, "position"),
        Index(f"ix_{name}_owed", "id", sqlite_where=_OWED, postgresql_where=_OWED),
        Index(f"ix_{name}_state_kept", "delivered_at", sqlite_where=kept, postgresql_where=kept),
    )


def state_kept(ends: Sequence[str]) -> TextClause:
    """Return the condition of events whose state an MQTT broker may still retain; the index needs exactly these words."""
    types = ", ".join(f"'{kind}'" for kind in ends)
    return text(f"type IN ({types}) AND cleared_at IS NULL")
