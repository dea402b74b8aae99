"""People can be erased: their name is replaced by a pseudonym.

Revision: 0033.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.add_column("users", sa.Column("erased_at", Instant(timezone=True)))
    op.add_column("users", sa.Column("former_name", sa.String()))
    op.create_index("ix_users_former_name", "users", ["former_name"])
    op.add_column("auctions", sa.Column("renamed", sa.Integer(), nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    """Go down: pseudonyms stay, as nobody knows the names any more."""
    op.drop_column("auctions", "renamed")
    op.drop_index("ix_users_former_name", "users")
    op.drop_column("users", "former_name")
    op.drop_column("users", "erased_at")
