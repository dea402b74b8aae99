"""Staff may warn, suspend and ban users.

Revision: 0025.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_COLUMNS = ("barred", "barred_until", "barred_reason", "warning")


def upgrade() -> None:
    """Go up."""
    op.add_column("users", sa.Column("barred", sa.String()))
    op.add_column("users", sa.Column("barred_until", Instant(timezone=True)))
    op.add_column("users", sa.Column("barred_reason", sa.Text()))
    op.add_column("users", sa.Column("warning", sa.Text()))
    op.create_table(
        "sanctions",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by_id", sa.BigInteger()),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("until", Instant(timezone=True)),
        sa.Column("ended_at", Instant(timezone=True)),
        sa.Column("ended_by_id", sa.BigInteger()),
        sa.Column("ended_reason", sa.Text()),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sanctions_user_id"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_sanctions_by_id"),
        sa.ForeignKeyConstraint(["ended_by_id"], ["users.id"], name="fk_sanctions_ended_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_sanctions"),
    )
    op.create_index("ix_sanctions_user_id", "sanctions", ["user_id"])


def downgrade() -> None:
    """Go down: nobody is barred or warned."""
    op.drop_table("sanctions")
    for name in _COLUMNS:
        op.drop_column("users", name)
