"""The tables of settlement."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage.tables import consignors, lots, sales
from saleroom.storage.schema import Instant, Number, metadata

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
"""`terms` are JSON (`settlement/domain/rates.py`). A version is never changed."""


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
