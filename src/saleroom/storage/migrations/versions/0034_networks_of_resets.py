"""Requests of forgotten passwords count by the network that they come from.

Revision: 0034.
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up. Links from before come from no network that the house knows."""
    op.add_column("password_requests", sa.Column("network", sa.String()))
    op.add_column("mail_links", sa.Column("network", sa.String()))
    op.add_column("mail_links", sa.Column("is_known", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Go down: all links count together again."""
    op.drop_column("mail_links", "is_known")
    op.drop_column("mail_links", "network")
    op.drop_column("password_requests", "network")
