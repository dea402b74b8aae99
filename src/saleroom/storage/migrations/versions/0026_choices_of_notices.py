"""What users chose to get by mail, and when; and who watches a lot is found by the lot.

Revision: 0026.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "notice_choices",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("wanted", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_notice_choices_user_id"),
        sa.PrimaryKeyConstraint("user_id", "channel", "kind", name="pk_notice_choices"),
    )
    op.create_table(
        "quiet_hours",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("begins", sa.String(), nullable=False),
        sa.Column("ends", sa.String(), nullable=False),
        sa.Column("zone", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_quiet_hours_user_id"),
        sa.PrimaryKeyConstraint("user_id", name="pk_quiet_hours"),
    )
    op.create_index("ix_watches_auction_id", "watches", ["auction_id"])


def downgrade() -> None:
    """Go down: everybody gets every word again."""
    op.drop_index("ix_watches_auction_id", table_name="watches")
    op.drop_table("quiet_hours")
    op.drop_table("notice_choices")
