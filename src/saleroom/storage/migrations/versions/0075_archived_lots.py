"""Archived lots: their first events are in files, and a row says so.

Revision: 0075.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0075"
down_revision = "0072"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "archived",
        sa.Column("auction_id", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("archived_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name="fk_archived_auction_id_auctions"),
        sa.PrimaryKeyConstraint("auction_id", name="pk_archived"),
    )


def downgrade() -> None:
    """Go down. The first events of archived lots are then in files alone, which no older house reads."""
    op.drop_table("archived")
