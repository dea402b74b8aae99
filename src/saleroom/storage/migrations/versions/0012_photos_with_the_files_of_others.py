"""A photo may show the files of another one, so that a lot that is offered again has its photos.

Revision: 0012.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.add_column("photos", sa.Column("source_id", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Go down: each copy gets files of its own."""
    op.execute(
        "INSERT INTO photo_files (photo_id, width, digest, bytes) SELECT p.id, f.width, f.digest, f.bytes "
        "FROM photos AS p JOIN photo_files AS f ON f.photo_id = p.source_id"
    )
    op.drop_column("photos", "source_id")
