"""The broker is not owed the events of sales that happened before the house published them.

Revision: 0042.
"""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up. The states of sales that are over stay away from the broker too; those of the others come with a connection."""
    op.execute(sa.text("UPDATE sale_events SET delivered_at = at WHERE delivered_at IS NULL"))
    over = sa.text("UPDATE sale_events SET cleared_at = at WHERE type IN ('sale.closed', 'sale.cancelled')")
    op.execute(over)


def downgrade() -> None:
    """Go down: earlier versions do not read these columns."""
