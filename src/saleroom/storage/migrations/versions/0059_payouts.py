"""Payouts by payment files, and the bank accounts of consignors.

Revision: 0059.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_UNDER_WAY = sa.text("state IN ('made', 'sent')")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "payout_accounts",
        sa.Column("consignor_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("iban", sa.String(), nullable=False),
        sa.Column("bic", sa.String(), nullable=False),
        sa.Column("changed_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["consignor_id"], ["consignors.id"], name="fk_payout_accounts_consignor_id"),
        sa.PrimaryKeyConstraint("consignor_id", name="pk_payout_accounts"),
    )
    op.create_table(
        "payment_series",
        sa.Column("year", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("year", name="pk_payment_series"),
    )
    op.create_table(
        "payment_files",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("year", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("made_at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("forgotten_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_payment_files_by_id"),
        sa.PrimaryKeyConstraint("id", name="pk_payment_files"),
        sa.UniqueConstraint("gid", name="uq_payment_files_gid"),
        sa.UniqueConstraint("message", name="uq_payment_files_message"),
        sa.UniqueConstraint("year", "place", name="uq_payment_files_year_place"),
    )
    op.create_index("ix_payment_files_by_id", "payment_files", ["by_id"])
    op.create_table(
        "payouts",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("sale_id", sa.BigInteger(), nullable=False),
        sa.Column("consignor_id", sa.BigInteger(), nullable=False),
        sa.Column("amount", Money(precision=20, scale=3), nullable=False),
        sa.Column("country", sa.String(), nullable=False),
        sa.Column("ending", sa.String(), nullable=False),
        sa.Column("end_to_end", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("entry_id", sa.BigInteger(), nullable=False),
        sa.Column("end_entry_id", sa.BigInteger()),
        sa.Column("back_entry_id", sa.BigInteger()),
        *(
            sa.ForeignKeyConstraint([column], [f"{table}.id"], name=f"fk_payouts_{column}")
            for column, table in (
                ("file_id", "payment_files"),
                ("sale_id", "sales"),
                ("consignor_id", "consignors"),
                ("entry_id", "journal_entries"),
                ("end_entry_id", "journal_entries"),
                ("back_entry_id", "journal_entries"),
            )
        ),
        sa.PrimaryKeyConstraint("id", name="pk_payouts"),
        *(
            sa.UniqueConstraint(column, name=f"uq_payouts_{column}")
            for column in ("gid", "end_to_end", "entry_id", "end_entry_id", "back_entry_id")
        ),
        sa.UniqueConstraint("file_id", "place", name="uq_payouts_file_id_place"),
    )
    for column in ("sale_id", "consignor_id"):
        op.create_index(f"ix_payouts_{column}", "payouts", [column])
    op.create_index(
        "ix_payouts_under_way",
        "payouts",
        ["sale_id", "consignor_id"],
        unique=True,
        sqlite_where=_UNDER_WAY,
        postgresql_where=_UNDER_WAY,
    )


def downgrade() -> None:
    """Go down: files and accounts are forgotten; entries of payouts stay, of a kind that is unknown then."""
    for name in ("payouts", "payment_files", "payment_series", "payout_accounts"):
        op.drop_table(name)
