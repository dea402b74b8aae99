"""Lots that were handed out.

Revision: 0055.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "pickups",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("lot_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("to", sa.String(), nullable=False),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("undone_at", Instant(timezone=True)),
        sa.Column("undone_by_id", sa.BigInteger()),
        sa.ForeignKeyConstraint(["lot_id"], ["lots.id"], name="fk_pickups_lot_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_pickups_user_id"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_pickups_by_id"),
        sa.ForeignKeyConstraint(["undone_by_id"], ["users.id"], name="fk_pickups_undone_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_pickups"),
    )
    for name in ("lot_id", "user_id", "by_id", "undone_by_id"):
        op.create_index(f"ix_pickups_{name}", "pickups", [name])


def downgrade() -> None:
    """Go down: what was handed out is forgotten."""
    op.drop_table("pickups")
