"""Payments on the statements of banks.

Revision: 0052.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "bank_payments",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("booked_on", sa.String(), nullable=False),
        sa.Column("amount", Money(precision=20, scale=3), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("payer", sa.String(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("imported_at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("entry_id", sa.BigInteger()),
        sa.Column("reason", sa.Text()),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_bank_payments_by_id"),
        sa.ForeignKeyConstraint(["entry_id"], ["journal_entries.id"], name="fk_bank_payments_entry_id"),
        sa.PrimaryKeyConstraint("id", name="pk_bank_payments"),
        sa.UniqueConstraint("gid", name="uq_bank_payments_gid"),
        sa.UniqueConstraint("digest", name="uq_bank_payments_digest"),
        sa.UniqueConstraint("entry_id", name="uq_bank_payments_entry_id"),
    )
    op.create_index("ix_bank_payments_by_id", "bank_payments", ["by_id"])


def downgrade() -> None:
    """Go down: payments that wait for a person are forgotten, those that were taken stay in the journal."""
    op.drop_table("bank_payments")
