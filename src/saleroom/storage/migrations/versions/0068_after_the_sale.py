"""What became of lots that were not sold: the next sale, or back to the consignor.

Revision: 0068.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0068"
down_revision = "0067"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "after_sale",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("lot_id", sa.BigInteger(), nullable=False),
        sa.Column("new_lot_id", sa.BigInteger()),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("undone_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["lot_id"], ["lots.id"], name="fk_after_sale_lot_id"),
        sa.ForeignKeyConstraint(["new_lot_id"], ["lots.id"], name="fk_after_sale_new_lot_id"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_after_sale_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_after_sale"),
        sa.UniqueConstraint("new_lot_id", name="uq_after_sale_new_lot_id"),
    )
    for name in ("lot_id", "by_id"):
        op.create_index(f"ix_after_sale_{name}", "after_sale", [name])


def downgrade() -> None:
    """Go down: the lots of other sales stay."""
    op.drop_table("after_sale")
