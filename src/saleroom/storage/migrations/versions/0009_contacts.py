"""Users leave a contact for those with whom a sale joins them.

Revision: 0009.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "contacts",
        sa.Column("user_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("contact", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_contacts_user_id"),
        sa.PrimaryKeyConstraint("user_id", name="pk_contacts"),
    )


def downgrade() -> None:
    """Go down."""
    op.drop_table("contacts")
