"""An outbox of words to people, how far the log was read for it, and users' mail addresses.

Revision: 0016.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_WAITING = sa.text("state = 'waiting'")


def upgrade() -> None:
    """Go up. The outbox begins empty, and the log is read from its end on: nobody hears of what is long past."""
    op.create_table(
        "outbox",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("receiver", sa.BigInteger()),
        sa.Column("address", sa.String()),
        sa.Column("about", sa.String()),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("language", sa.String()),
        sa.Column("alone", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("posted_at", Instant(timezone=True), nullable=False),
        sa.Column("due_at", Instant(timezone=True), nullable=False),
        sa.Column("expires_at", Instant(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("letter", sa.BigInteger()),
        sa.Column("last_error", sa.Text()),
        sa.Column("settled_at", Instant(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sa.UniqueConstraint("channel", "key", name="uq_outbox_channel_key"),
    )
    for name, column in (("ix_outbox_due_at", "due_at"), ("ix_outbox_receiver", "receiver")):
        op.create_index(name, "outbox", [column], sqlite_where=_WAITING, postgresql_where=_WAITING)
    op.create_index("ix_outbox_settled_at", "outbox", ["settled_at"])
    op.create_table(
        "log_places",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_log_places"),
    )
    op.create_table(
        "mail_addresses",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("language", sa.String()),
        sa.Column("given_at", Instant(timezone=True), nullable=False),
        sa.Column("verified_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_mail_addresses_user_id"),
        sa.PrimaryKeyConstraint("user_id", name="pk_mail_addresses"),
    )
    op.create_index("ix_mail_addresses_address", "mail_addresses", ["address"])


def downgrade() -> None:
    """Go down: what waits is not sent, and mail addresses are gone with their table."""
    op.drop_table("mail_addresses")
    op.drop_table("log_places")
    op.drop_table("outbox")
