"""The table of pick-ups."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, String, Table, Text

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage.tables import lots
from saleroom.storage.schema import Instant, Number, metadata

pickups = Table(
    "pickups",
    metadata,
    Column("id", Number, primary_key=True),
    Column("lot_id", BigInteger, ForeignKey(lots.c.id), nullable=False),
    Column("user_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("to", String, nullable=False),
    Column("at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("reason", Text),
    Column("undone_at", Instant),
    Column("undone_by_id", BigInteger, ForeignKey(users.c.id)),
    Index("ix_pickups_lot_id", "lot_id"),
    Index("ix_pickups_user_id", "user_id"),
    Index("ix_pickups_by_id", "by_id"),
    Index("ix_pickups_undone_by_id", "undone_by_id"),
)
"""Lots that were handed out: to which buyer, and `to` whom, empty for the buyer themselves. `reason` is why it was handed out
unpaid. A row that is undone stays as history; a lot whose sale was corrected is in the hands of its buyer of before."""
