"""The tables of the platform itself, which all processes of a house share."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    String,
    Table,
    Text,
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

outages = Table(
    "outages",
    metadata,
    Column("name", String, primary_key=True),
    Column("began", Instant, nullable=False),
    Column("noticed", Instant, nullable=False),
    Column("reached", Instant, nullable=False),
    Column("reached_id", BigInteger, nullable=False),
)
"""The outage whose effect is being put right, and how far that has come (`outages.py`); usually empty."""

processes = Table(
    "processes",
    metadata,
    Column("name", String, primary_key=True),
    Column("started_at", Instant, nullable=False),
    Column("seen_at", Instant, nullable=False),
    Column("report", Text, nullable=False),
)
"""The processes that serve, and what each says of itself (`processes.py`)."""

TABLES = AreaTables(
    tables=(secrets, leases, heartbeats, outages, processes),
    not_exported=(leases, processes),
    filled_at_start=(secrets,),
)
