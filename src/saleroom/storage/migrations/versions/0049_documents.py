"""Documents of settlement, and their series of numbers.

Revision: 0049.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "document_series",
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("year", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "year", name="pk_document_series"),
    )
    op.create_table(
        "documents",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("year", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("sale_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger()),
        sa.Column("consignor_id", sa.BigInteger()),
        sa.Column("credits_id", sa.BigInteger()),
        sa.Column("issued_at", Instant(timezone=True), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["sale_id"], ["sales.id"], name="fk_documents_sale_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_documents_user_id"),
        sa.ForeignKeyConstraint(["consignor_id"], ["consignors.id"], name="fk_documents_consignor_id"),
        sa.ForeignKeyConstraint(["credits_id"], ["documents.id"], name="fk_documents_credits_id"),
        sa.PrimaryKeyConstraint("id", name="pk_documents"),
        sa.UniqueConstraint("gid", name="uq_documents_gid"),
        sa.UniqueConstraint("kind", "year", "place", name="uq_documents_kind_year_place"),
    )
    op.create_index("ix_documents_sale_id", "documents", ["sale_id", "id"])
    for column in ("user_id", "consignor_id", "credits_id"):
        op.create_index(f"ix_documents_{column}", "documents", [column])
    op.create_table(
        "document_lots",
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("lot_id", sa.BigInteger(), nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["lot_id"], ["lots.id"], name="fk_document_lots_lot_id"),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name="fk_document_lots_document_id"),
        sa.PrimaryKeyConstraint("kind", "lot_id", name="pk_document_lots"),
    )
    op.create_index("ix_document_lots_document_id", "document_lots", ["document_id"])
    op.create_table(
        "document_credits",
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("credit_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name="fk_document_credits_document_id"),
        sa.ForeignKeyConstraint(["credit_id"], ["documents.id"], name="fk_document_credits_credit_id"),
        sa.PrimaryKeyConstraint("document_id", "place", name="pk_document_credits"),
    )
    op.create_index("ix_document_credits_credit_id", "document_credits", ["credit_id"])


def downgrade() -> None:
    """Go down: all documents are lost."""
    for table in ("document_credits", "document_lots", "documents", "document_series"):
        op.drop_table(table)
