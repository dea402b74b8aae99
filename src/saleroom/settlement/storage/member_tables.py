"""The table of memberships."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage.tables import consignors
from saleroom.storage.schema import Instant, Number, metadata

memberships = Table(
    "memberships",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey(users.c.id)),
    Column("consignor_id", BigInteger, ForeignKey(consignors.c.id)),
    Column("is_member", Boolean, nullable=False),
    Column("until", Instant),
    Column("since", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Index("ix_memberships_user_id", "user_id"),
    Index("ix_memberships_consignor_id", "consignor_id"),
    Index("ix_memberships_by_id", "by_id"),
)
"""That a user as a buyer, or a consignor, is a member from `since` on, or is none: one of the two is set. The latest row holds,
up to its `until`. A row is never changed, so what held at any hammer can be read later."""
