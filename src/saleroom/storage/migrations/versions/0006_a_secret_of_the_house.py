"""The house has a secret that all its processes share, to seal cursors and to check forms with.

Revision: 0006.
"""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    table = op.create_table(
        "secrets",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_secrets"),
    )
    op.bulk_insert(table, [{"name": "house", "value": secrets.token_hex(32)}])


def downgrade() -> None:
    """Go down: earlier cursors and open forms are refused once there is another secret."""
    op.drop_table("secrets")
