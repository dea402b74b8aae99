"""Staff hide lots that are over too, beside their ledgers.

Revision: 0035.
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up: no lot that is over is hidden."""
    op.add_column("auctions", sa.Column("withheld", sa.Text()))


def downgrade() -> None:
    """Go down: all of them are shown again."""
    op.drop_column("auctions", "withheld")
