"""Who is a member, and pays and bears the rates of members.

Revision: 0069.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0069"
down_revision = "0068"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "memberships",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", sa.BigInteger()),
        sa.Column("consignor_id", sa.BigInteger()),
        sa.Column("is_member", sa.Boolean(), nullable=False),
        sa.Column("until", Instant(timezone=True)),
        sa.Column("since", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_memberships_user_id"),
        sa.ForeignKeyConstraint(["consignor_id"], ["consignors.id"], name="fk_memberships_consignor_id"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_memberships_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_memberships"),
    )
    for name in ("user_id", "consignor_id", "by_id"):
        op.create_index(f"ix_memberships_{name}", "memberships", [name])


def downgrade() -> None:
    """Go down: nobody is a member."""
    op.drop_table("memberships")
