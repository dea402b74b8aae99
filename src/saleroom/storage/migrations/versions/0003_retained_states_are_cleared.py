"""Retained states are cleared: which event ended an auction whose state an MQTT broker may still hold.

Revision: 0003.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_STATE_KEPT = sa.text("type IN ('auction.closed', 'auction.cancelled') AND cleared_at IS NULL")


def upgrade() -> None:
    """Go up."""
    op.add_column("events", sa.Column("cleared_at", Instant(timezone=True), nullable=True))
    op.create_index(
        "ix_events_state_kept",
        "events",
        ["delivered_at"],
        unique=False,
        sqlite_where=_STATE_KEPT,
        postgresql_where=_STATE_KEPT,
    )


def downgrade() -> None:
    """Go down."""
    op.drop_index("ix_events_state_kept", "events")
    op.drop_column("events", "cleared_at")
