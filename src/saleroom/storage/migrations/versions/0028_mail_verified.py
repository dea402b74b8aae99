"""Whether a user has a verified mail address stands on their own row.

Revision: 0028.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up: those who have verified an address are marked."""
    op.add_column("users", sa.Column("mail_verified", sa.Boolean(), nullable=False, server_default=sa.false()))
    users = sa.table("users", sa.column("id"), sa.column("mail_verified", sa.Boolean()))
    addresses = sa.table("mail_addresses", sa.column("user_id"), sa.column("verified_at"))
    verified = sa.select(addresses.c.user_id).where(addresses.c.verified_at.is_not(None))
    op.execute(users.update().where(users.c.id.in_(verified)).values(mail_verified=True))


def downgrade() -> None:
    """Go down."""
    op.drop_column("users", "mail_verified")
