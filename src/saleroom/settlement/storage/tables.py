"""The tables of settlement."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage.tables import consignors, lots, sales
from saleroom.storage.schema import Instant, Money, Number, metadata

rate_cards = Table(
    "rate_cards",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("name", String, nullable=False, unique=True),
)


rate_card_versions = Table(
    "rate_card_versions",
    metadata,
    Column("id", Number, primary_key=True),
    Column("card_id", BigInteger, ForeignKey(rate_cards.c.id), nullable=False),
    Column("number", Integer, nullable=False),
    Column("terms", Text, nullable=False),
    Column("since", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    UniqueConstraint("card_id", "number"),
    Index("ix_rate_card_versions_by_id", "by_id"),
)
"""`terms` are JSON (`settlement/domain/rates/bills.py`). A version is never changed."""


rate_choices = Table(
    "rate_choices",
    metadata,
    Column("id", Number, primary_key=True),
    Column("card_id", BigInteger, ForeignKey(rate_cards.c.id)),
    Column("sale_id", BigInteger, ForeignKey(sales.c.id)),
    Column("consignor_id", BigInteger, ForeignKey(consignors.c.id)),
    Column("lot_id", BigInteger, ForeignKey(lots.c.id)),
    Column("since", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Index("ix_rate_choices_card_id", "card_id"),
    Index("ix_rate_choices_sale_id", "sale_id"),
    Index("ix_rate_choices_consignor_id", "consignor_id"),
    Index("ix_rate_choices_lot_id", "lot_id"),
    Index("ix_rate_choices_by_id", "by_id"),
)
"""Which card somebody chose for a sale, a consignor or a lot: one of the three is set. The latest choice holds."""


journal_entries = Table(
    "journal_entries",
    metadata,
    Column("id", Number, primary_key=True),
    Column("sale_id", BigInteger, ForeignKey(sales.c.id), nullable=False),
    Column("kind", String, nullable=False),
    Column("lot_id", BigInteger, ForeignKey(lots.c.id)),
    Column("reverses", BigInteger, ForeignKey("journal_entries.id"), unique=True),
    Column("settled", Text),
    Column("at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("digest", String, nullable=False, server_default=""),
    Index("ix_journal_entries_sale_id", "sale_id"),
    Index("ix_journal_entries_lot_id", "lot_id"),
    Index("ix_journal_entries_by_id", "by_id"),
)
"""`reverses` is the entry that this one takes back. `settled` is the JSON of what an entry of a lot rests on
(`settlement/domain/journal.py`). An entry is never changed: `digest` covers its rows and the entries of the sale before it."""


journal_series = Table(
    "journal_series",
    metadata,
    Column("sale_id", BigInteger, ForeignKey(sales.c.id), primary_key=True, autoincrement=False),
    Column("last", BigInteger, nullable=False),
    Column("digest", String, nullable=False),
)
"""The last entry of each sale, by its number and its digest: without it nobody would miss the last ones."""


journal_postings = Table(
    "journal_postings",
    metadata,
    Column("id", Number, primary_key=True),
    Column("entry_id", BigInteger, ForeignKey(journal_entries.c.id), nullable=False),
    Column("book", String, nullable=False),
    Column("user_id", BigInteger, ForeignKey(users.c.id)),
    Column("consignor_id", BigInteger, ForeignKey(consignors.c.id)),
    Column("amount", Money, nullable=False),
    Column("debit", Boolean, nullable=False),
    Index("ix_journal_postings_entry_id", "entry_id"),
    Index("ix_journal_postings_user_id", "user_id"),
    Index("ix_journal_postings_consignor_id", "consignor_id"),
)
"""What an entry moves: an amount above 0, as a debit or a credit. A buyer is a user, a consignor one of `consignors`."""
