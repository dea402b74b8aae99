"""Fewer checks for each bid: their rows are written under the lock of the auction itself.

Revision: 0002.
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    with op.batch_alter_table("events") as events:
        events.drop_constraint("uq_events_auction_id_version", type_="unique")
        events.drop_constraint("fk_events_auction_id", type_="foreignkey")
    with op.batch_alter_table("bids") as bids:
        bids.drop_constraint("fk_bids_auction_id", type_="foreignkey")
        bids.drop_constraint("fk_bids_bidder_id", type_="foreignkey")


def downgrade() -> None:
    """Go down."""
    with op.batch_alter_table("bids") as bids:
        bids.create_foreign_key("fk_bids_auction_id", "auctions", ["auction_id"], ["id"])
        bids.create_foreign_key("fk_bids_bidder_id", "users", ["bidder_id"], ["id"])
    with op.batch_alter_table("events") as events:
        events.create_foreign_key("fk_events_auction_id", "auctions", ["auction_id"], ["id"])
        events.create_unique_constraint("uq_events_auction_id_version", ["auction_id", "version"])
