"""An auction has the version of the last change to its terms or photos.

Revision: 0008.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up: it is the version of the last event that changed the terms or the photos."""
    op.add_column("auctions", sa.Column("terms_version", sa.Integer(), nullable=False, server_default=sa.text("1")))
    op.execute(
        "UPDATE auctions SET terms_version = changed.version FROM (SELECT auction_id, MAX(version) AS version FROM events "
        "WHERE type IN ('auction.amended', 'photos.arranged') GROUP BY auction_id) AS changed "
        "WHERE changed.auction_id = auctions.id"
    )


def downgrade() -> None:
    """Go down."""
    op.drop_column("auctions", "terms_version")
