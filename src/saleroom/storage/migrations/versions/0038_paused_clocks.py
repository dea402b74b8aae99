"""The clock of an auction can stand still.

Revision: 0038.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up: every clock goes."""
    op.add_column("auctions", sa.Column("paused_at", Instant(timezone=True)))


def downgrade() -> None:
    """Go down. An auction whose clock stands still ends by its old end."""
    op.drop_column("auctions", "paused_at")
