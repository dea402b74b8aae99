"""Users have a role; those of earlier versions are members.

Revision: 0015.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.add_column("users", sa.Column("role", sa.String(), nullable=False, server_default="member"))


def downgrade() -> None:
    """Go down: everybody is what everybody was."""
    op.drop_column("users", "role")
