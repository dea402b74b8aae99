"""The processes that serve, and what each says of itself.

Revision: 0031.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "processes",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("started_at", Instant(timezone=True), nullable=False),
        sa.Column("seen_at", Instant(timezone=True), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_processes"),
    )


def downgrade() -> None:
    """Go down."""
    op.drop_table("processes")
