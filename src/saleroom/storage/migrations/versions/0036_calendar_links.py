"""Private links to the calendars of watch lists.

Revision: 0036.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "calendar_links",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_calendar_links_user_id"),
        sa.PrimaryKeyConstraint("user_id", name="pk_calendar_links"),
        sa.UniqueConstraint("token", name="uq_calendar_links_token"),
    )


def downgrade() -> None:
    """Go down: no link leads to a calendar any more."""
    op.drop_table("calendar_links")
