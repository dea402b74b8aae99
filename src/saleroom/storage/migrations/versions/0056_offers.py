"""Offers of lots that were not sold.

Revision: 0056.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "offers",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("lot_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("price", Money(precision=20, scale=3), nullable=False),
        sa.Column("offered_at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("until", Instant(timezone=True), nullable=False),
        sa.Column("settled", sa.String()),
        sa.Column("settled_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["lot_id"], ["lots.id"], name="fk_offers_lot_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_offers_user_id"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_offers_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_offers"),
        sa.UniqueConstraint("gid", name="uq_offers_gid"),
    )
    for name in ("lot_id", "user_id", "by_id"):
        op.create_index(f"ix_offers_{name}", "offers", [name])


def downgrade() -> None:
    """Go down: offers are forgotten; lots that were accepted stay sold."""
    op.drop_table("offers")
