"""Staff may hide a lot, and cancel one with a reason.

Revision: 0024.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up. No statement that places a bid writes the columns."""
    for name in ("taken_down", "cancelled_for"):
        op.add_column("auctions", sa.Column(name, sa.Text(), nullable=True))


def downgrade() -> None:
    """Go down. The log keeps the events, which an older house cannot read: such a house must not go down."""
    for name in ("cancelled_for", "taken_down"):
        op.drop_column("auctions", name)
