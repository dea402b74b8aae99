"""Series of rows: what no row of a table may lack, as a digest of all of them; and digests of payments from banks.

Revision: 0071.
"""

from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from alembic import op

from saleroom.kernel.instants import instant
from saleroom.storage.schema import Instant, Money

revision = "0071"
down_revision = "0070"
branch_labels = None
depends_on = None

_NUMBERS = (
    "id",
    "card_id",
    "sale_id",
    "consignor_id",
    "lot_id",
    "payout_id",
    "document_id",
    "user_id",
    "payment_id",
    "by_id",
)
_TYPES: dict[str, Any] = {
    **dict.fromkeys(_NUMBERS, sa.BigInteger()),
    **dict.fromkeys(("number", "level"), sa.Integer()),
    **dict.fromkeys(("since", "imported_at", "at", "offered_at", "asked_at", "until"), Instant()),
    **dict.fromkeys(("amount", "price"), Money()),
    "to_all": sa.Boolean(),
}
_KEPT = {
    "rate_cards": ("id", "gid", "name"),
    "rate_card_versions": ("id", "card_id", "number", "terms", "since", "by_id"),
    "rate_choices": ("id", "card_id", "sale_id", "consignor_id", "lot_id", "since", "by_id"),
    "bank_payments": ("id", "gid", "digest", "booked_on", "amount", "currency", "imported_at", "by_id"),
    "payout_reports": (
        "id", "payout_id", "message", "said_at", "status", "code", "doubt", "digest", "imported_at", "by_id",
    ),
    "reminders": ("id", "document_id", "level", "at", "by_id"),
    "pickups": ("id", "lot_id", "user_id", "to", "at", "by_id", "reason"),
    "offers": ("id", "gid", "lot_id", "to_all", "price", "offered_at", "by_id", "until"),
    "online_refunds": ("id", "gid", "payment_id", "amount", "asked_at", "by_id"),
}  # fmt: skip
"""The columns that never change, in the order of the table."""


def upgrade() -> None:
    """Go up: the rows of before are taken as they are."""
    series = op.create_table(
        "row_series",
        sa.Column("of", sa.String(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("of", name="pk_row_series"),
    )
    op.add_column("bank_payments", sa.Column("seal", sa.String(), nullable=False, server_default=""))
    connection = op.get_bind()
    for name, columns in _KEPT.items():
        table = sa.table(name, *(sa.column(one, _TYPES.get(one, sa.String())) for one in columns))
        digest, count = "", 0
        for row in connection.execute(sa.select(table).order_by(table.c.id)):
            count, digest = count + 1, _hash(f"{digest}\n" + "\x1f".join(map(_fact, row, table.c)))
        if count:
            connection.execute(series.insert().values(of=name, rows=count, digest=digest))
    _seal()


def _seal() -> None:
    names = ("id", "digest", "payer", "said", "entry_id", "reason", "seal")
    payments = sa.table("bank_payments", *(sa.column(one, _TYPES.get(one)) for one in names))
    connection = op.get_bind()
    for row in connection.execute(sa.select(payments)).all():
        said = (row.digest, *map(str, (row.id, row.payer, row.said, row.entry_id, row.reason)))
        connection.execute(payments.update().where(payments.c.id == row.id).values(seal=_hash("\x1f".join(said))))


def _fact(value: Any, column: Any) -> str:
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, Decimal):
        return f"{value:.3f}"
    return str(bool(value)) if isinstance(column.type, sa.Boolean) else str(value)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def downgrade() -> None:
    """Go down."""
    op.drop_column("bank_payments", "seal")
    op.drop_table("row_series")
