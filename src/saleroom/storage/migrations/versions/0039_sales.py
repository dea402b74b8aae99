"""Sales of many lots: their catalogues, those who consign to them, and their log.

Revision: 0039.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money, TransactionId

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

_OWED = sa.text("delivered_at IS NULL AND version IS NOT NULL")
_STATE_KEPT = sa.text("type IN ('sale.closed', 'sale.cancelled') AND cleared_at IS NULL")


def _number() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False)


def _instant(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, Instant(timezone=True), nullable=nullable)


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "sales",
        _number(),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("owner_id", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("venue", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        _instant("opens_at", nullable=True),
        _instant("starts_at", nullable=True),
        sa.Column("spacing", sa.Integer(), nullable=False),
        sa.Column("soft_close", sa.Text()),
        sa.Column("following", sa.Boolean(), nullable=False),
        sa.Column("increment", sa.Text(), nullable=False),
        sa.Column("names", sa.String(), nullable=False),
        sa.Column("registration", sa.String(), nullable=False),
        sa.Column("limit_default", Money(precision=20, scale=3)),
        sa.Column("cancelled_for", sa.Text()),
        _instant("created_at"),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_sales_owner_id"),
        sa.PrimaryKeyConstraint("id", name="pk_sales"),
        sa.UniqueConstraint("gid", name="uq_sales_gid"),
    )
    op.create_index("ix_sales_status", "sales", ["status", "opens_at"])
    op.create_table(
        "consignors",
        _number(),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("contact", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger()),
        _instant("created_at"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_consignors_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_consignors"),
        sa.UniqueConstraint("gid", name="uq_consignors_gid"),
        sa.UniqueConstraint("code", name="uq_consignors_code"),
    )
    op.create_index("ix_consignors_user_id", "consignors", ["user_id"])
    _lots()
    _events()


def _lots() -> None:
    op.create_table(
        "lots",
        _number(),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("sale_id", sa.BigInteger(), nullable=False),
        sa.Column("auction_id", sa.BigInteger()),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("label_order", sa.String(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("consignor_id", sa.BigInteger()),
        sa.Column("estimate_from", Money(precision=20, scale=3)),
        sa.Column("estimate_to", Money(precision=20, scale=3)),
        sa.Column("tax_scheme", sa.String()),
        sa.Column("terms", sa.Text()),
        sa.Column("withdrawn_for", sa.Text()),
        _instant("created_at"),
        sa.ForeignKeyConstraint(["sale_id"], ["sales.id"], name="fk_lots_sale_id"),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name="fk_lots_auction_id"),
        sa.ForeignKeyConstraint(["consignor_id"], ["consignors.id"], name="fk_lots_consignor_id"),
        sa.PrimaryKeyConstraint("id", name="pk_lots"),
        sa.UniqueConstraint("gid", name="uq_lots_gid"),
        sa.UniqueConstraint("auction_id", name="uq_lots_auction_id"),
        sa.UniqueConstraint("sale_id", "label", name="uq_lots_sale_id_label"),
        sa.UniqueConstraint("sale_id", "rank", name="uq_lots_sale_id_rank"),
    )
    op.create_index("ix_lots_sale_id_label_order", "lots", ["sale_id", "label_order"])
    op.create_index("ix_lots_consignor_id", "lots", ["consignor_id"])
    op.create_table(
        "lot_photos",
        sa.Column("lot_id", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("photo_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["lot_id"], ["lots.id"], name="fk_lot_photos_lot_id"),
        sa.ForeignKeyConstraint(["photo_id"], ["photos.id"], name="fk_lot_photos_photo_id"),
        sa.PrimaryKeyConstraint("lot_id", "place", name="pk_lot_photos"),
        sa.UniqueConstraint("photo_id", name="uq_lot_photos_photo_id"),
    )


def _events() -> None:
    op.create_table(
        "sale_events",
        _number(),
        sa.Column("sale_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer()),
        sa.Column("type", sa.String(), nullable=False),
        _instant("at"),
        sa.Column("payload", sa.LargeBinary()),
        sa.Column("private", sa.LargeBinary(), nullable=False),
        sa.Column("written_by", sa.BigInteger().with_variant(TransactionId(), "postgresql")),
        _instant("delivered_at", nullable=True),
        _instant("cleared_at", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_sale_events"),
        sa.UniqueConstraint("sale_id", "position", name="uq_sale_events_sale_id_position"),
    )
    op.create_index("ix_sale_events_owed", "sale_events", ["id"], sqlite_where=_OWED, postgresql_where=_OWED)
    op.create_index(
        "ix_sale_events_state_kept",
        "sale_events",
        ["delivered_at"],
        sqlite_where=_STATE_KEPT,
        postgresql_where=_STATE_KEPT,
    )


def downgrade() -> None:
    """Go down: lots of sales stay as auctions."""
    for table in ("sale_events", "lot_photos", "lots", "consignors", "sales"):
        op.drop_table(table)
