"""Outages: what one did to the auctions is put right some hundreds of them at a time, so the house notes how far it has come.

Revision: 0072.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0072"
down_revision = "0071"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "outages",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("began", Instant(), nullable=False),
        sa.Column("noticed", Instant(), nullable=False),
        sa.Column("reached", Instant(), nullable=False),
        sa.Column("reached_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_outages"),
    )


def downgrade() -> None:
    """Go down."""
    op.drop_table("outages")
