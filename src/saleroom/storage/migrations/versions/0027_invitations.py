"""Invitations to roles.

Revision: 0027.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "invitations",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("by_id", sa.BigInteger()),
        sa.Column("address", sa.String()),
        sa.Column("made_at", Instant(timezone=True), nullable=False),
        sa.Column("expires_at", Instant(timezone=True), nullable=False),
        sa.Column("used_at", Instant(timezone=True)),
        sa.Column("used_by_id", sa.BigInteger()),
        sa.Column("revoked_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_invitations_by_id"),
        sa.ForeignKeyConstraint(["used_by_id"], ["users.id"], name="fk_invitations_used_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_invitations"),
    )
    op.create_index("ix_invitations_made_at", "invitations", ["made_at"])


def downgrade() -> None:
    """Go down: invitations that were not taken are gone."""
    op.drop_table("invitations")
