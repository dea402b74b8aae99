"""What banks have said of payouts, by payment status reports and statements.

Revision: 0070.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0070"
down_revision = "0069"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "payout_reports",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("payout_id", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("said_at", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("doubt", sa.String()),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("seal", sa.String(), nullable=False),
        sa.Column("imported_at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("checked_at", Instant(timezone=True)),
        sa.Column("checked_by_id", sa.BigInteger()),
        sa.ForeignKeyConstraint(["payout_id"], ["payouts.id"], name="fk_payout_reports_payout_id"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_payout_reports_by_id"),
        sa.ForeignKeyConstraint(["checked_by_id"], ["users.id"], name="fk_payout_reports_checked_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_payout_reports"),
        sa.UniqueConstraint("digest", name="uq_payout_reports_digest"),
    )
    for name in ("payout_id", "by_id", "checked_by_id"):
        op.create_index(f"ix_payout_reports_{name}", "payout_reports", [name])


def downgrade() -> None:
    """Go down: what became of payouts stays."""
    op.drop_table("payout_reports")
