"""The book: absentee bids that staff have entered.

Revision: 0047.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "book_lines",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("auction_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("maximum", Money(precision=20, scale=3), nullable=False),
        sa.Column("clerk_id", sa.BigInteger(), nullable=False),
        sa.Column("entered_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name="fk_book_lines_auction_id"),
        sa.ForeignKeyConstraint(["clerk_id"], ["users.id"], name="fk_book_lines_clerk_id"),
        sa.PrimaryKeyConstraint("id", name="pk_book_lines"),
    )
    op.create_index("ix_book_lines_auction_id", "book_lines", ["auction_id"])


def downgrade() -> None:
    """Go down: the bids stay, but nobody knows any more which of them staff have entered."""
    op.drop_index("ix_book_lines_auction_id", table_name="book_lines")
    op.drop_table("book_lines")
