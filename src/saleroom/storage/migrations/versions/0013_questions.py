"""Questions to the sellers of lots.

Revision: 0013.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "questions",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("auction_id", sa.BigInteger(), nullable=False),
        sa.Column("asker_id", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("asked_at", Instant(timezone=True), nullable=False),
        sa.Column("answer", sa.Text()),
        sa.Column("settled_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name="fk_questions_auction_id"),
        sa.ForeignKeyConstraint(["asker_id"], ["users.id"], name="fk_questions_asker_id"),
        sa.PrimaryKeyConstraint("id", name="pk_questions"),
    )
    op.create_index("ix_questions_auction_id", "questions", ["auction_id", "id"])
    op.create_index("ix_questions_asker_id", "questions", ["asker_id", "asked_at"])


def downgrade() -> None:
    """Go down: questions are gone with their table."""
    op.drop_table("questions")
