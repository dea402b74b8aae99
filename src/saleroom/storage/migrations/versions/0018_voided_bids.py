"""A bid may be voided.

Revision: 0018.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up. No statement that places a bid writes the column."""
    op.add_column("bids", sa.Column("voided", sa.Text(), nullable=True))


def downgrade() -> None:
    """Go down. The log keeps `bid.voided`, which an older house cannot read: such a house must not go down."""
    op.drop_column("bids", "voided")
