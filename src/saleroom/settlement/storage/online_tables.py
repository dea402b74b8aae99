"""The tables of payments by card online and of their refunds."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, String, Table, Text

from saleroom.accounts.storage.tables import users
from saleroom.settlement.storage.document_tables import documents
from saleroom.settlement.storage.tables import journal_entries
from saleroom.storage.schema import Instant, Money, Number, metadata

online_payments = Table(
    "online_payments",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("document_id", BigInteger, ForeignKey(documents.c.id), nullable=False),
    Column("user_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("amount", Money, nullable=False),
    Column("currency", String, nullable=False),
    Column("state", String, nullable=False),
    Column("asked_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("look_at", Instant),
    Column("session", String, unique=True),
    Column("intent", String, unique=True),
    Column("received", Money),
    Column("entry_id", BigInteger, ForeignKey(journal_entries.c.id), unique=True),
    Column("dispute", String),
    Column("disputed", Money),
    Column("dispute_entry_id", BigInteger, ForeignKey(journal_entries.c.id), unique=True),
    Column("trouble", Text),
    Index("ix_online_payments_document_id", "document_id"),
    Index("ix_online_payments_user_id", "user_id"),
    Index("ix_online_payments_look_at", "look_at"),
)
"""Payments of invoices on a page of the card provider. `session` and `intent` are the provider's names of the page and of
the money; each is one row, so that money is posted once. `state` is one of `domain.online.OnlineState`. `look_at` is when to
ask the provider next. `entry_id` is what was posted, `dispute_entry_id` what takes `disputed` back after a dispute was lost."""


online_refunds = Table(
    "online_refunds",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("payment_id", BigInteger, ForeignKey(online_payments.c.id), nullable=False),
    Column("amount", Money, nullable=False),
    Column("state", String, nullable=False),
    Column("asked_at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id)),
    Column("refund", String, unique=True),
    Column("entry_id", BigInteger, ForeignKey(journal_entries.c.id), unique=True),
    Column("back_entry_id", BigInteger, ForeignKey(journal_entries.c.id), unique=True),
    Column("reason", Text),
    Index("ix_online_refunds_payment_id", "payment_id"),
    Index("ix_online_refunds_by_id", "by_id"),
)
"""Refunds of these payments. `refund` is the provider's name. `by_id` is who asked for it, null if it was made at the
provider. `entry_id` is what was posted once it was done, `back_entry_id` what takes that back if it failed after all, and
`reason` says why."""
