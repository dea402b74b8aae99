"""The table of reminders."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, UniqueConstraint

from saleroom.accounts.storage.tables import users
from saleroom.settlement.storage.document_tables import documents
from saleroom.storage.schema import Instant, Number, metadata

reminders = Table(
    "reminders",
    metadata,
    Column("id", Number, primary_key=True),
    Column("document_id", BigInteger, ForeignKey(documents.c.id), nullable=False),
    Column("level", Integer, nullable=False),
    Column("at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id)),
    UniqueConstraint("document_id", "level"),
    Index("ix_reminders_by_id", "by_id"),
)
"""The steps that were done about an invoice that is not paid, each once: its reminders, and the strike. `by_id` is null
for one that the house did by itself."""
