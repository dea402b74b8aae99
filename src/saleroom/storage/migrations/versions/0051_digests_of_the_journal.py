"""Digests of the journal: each entry has one that covers it, its postings, and all entries of the sale before it.

Revision: 0051.
"""

from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from alembic import op

from saleroom.kernel.instants import instant
from saleroom.storage.schema import Instant, Money

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

_ENTRIES = sa.table(
    "journal_entries",
    sa.column("id", sa.BigInteger),
    sa.column("sale_id", sa.BigInteger),
    sa.column("kind", sa.String),
    sa.column("lot_id", sa.BigInteger),
    sa.column("reverses", sa.BigInteger),
    sa.column("settled", sa.Text),
    sa.column("at", Instant),
    sa.column("by_id", sa.BigInteger),
    sa.column("digest", sa.String),
)
_POSTINGS = sa.table(
    "journal_postings",
    sa.column("id", sa.BigInteger),
    sa.column("entry_id", sa.BigInteger),
    sa.column("book", sa.String),
    sa.column("user_id", sa.BigInteger),
    sa.column("consignor_id", sa.BigInteger),
    sa.column("amount", Money),
    sa.column("debit", sa.Boolean),
)


def upgrade() -> None:
    """Go up: entries of before get their digests."""
    op.add_column("journal_entries", sa.Column("digest", sa.String(), nullable=False, server_default=""))
    connection = op.get_bind()
    postings: dict[int, list[Any]] = {}
    for row in connection.execute(sa.select(_POSTINGS).order_by(_POSTINGS.c.id)):
        postings.setdefault(row.entry_id, []).append(row)
    before: dict[int, str] = {}
    for row in connection.execute(sa.select(_ENTRIES).order_by(_ENTRIES.c.id)).all():
        text = f"{before.get(row.sale_id, '')}\n{_facts(row, postings.get(row.id, []))}"
        before[row.sale_id] = digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        connection.execute(_ENTRIES.update().where(_ENTRIES.c.id == row.id).values(digest=digest))


def _facts(row: Any, postings: list[Any]) -> str:
    said = [row.id, row.sale_id, row.kind, row.lot_id, row.reverses, instant(row.at), row.by_id]
    moves = [
        f"{one.id} {one.book} {one.user_id} {one.consignor_id} {one.amount:.3f} {bool(one.debit)}" for one in postings
    ]
    return "\n".join([" ".join(map(str, said)), row.settled or "", *moves])


def downgrade() -> None:
    """Go down."""
    op.drop_column("journal_entries", "digest")
