"""Reminders of invoices that are not paid, and strikes.

Revision: 0054.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.add_column("sanctions", sa.Column("subject", sa.String()))
    op.create_table(
        "reminders",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger()),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name="fk_reminders_document_id"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_reminders_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_reminders"),
        sa.UniqueConstraint("document_id", "level", name="uq_reminders_document_id_level"),
    )
    op.create_index("ix_reminders_by_id", "reminders", ["by_id"])


def downgrade() -> None:
    """Go down: strikes, which earlier versions do not know, are gone, and bans for them stay."""
    op.drop_table("reminders")
    op.execute("DELETE FROM sanctions WHERE kind = 'strike'")
    op.drop_column("sanctions", "subject")
