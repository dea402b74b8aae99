"""Staff may approve users as sellers.

Revision: 0017.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.add_column("users", sa.Column("seller_since", Instant(timezone=True)))


def downgrade() -> None:
    """Go down: nobody is approved."""
    op.drop_column("users", "seller_since")
