"""What the labels of lots showed when they were last printed.

Revision: 0045.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0045"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "lot_prints",
        sa.Column("lot_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("printed_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["lot_id"], ["lots.id"], name="fk_lot_prints_lot_id"),
        sa.PrimaryKeyConstraint("lot_id", name="pk_lot_prints"),
    )


def downgrade() -> None:
    """Go down: nobody knows any more which labels were printed."""
    op.drop_table("lot_prints")
