"""A photo keeps the digest of the file that it came as, so that an import knows what has come before.

Revision: 0041.
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up. Of photos from before nobody knows the files."""
    op.add_column("photos", sa.Column("sent_digest", sa.String()))


def downgrade() -> None:
    """Go down."""
    op.drop_column("photos", "sent_digest")
