"""An index of the events by which a clerk has named the bidder of a bid of the floor.

Revision: 0067.
"""

import sqlalchemy as sa
from alembic import op

revision = "0067"
down_revision = "0064"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    named = sa.text("type = 'bidder.named'")
    op.create_index("ix_events_named", "events", ["private"], sqlite_where=named, postgresql_where=named)


def downgrade() -> None:
    """Go down."""
    op.drop_index("ix_events_named", table_name="events")
