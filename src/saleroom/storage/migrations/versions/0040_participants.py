"""Those who bid in sales, with their paddles and limits.

Revision: 0040.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "participants",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("sale_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("paddle", sa.Integer()),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("bid_limit", Money(precision=20, scale=3)),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("contact", sa.Text(), nullable=False),
        sa.Column("checked_in_at", Instant(timezone=True)),
        sa.Column("registered_at", Instant(timezone=True), nullable=False),
        sa.Column("guest", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["sale_id"], ["sales.id"], name="fk_participants_sale_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_participants_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_participants"),
        sa.UniqueConstraint("gid", name="uq_participants_gid"),
        sa.UniqueConstraint("sale_id", "user_id", name="uq_participants_sale_id_user_id"),
        sa.UniqueConstraint("sale_id", "paddle", name="uq_participants_sale_id_paddle"),
    )
    op.create_index("ix_participants_user_id", "participants", ["user_id"])


def downgrade() -> None:
    """Go down: nobody is a participant any more."""
    op.drop_index("ix_participants_user_id", table_name="participants")
    op.drop_table("participants")
