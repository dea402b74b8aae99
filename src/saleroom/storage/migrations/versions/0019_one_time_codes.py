"""One-time codes and recovery codes.

Revision: 0019.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "one_time_codes",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.Column("confirmed_at", Instant(timezone=True)),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_one_time_codes_user_id"),
        sa.PrimaryKeyConstraint("user_id", name="pk_one_time_codes"),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_recovery_codes_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_recovery_codes"),
        sa.UniqueConstraint("user_id", "digest", name="uq_recovery_codes_user_id_digest"),
    )


def downgrade() -> None:
    """Go down: accounts are without one-time codes again."""
    op.drop_table("recovery_codes")
    op.drop_table("one_time_codes")
