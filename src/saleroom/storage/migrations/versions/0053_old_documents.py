"""Documents without the name of their party, once their time to be kept is over.

Revision: 0053.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.add_column("documents", sa.Column("forgotten_at", Instant(timezone=True)))
    op.add_column("documents", sa.Column("rest_digest", sa.String()))


def downgrade() -> None:
    """Go down: names that are gone stay gone, and the check finds that these documents do not have their digest."""
    op.drop_column("documents", "rest_digest")
    op.drop_column("documents", "forgotten_at")
