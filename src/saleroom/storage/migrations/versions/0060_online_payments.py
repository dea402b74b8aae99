"""Payments by card online, and their refunds.

Revision: 0060.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "online_payments",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("amount", Money(precision=20, scale=3), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("asked_at", Instant(timezone=True), nullable=False),
        sa.Column("expires_at", Instant(timezone=True), nullable=False),
        sa.Column("changed_at", Instant(timezone=True), nullable=False),
        sa.Column("look_at", Instant(timezone=True)),
        sa.Column("session", sa.String()),
        sa.Column("intent", sa.String()),
        sa.Column("received", Money(precision=20, scale=3)),
        sa.Column("entry_id", sa.BigInteger()),
        sa.Column("dispute", sa.String()),
        sa.Column("disputed", Money(precision=20, scale=3)),
        sa.Column("dispute_entry_id", sa.BigInteger()),
        sa.Column("trouble", sa.Text()),
        *(
            sa.ForeignKeyConstraint([column], [target], name=f"fk_online_payments_{column}")
            for column, target in (
                ("document_id", "documents.id"),
                ("user_id", "users.id"),
                ("entry_id", "journal_entries.id"),
                ("dispute_entry_id", "journal_entries.id"),
            )
        ),
        sa.PrimaryKeyConstraint("id", name="pk_online_payments"),
        *(
            sa.UniqueConstraint(column, name=f"uq_online_payments_{column}")
            for column in ("gid", "session", "intent", "entry_id", "dispute_entry_id")
        ),
    )
    for column in ("document_id", "user_id", "look_at"):
        op.create_index(f"ix_online_payments_{column}", "online_payments", [column])
    op.create_table(
        "online_refunds",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("payment_id", sa.BigInteger(), nullable=False),
        sa.Column("amount", Money(precision=20, scale=3), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("asked_at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger()),
        sa.Column("refund", sa.String()),
        sa.Column("entry_id", sa.BigInteger()),
        sa.Column("back_entry_id", sa.BigInteger()),
        sa.Column("reason", sa.Text()),
        *(
            sa.ForeignKeyConstraint([column], [target], name=f"fk_online_refunds_{column}")
            for column, target in (
                ("payment_id", "online_payments.id"),
                ("by_id", "users.id"),
                ("entry_id", "journal_entries.id"),
                ("back_entry_id", "journal_entries.id"),
            )
        ),
        sa.PrimaryKeyConstraint("id", name="pk_online_refunds"),
        *(
            sa.UniqueConstraint(column, name=f"uq_online_refunds_{column}")
            for column in ("gid", "refund", "entry_id", "back_entry_id")
        ),
    )
    for column in ("payment_id", "by_id"):
        op.create_index(f"ix_online_refunds_{column}", "online_refunds", [column])


def downgrade() -> None:
    """Go down: what the journal has of them stays."""
    op.drop_table("online_refunds")
    op.drop_table("online_payments")
