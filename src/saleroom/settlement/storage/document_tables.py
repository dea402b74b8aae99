"""The tables of documents."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage.tables import consignors, lots, sales
from saleroom.storage.schema import Instant, Number, metadata

document_series = Table(
    "document_series",
    metadata,
    Column("kind", String, primary_key=True),
    Column("year", Integer, primary_key=True, autoincrement=False),
    Column("last", Integer, nullable=False),
    Column("digest", String, nullable=False),
)
"""The last number and the last digest of each series. Its row is locked by each transaction that issues a document."""


documents = Table(
    "documents",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("kind", String, nullable=False),
    Column("year", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("sale_id", BigInteger, ForeignKey(sales.c.id), nullable=False),
    Column("user_id", BigInteger, ForeignKey(users.c.id)),
    Column("consignor_id", BigInteger, ForeignKey(consignors.c.id)),
    Column("credits_id", BigInteger, ForeignKey("documents.id")),
    Column("issued_at", Instant, nullable=False),
    Column("content", Text, nullable=False),
    Column("digest", String, nullable=False),
    Column("forgotten_at", Instant),
    Column("rest_digest", String),
    UniqueConstraint("kind", "year", "place"),
    Index("ix_documents_sale_id", "sale_id", "id"),
    Index("ix_documents_user_id", "user_id"),
    Index("ix_documents_consignor_id", "consignor_id"),
    Index("ix_documents_credits_id", "credits_id"),
)
"""Issued documents, which are not changed as long as they are kept. `content` is JSON
(`domain/documents/content.py`), and `digest` that of its series up to it.
`credits_id` is the document that a credit note takes back.

A document whose time to be kept is over has a `forgotten_at`:
its `content` lacks whom it was for, `digest` is that of all it said, and `rest_digest` that of what is left."""


document_lots = Table(
    "document_lots",
    metadata,
    Column("kind", String, primary_key=True),
    Column("lot_id", BigInteger, ForeignKey(lots.c.id), primary_key=True),
    Column("document_id", BigInteger, ForeignKey(documents.c.id), nullable=False),
    Index("ix_document_lots_document_id", "document_id"),
)
"""The invoice and the statement that a lot is on; there is no row any more once they are credited."""


document_credits = Table(
    "document_credits",
    metadata,
    Column("document_id", BigInteger, ForeignKey(documents.c.id), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("credit_id", BigInteger, ForeignKey(documents.c.id), nullable=False),
    Index("ix_document_credits_credit_id", "credit_id"),
)
"""The lines of documents that credit notes have taken back, each once."""

DOCUMENT_TABLES = (document_series, documents, document_lots, document_credits)
