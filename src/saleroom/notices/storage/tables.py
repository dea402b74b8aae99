"""The tables of notices."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, String, Table

from saleroom.accounts.storage.tables import users
from saleroom.storage.areas import AreaTables
from saleroom.storage.schema import metadata

notice_choices = Table(
    "notice_choices",
    metadata,
    Column("user_id", BigInteger, ForeignKey(users.c.id), primary_key=True, autoincrement=False),
    Column("channel", String, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("wanted", Boolean, nullable=False),
)
"""The words that users chose to get by a channel, or not to; without a row they get them."""


quiet_hours = Table(
    "quiet_hours",
    metadata,
    Column("user_id", BigInteger, ForeignKey(users.c.id), primary_key=True, autoincrement=False),
    Column("begins", String, nullable=False),
    Column("ends", String, nullable=False),
    Column("zone", String, nullable=False),
)
"""The hours in which users get nothing, as `22:30`, by the clock of a time zone."""

TABLES = AreaTables(tables=(notice_choices, quiet_hours))
