"""An auction may have a category.

Revision: 0014.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_CATEGORIZED = sa.text("category IS NOT NULL")


def upgrade() -> None:
    """Go up. The indexes are of the auctions with a category: those without one cost nothing."""
    op.add_column("auctions", sa.Column("category", sa.String(), nullable=True))
    for name, columns in (
        ("ix_auctions_category_ending_rank", ["category", "ending_rank", "id"]),
        ("ix_auctions_category", ["category", "id"]),
    ):
        op.create_index(
            name, "auctions", columns, unique=False, sqlite_where=_CATEGORIZED, postgresql_where=_CATEGORIZED
        )


def downgrade() -> None:
    """Go down: no lot and no event has a category any more. Ledgers stay as they are, because they have none."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "UPDATE events SET private = convert_to((convert_from(private, 'UTF8')::jsonb - 'category')::text, 'UTF8') "
            "WHERE type IN ('auction.created', 'auction.amended', 'photos.arranged') "
            "AND position('\"category\"'::bytea IN private) > 0"
        )
    else:
        op.execute(
            "UPDATE events SET private = CAST(json_remove(CAST(private AS TEXT), '$.category') AS BLOB) "
            "WHERE type IN ('auction.created', 'auction.amended', 'photos.arranged') "
            "AND instr(private, CAST('\"category\"' AS BLOB)) > 0"
        )
    op.drop_index("ix_auctions_category", table_name="auctions")
    op.drop_index("ix_auctions_category_ending_rank", table_name="auctions")
    op.drop_column("auctions", "category")
