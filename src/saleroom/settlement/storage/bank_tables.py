"""The table of money from the bank."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, String, Table, Text

from saleroom.accounts.storage.tables import users
from saleroom.settlement.storage.tables import journal_entries
from saleroom.storage.schema import Instant, Money, Number, metadata

bank_payments = Table(
    "bank_payments",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("digest", String, nullable=False, unique=True),
    Column("booked_on", String, nullable=False),
    Column("amount", Money, nullable=False),
    Column("currency", String, nullable=False),
    Column("payer", String, nullable=False),
    Column("said", Text, nullable=False),
    Column("imported_at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("entry_id", BigInteger, ForeignKey(journal_entries.c.id), unique=True),
    Column("reason", Text),
    Column("seal", String, nullable=False, server_default=""),
    Index("ix_bank_payments_by_id", "by_id"),
)
"""Payments on statements of banks, each once by its digest. One for a buyer has the entry that posted it; one that is for
nobody has a reason; one with neither waits for a person. `seal` is the digest of what may change in a row."""
