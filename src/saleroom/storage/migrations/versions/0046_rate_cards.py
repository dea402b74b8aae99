"""Rate cards in versions, and which of them somebody chose for a sale, a consignor or a lot.

Revision: 0046.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "rate_cards",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rate_cards"),
        sa.UniqueConstraint("gid", name="uq_rate_cards_gid"),
        sa.UniqueConstraint("name", name="uq_rate_cards_name"),
    )
    op.create_table(
        "rate_card_versions",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("card_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("since", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["card_id"], ["rate_cards.id"], name="fk_rate_card_versions_card_id"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_rate_card_versions_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_rate_card_versions"),
        sa.UniqueConstraint("card_id", "number", name="uq_rate_card_versions_card_id_number"),
    )
    op.create_index("ix_rate_card_versions_by_id", "rate_card_versions", ["by_id"])
    op.create_table(
        "rate_choices",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("card_id", sa.BigInteger()),
        sa.Column("sale_id", sa.BigInteger()),
        sa.Column("consignor_id", sa.BigInteger()),
        sa.Column("lot_id", sa.BigInteger()),
        sa.Column("since", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["card_id"], ["rate_cards.id"], name="fk_rate_choices_card_id"),
        sa.ForeignKeyConstraint(["sale_id"], ["sales.id"], name="fk_rate_choices_sale_id"),
        sa.ForeignKeyConstraint(["consignor_id"], ["consignors.id"], name="fk_rate_choices_consignor_id"),
        sa.ForeignKeyConstraint(["lot_id"], ["lots.id"], name="fk_rate_choices_lot_id"),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_rate_choices_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_rate_choices"),
    )
    for column in ("card_id", "sale_id", "consignor_id", "lot_id", "by_id"):
        op.create_index(f"ix_rate_choices_{column}", "rate_choices", [column])


def downgrade() -> None:
    """Go down: the house takes nothing of anybody any more."""
    op.drop_table("rate_choices")
    op.drop_table("rate_card_versions")
    op.drop_table("rate_cards")
