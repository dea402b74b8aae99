"""Fund-a-need: lots with levels in place of an auction, and their pledges.

Revision: 0048.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money, Number

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up: all lots are auctions."""
    op.add_column("lots", sa.Column("need", sa.Text()))
    op.add_column("lots", sa.Column("stage", sa.String()))
    op.create_table(
        "pledges",
        sa.Column("id", Number, nullable=False),
        sa.Column("lot_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("amount", Money(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("undone_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["lot_id"], ["lots.id"], name="fk_pledges_lot_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_pledges_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_pledges"),
        sa.UniqueConstraint("lot_id", "number", name="uq_pledges_lot_id_number"),
    )
    op.create_index("ix_pledges_lot_id_user_id", "pledges", ["lot_id", "user_id"])
    op.create_index("ix_pledges_user_id", "pledges", ["user_id"])


def downgrade() -> None:
    """Go down: the pledges are gone, and a fund-a-need is a lot that was never put up."""
    op.drop_table("pledges")
    op.drop_column("lots", "stage")
    op.drop_column("lots", "need")
