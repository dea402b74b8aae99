"""Auctions that are lots of a sale, and the names by which its bidders are shown.

Revision: 0037.
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

_IN_SALE = sa.text("sale_id IS NOT NULL")


def upgrade() -> None:
    """Go up: no auction of before belongs to a sale."""
    op.add_column("auctions", sa.Column("sale_id", sa.BigInteger()))
    op.create_index(
        "ix_auctions_sale_id", "auctions", ["sale_id", "id"], sqlite_where=_IN_SALE, postgresql_where=_IN_SALE
    )
    op.create_table(
        "bidder_names",
        sa.Column("sale_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_bidder_names_user_id"),
        sa.PrimaryKeyConstraint("sale_id", "user_id", name="pk_bidder_names"),
        sa.UniqueConstraint("sale_id", "name", name="uq_bidder_names_sale_id_name"),
    )


def downgrade() -> None:
    """Go down: the lots of sales are auctions like all others, and bidders are shown by their usernames."""
    op.drop_table("bidder_names")
    op.drop_index("ix_auctions_sale_id", table_name="auctions")
    op.drop_column("auctions", "sale_id")
