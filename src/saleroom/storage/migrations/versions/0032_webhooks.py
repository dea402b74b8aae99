"""Webhooks: addresses that words and events are posted to.

Revision: 0032.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "webhooks",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.Column("salt", sa.String(), nullable=False),
        sa.Column("old_salt", sa.String(), nullable=True),
        sa.Column("old_until", Instant(timezone=True), nullable=True),
        sa.Column("off", sa.String(), nullable=True),
        sa.Column("off_at", Instant(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_webhooks_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
    )
    op.create_index("ix_webhooks_user_id", "webhooks", ["user_id"])
    those = sa.text("channel = 'webhook'")
    op.create_index("ix_outbox_webhook", "outbox", ["address", "id"], sqlite_where=those, postgresql_where=those)


def downgrade() -> None:
    """Go down: nothing is posted any more."""
    op.drop_index("ix_outbox_webhook", table_name="outbox")
    op.drop_index("ix_webhooks_user_id", table_name="webhooks")
    op.drop_table("webhooks")
