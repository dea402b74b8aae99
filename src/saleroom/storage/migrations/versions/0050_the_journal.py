"""The journal of what buyers owe and consignors get.

Revision: 0050.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "journal_entries",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("sale_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("lot_id", sa.BigInteger()),
        sa.Column("reverses", sa.BigInteger()),
        sa.Column("settled", sa.Text()),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["sale_id"], ["sales.id"], name="fk_journal_entries_sale_id"),
        sa.ForeignKeyConstraint(["lot_id"], ["lots.id"], name="fk_journal_entries_lot_id"),
        sa.ForeignKeyConstraint(["reverses"], ["journal_entries.id"], name="fk_journal_entries_reverses"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_journal_entries_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_journal_entries"),
        sa.UniqueConstraint("reverses", name="uq_journal_entries_reverses"),
    )
    for column in ("sale_id", "lot_id", "by_id"):
        op.create_index(f"ix_journal_entries_{column}", "journal_entries", [column])
    op.create_table(
        "journal_postings",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("entry_id", sa.BigInteger(), nullable=False),
        sa.Column("book", sa.String(), nullable=False),
        sa.Column("user_id", sa.BigInteger()),
        sa.Column("consignor_id", sa.BigInteger()),
        sa.Column("amount", Money(precision=20, scale=3), nullable=False),
        sa.Column("debit", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["journal_entries.id"], name="fk_journal_postings_entry_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_journal_postings_user_id"),
        sa.ForeignKeyConstraint(["consignor_id"], ["consignors.id"], name="fk_journal_postings_consignor_id"),
        sa.PrimaryKeyConstraint("id", name="pk_journal_postings"),
    )
    for column in ("entry_id", "user_id", "consignor_id"):
        op.create_index(f"ix_journal_postings_{column}", "journal_postings", [column])


def downgrade() -> None:
    """Go down: the payments that were taken are forgotten."""
    op.drop_table("journal_postings")
    op.drop_table("journal_entries")
