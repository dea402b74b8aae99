"""Drafts of lots, and their photos.

Revision: 0010.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "drafts",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("owner_id", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.Column("saved_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_drafts_owner_id"),
        sa.PrimaryKeyConstraint("id", name="pk_drafts"),
        sa.UniqueConstraint("owner_id", "gid", name="uq_drafts_owner_id_gid"),
    )
    op.create_index("ix_drafts_saved_at", "drafts", ["saved_at"], unique=False)
    op.create_table(
        "draft_photos",
        sa.Column("draft_id", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("photo_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["draft_id"], ["drafts.id"], name="fk_draft_photos_draft_id"),
        sa.ForeignKeyConstraint(["photo_id"], ["photos.id"], name="fk_draft_photos_photo_id"),
        sa.PrimaryKeyConstraint("draft_id", "place", name="pk_draft_photos"),
    )
    op.create_index("ix_draft_photos_photo_id", "draft_photos", ["photo_id"], unique=False)


def downgrade() -> None:
    """Go down: drafts are gone with their tables."""
    op.drop_table("draft_photos")
    op.drop_table("drafts")
