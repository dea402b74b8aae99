"""The table of the series of rows."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, String, Table

from saleroom.storage.schema import metadata

row_series = Table(
    "row_series",
    metadata,
    Column("of", String, primary_key=True),
    Column("rows", BigInteger, nullable=False),
    Column("digest", String, nullable=False),
)
"""How many rows a table has, and the digest of what never changes in them, up to the last one: without it nobody would miss a
row. A transaction that adds rows locks the one of their table first, so their numbers are in the order of the series."""
