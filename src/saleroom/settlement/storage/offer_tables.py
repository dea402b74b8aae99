"""The tables of after-sale offers, and of what else became of lots that were not sold."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, String, Table

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage.tables import lots
from saleroom.storage.schema import Instant, Money, Number, metadata

offers = Table(
    "offers",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("lot_id", BigInteger, ForeignKey(lots.c.id), nullable=False),
    Column("user_id", BigInteger, ForeignKey(users.c.id)),
    Column("to_all", Boolean, nullable=False),
    Column("price", Money, nullable=False),
    Column("offered_at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("until", Instant, nullable=False),
    Column("settled", String),
    Column("settled_at", Instant),
    Index("ix_offers_lot_id", "lot_id"),
    Index("ix_offers_user_id", "user_id"),
    Index("ix_offers_by_id", "by_id"),
)
"""Lots that were not sold, offered to users after the sale. `settled` is one of `domain.offers.OfferState`, null while
nobody has ended the offer; one whose `until` has passed is expired all the same. An offer `to_all` has no user until one
accepts it."""

after_sale = Table(
    "after_sale",
    metadata,
    Column("id", Number, primary_key=True),
    Column("lot_id", BigInteger, ForeignKey(lots.c.id), nullable=False),
    Column("new_lot_id", BigInteger, ForeignKey(lots.c.id), unique=True),
    Column("at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("undone_at", Instant),
    Index("ix_after_sale_lot_id", "lot_id"),
    Index("ix_after_sale_by_id", "by_id"),
)
"""Lots that were not sold: which lot of another sale each became, or null if it went back to its consignor. A row that is
undone stays as history; one whose new lot was withdrawn does not count."""
