"""The table of the event log."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
    text,
)

from saleroom.storage.schema import Instant, Money, Number, TransactionId, metadata

_OWED = text("delivered_at IS NULL AND version IS NOT NULL")


STATE_KEPT = text("type IN ('auction.closed', 'auction.cancelled') AND cleared_at IS NULL")
"""Which events ended an auction whose state an MQTT broker may still retain; the index is used where this stands so."""


events = Table(
    "events",
    metadata,
    Column("id", Number, primary_key=True),
    Column("auction_id", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("version", Integer),
    Column("type", String, nullable=False),
    Column("at", Instant, nullable=False),
    Column("payload", LargeBinary),
    Column("private", LargeBinary, nullable=False),
    Column("price", Money, nullable=False),
    Column("ending_rank", BigInteger, nullable=False),
    Column("written_by", BigInteger().with_variant(TransactionId(), "postgresql")),
    Column("delivered_at", Instant),
    Column("cleared_at", Instant),
    UniqueConstraint("auction_id", "position"),
    Index(
        "ix_events_owed",
        "id",
        sqlite_where=_OWED,
        postgresql_where=_OWED,
    ),
    Index("ix_events_state_kept", "delivered_at", sqlite_where=STATE_KEPT, postgresql_where=STATE_KEPT),
)
"""The log. Its order is `position`; `version` rises with it, so what is after a version is also after that position.
`payload` is the public wire form (none where `version` is null, as nobody may learn of it), `private` the
rest of the event; `price` and `ending_rank` are the auction's once it has happened, so that a list can look back.
`delivered_at` is when the MQTT broker had it, `cleared_at` when the state of the auction that it ended was taken from there."""
