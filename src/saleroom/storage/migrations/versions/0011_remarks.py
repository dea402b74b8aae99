"""Remarks of sellers on their lots.

Revision: 0011.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "remarks",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("auction_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("written_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name="fk_remarks_auction_id"),
        sa.PrimaryKeyConstraint("id", name="pk_remarks"),
        sa.UniqueConstraint("auction_id", "number", name="uq_remarks_auction_id_number"),
    )


def downgrade() -> None:
    """Go down: remarks are gone with their table."""
    op.drop_table("remarks")
