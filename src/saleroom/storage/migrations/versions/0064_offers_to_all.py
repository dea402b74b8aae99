"""Offers after a sale to all who have a paddle.

Revision: 0064.
"""

import sqlalchemy as sa
from alembic import op

revision = "0064"
down_revision = "0060"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up: what was offered before was offered to one."""
    with op.batch_alter_table("offers") as batch:
        batch.alter_column("user_id", existing_type=sa.BigInteger(), nullable=True)
        batch.add_column(sa.Column("to_all", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("offers") as batch:
        batch.alter_column("to_all", existing_type=sa.Boolean(), server_default=None)


def downgrade() -> None:
    """Go down: offers to all that nobody has accepted are forgotten."""
    op.execute(sa.text("DELETE FROM offers WHERE user_id IS NULL"))
    with op.batch_alter_table("offers") as batch:
        batch.drop_column("to_all")
        batch.alter_column("user_id", existing_type=sa.BigInteger(), nullable=False)
