"""The tables of the platform itself, which all processes of a house share."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    String,
    Table,
)

from saleroom.storage.areas import AreaTables
from saleroom.storage.schema import Instant, metadata

secrets = Table(
    "secrets",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)
"""Secrets that all processes of a house share: `house` seals cursors and goes into the tokens of forms."""


leases = Table(
    "leases",
    metadata,
    Column("name", String, primary_key=True),
    Column("holder", String, nullable=False),
    Column("expires_at", Instant, nullable=False),
)
"""Which process holds a task that only one may do at a time."""

heartbeats = Table(
    "heartbeats",
    metadata,
    Column("name", String, primary_key=True),
    Column("at", Instant, nullable=False),
)
"""When the house was last seen serving."""

TABLES = AreaTables(tables=(secrets, leases, heartbeats), not_exported=(leases,), filled_at_start=(secrets,))
