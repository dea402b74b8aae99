"""Links in mails, requests of those who have forgotten their password, and mail addresses as they are compared.

Revision: 0023.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up. Addresses that are there already are compared by their letters in lower case."""
    with op.batch_alter_table("mail_addresses") as batch:
        batch.add_column(sa.Column("folded", sa.String()))
    op.execute("UPDATE mail_addresses SET folded = lower(address)")
    with op.batch_alter_table("mail_addresses") as batch:
        batch.alter_column("folded", existing_type=sa.String(), nullable=False)
    op.create_index("ix_mail_addresses_folded", "mail_addresses", ["folded"])
    op.create_table(
        "mail_links",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("mailbox", sa.String(), nullable=False),
        sa.Column("made_at", Instant(timezone=True), nullable=False),
        sa.Column("expires_at", Instant(timezone=True), nullable=False),
        sa.Column("used_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_mail_links_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_mail_links"),
    )
    for column in ("user_id", "mailbox", "made_at"):
        op.create_index(f"ix_mail_links_{column}", "mail_links", [column])
    op.create_table(
        "password_requests",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("typed", sa.Text(), nullable=False),
        sa.Column("language", sa.String()),
        sa.Column("asked_at", Instant(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_password_requests"),
    )


def downgrade() -> None:
    """Go down: links that wait open nothing any more."""
    op.drop_table("password_requests")
    op.drop_table("mail_links")
    op.drop_index("ix_mail_addresses_folded", "mail_addresses")
    with op.batch_alter_table("mail_addresses") as batch:
        batch.drop_column("folded")
