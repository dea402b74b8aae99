"""The table of after-sale offers."""

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
