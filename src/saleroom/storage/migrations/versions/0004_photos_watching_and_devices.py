"""Photos of lots, lots that are watched, and which device a session is on.

Revision: 0004.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_UNPLACED = sa.text("auction_id IS NULL")


def upgrade() -> None:
    """Go up."""
    op.add_column("auth_tokens", sa.Column("agent", sa.String(), nullable=True))
    op.create_table(
        "photos",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("owner_id", sa.BigInteger(), nullable=False),
        sa.Column("auction_id", sa.BigInteger(), nullable=True),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.Column("unplaced_at", Instant(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_photos_owner_id"),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name="fk_photos_auction_id"),
        sa.PrimaryKeyConstraint("id", name="pk_photos"),
        sa.UniqueConstraint("gid", name="uq_photos_gid"),
        sa.UniqueConstraint("auction_id", "place", name="uq_photos_auction_id_place"),
    )
    for column in ("owner_id", "unplaced_at"):
        op.create_index(
            f"ix_photos_{column}",
            "photos",
            [column],
            unique=False,
            sqlite_where=_UNPLACED,
            postgresql_where=_UNPLACED,
        )
    op.create_table(
        "photo_files",
        sa.Column("photo_id", sa.BigInteger(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("bytes", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["photo_id"], ["photos.id"], name="fk_photo_files_photo_id"),
        sa.PrimaryKeyConstraint("photo_id", "width", name="pk_photo_files"),
    )
    op.create_table(
        "watches",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("auction_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_watches_user_id"),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name="fk_watches_auction_id"),
        sa.PrimaryKeyConstraint("id", name="pk_watches"),
        sa.UniqueConstraint("user_id", "auction_id", name="uq_watches_user_id_auction_id"),
    )
    op.create_index("ix_watches_user_id", "watches", ["user_id", "id"], unique=False)


def downgrade() -> None:
    """Go down: photos and stars are gone with their tables."""
    for table in ("watches", "photo_files", "photos"):
        op.drop_table(table)
    op.drop_column("auth_tokens", "agent")
