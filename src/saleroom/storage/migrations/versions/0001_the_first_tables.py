"""The first tables.

Revision: 0001.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant, Money, TransactionId

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "heartbeats",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_heartbeats")),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("expires_at", Instant(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("username", sa.String(), nullable=False),
        sa.Column("password_digest", sa.String(), nullable=True),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("username", name=op.f("uq_users_username")),
    )
    op.create_table(
        "auctions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("gid", sa.String(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("starting_price", Money(precision=20, scale=3), nullable=False),
        sa.Column("current_bid", Money(precision=20, scale=3), nullable=True),
        sa.Column("current_bidder_id", sa.BigInteger(), nullable=True),
        sa.Column("current_bid_at", Instant(timezone=True), nullable=True),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("reserve_price", Money(precision=20, scale=3), nullable=True),
        sa.Column("buy_now_price", Money(precision=20, scale=3), nullable=True),
        sa.Column("increment", sa.Text(), nullable=False),
        sa.Column("soft_close", sa.Text(), nullable=True),
        sa.Column("starts_at", Instant(timezone=True), nullable=True),
        sa.Column("ends_at", Instant(timezone=True), nullable=True),
        sa.Column("due_at", Instant(timezone=True), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("maximum", Money(precision=20, scale=3), nullable=True),
        sa.Column("bid_count", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("price", Money(precision=20, scale=3), nullable=False),
        sa.Column("ending_rank", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["users.id"], name=op.f("fk_auctions_author_id")),
        sa.ForeignKeyConstraint(["current_bidder_id"], ["users.id"], name=op.f("fk_auctions_current_bidder_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auctions")),
        sa.UniqueConstraint("gid", name=op.f("uq_auctions_gid")),
    )
    with op.batch_alter_table("auctions", schema=None) as batch_op:
        batch_op.create_index("ix_auctions_author_id", ["author_id", "id"], unique=False)
        batch_op.create_index("ix_auctions_created_at", ["created_at", "id"], unique=False)
        batch_op.create_index(
            "ix_auctions_due_at",
            ["due_at"],
            unique=False,
            sqlite_where=sa.text("due_at IS NOT NULL"),
            postgresql_where=sa.text("due_at IS NOT NULL"),
        )
        batch_op.create_index("ix_auctions_ending_rank", ["ending_rank", "id"], unique=False)
        batch_op.create_index("ix_auctions_status_ending_rank", ["status", "ending_rank", "id"], unique=False)

    op.create_table(
        "auth_tokens",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.Column("expires_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_auth_tokens_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_tokens")),
        sa.UniqueConstraint("token", name=op.f("uq_auth_tokens_token")),
    )
    with op.batch_alter_table("auth_tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_auth_tokens_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_auth_tokens_user_id"), ["user_id"], unique=False)

    op.create_table(
        "idempotency",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_idempotency_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency")),
        sa.UniqueConstraint("user_id", "key", name=op.f("uq_idempotency_user_id_key")),
    )
    with op.batch_alter_table("idempotency", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idempotency_created_at"), ["created_at"], unique=False)

    op.create_table(
        "bids",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("auction_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("bidder_id", sa.BigInteger(), nullable=False),
        sa.Column("amount", Money(precision=20, scale=3), nullable=False),
        sa.Column("maximum", Money(precision=20, scale=3), nullable=False),
        sa.Column("automatic", sa.Boolean(), nullable=False),
        sa.Column("placed_at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name=op.f("fk_bids_auction_id")),
        sa.ForeignKeyConstraint(["bidder_id"], ["users.id"], name=op.f("fk_bids_bidder_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bids")),
        sa.UniqueConstraint("auction_id", "number", name=op.f("uq_bids_auction_id_number")),
    )
    with op.batch_alter_table("bids", schema=None) as batch_op:
        batch_op.create_index("ix_bids_bidder_id_auction_id", ["bidder_id", "auction_id"], unique=False)

    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("auction_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.Column("private", sa.LargeBinary(), nullable=False),
        sa.Column("price", Money(precision=20, scale=3), nullable=False),
        sa.Column("ending_rank", sa.BigInteger(), nullable=False),
        sa.Column("written_by", sa.BigInteger().with_variant(TransactionId(), "postgresql"), nullable=True),
        sa.Column("delivered_at", Instant(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["auction_id"], ["auctions.id"], name=op.f("fk_events_auction_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sa.UniqueConstraint("auction_id", "position", name=op.f("uq_events_auction_id_position")),
        sa.UniqueConstraint("auction_id", "version", name=op.f("uq_events_auction_id_version")),
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index(
            "ix_events_owed",
            ["id"],
            unique=False,
            sqlite_where=sa.text("delivered_at IS NULL AND version IS NOT NULL"),
            postgresql_where=sa.text("delivered_at IS NULL AND version IS NOT NULL"),
        )


def downgrade() -> None:
    """Go down."""
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.drop_index(
            "ix_events_owed",
            sqlite_where=sa.text("delivered_at IS NULL AND version IS NOT NULL"),
            postgresql_where=sa.text("delivered_at IS NULL AND version IS NOT NULL"),
        )

    op.drop_table("events")
    with op.batch_alter_table("bids", schema=None) as batch_op:
        batch_op.drop_index("ix_bids_bidder_id_auction_id")

    op.drop_table("bids")
    with op.batch_alter_table("idempotency", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idempotency_created_at"))

    op.drop_table("idempotency")
    with op.batch_alter_table("auth_tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_auth_tokens_user_id"))
        batch_op.drop_index(batch_op.f("ix_auth_tokens_expires_at"))

    op.drop_table("auth_tokens")
    with op.batch_alter_table("auctions", schema=None) as batch_op:
        batch_op.drop_index("ix_auctions_status_ending_rank")
        batch_op.drop_index("ix_auctions_ending_rank")
        batch_op.drop_index(
            "ix_auctions_due_at",
            sqlite_where=sa.text("due_at IS NOT NULL"),
            postgresql_where=sa.text("due_at IS NOT NULL"),
        )
        batch_op.drop_index("ix_auctions_created_at")
        batch_op.drop_index("ix_auctions_author_id")

    op.drop_table("auctions")
    op.drop_table("users")
    op.drop_table("leases")
    op.drop_table("heartbeats")
