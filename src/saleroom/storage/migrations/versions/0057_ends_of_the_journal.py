"""Ends of the journal: the last entry of each sale, so that one which is deleted is missed.

Revision: 0057.
"""

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up: sales of before get the last entry that they have."""
    op.create_table(
        "journal_series",
        sa.Column("sale_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["sale_id"], ["sales.id"], name="fk_journal_series_sale_id"),
        sa.PrimaryKeyConstraint("sale_id", name="pk_journal_series"),
    )
    op.execute(
        "INSERT INTO journal_series (sale_id, last, digest) SELECT sale_id, id, digest FROM journal_entries "
        "WHERE id IN (SELECT max(id) FROM journal_entries GROUP BY sale_id)"
    )


def downgrade() -> None:
    """Go down."""
    op.drop_table("journal_series")
