"""The lot on the block of a live sale.

Revision: 0043.
"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up: nothing has been called yet."""
    op.add_column("auctions", sa.Column("block", sa.Text()))
    op.add_column("sales", sa.Column("block", sa.String()))


def downgrade() -> None:
    """Go down. The logs keep the events of the block, which an older house cannot read: such a house must not go down."""
    op.drop_column("sales", "block")
    op.drop_column("auctions", "block")
