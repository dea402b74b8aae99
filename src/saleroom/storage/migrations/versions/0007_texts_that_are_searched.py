"""Searches have an index, the lots that run are counted by one, and on SQLite descriptions come last in their rows.

Revision: 0007.
"""

import sqlalchemy as sa
import structlog
from alembic import op

from saleroom.bidding.storage import search_index
from saleroom.storage.database import Transaction

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

log = structlog.get_logger()

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_RUNNING = sa.text("status IN ('scheduled', 'open')")
_TOLD_EVERY = 1000


def upgrade() -> None:
    """Go up: every auction is folded and indexed, by the code of today, whatever was in the way of a search before."""
    op.create_table(
        "texts",
        sa.Column("auction_id", _NUMBER, autoincrement=False, nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name="fk_texts_auction_id"),
        sa.PrimaryKeyConstraint("auction_id", name="pk_texts"),
    )
    op.create_index(
        "ix_auctions_running",
        "auctions",
        ["author_id"],
        unique=False,
        sqlite_where=_RUNNING,
        postgresql_where=_RUNNING,
    )
    _move_descriptions()
    tx = Transaction(op.get_bind())
    total = tx.execute(sa.text("SELECT count(*) FROM auctions")).scalar_one()

    def tell(done: int) -> None:
        if done % _TOLD_EVERY == 0 or (done == total and total > _TOLD_EVERY):
            log.info("making the index of texts", done=done, total=total)

    search_index.make_index(tx, tell)


def downgrade() -> None:
    """Go down: the index can be made again."""
    search_index.drop_index(Transaction(op.get_bind()))
    op.drop_index("ix_auctions_running", "auctions")
    op.drop_table("texts")


def _move_descriptions() -> None:
    """Move descriptions to the end of their rows on SQLite: a column behind one is as slow to read as the description."""
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("auctions", "description", server_default=sa.text("''"))
        return
    for statement in (
        "ALTER TABLE auctions RENAME COLUMN description TO described",
        "ALTER TABLE auctions ADD COLUMN description TEXT NOT NULL DEFAULT ''",
        "UPDATE auctions SET description = described",
        "ALTER TABLE auctions DROP COLUMN described",
    ):
        op.execute(statement)
