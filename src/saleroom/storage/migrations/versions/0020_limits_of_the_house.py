"""Failed logins and registrations are counted for all processes of a house together.

Revision: 0020.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "rate_limits",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("kept_until", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_rate_limits"),
    )
    op.create_index("ix_rate_limits_kept_until", "rate_limits", ["kept_until"], unique=False)


def downgrade() -> None:
    """Go down: every address starts at zero."""
    op.drop_table("rate_limits")
