"""Passkeys of users, the challenges that were used, and which passkey opened a session.

Revision: 0029.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up."""
    op.create_table(
        "passkeys",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("credential_id", sa.LargeBinary(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("handle", sa.LargeBinary(), nullable=False),
        sa.Column("party", sa.String(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.Column("used_at", Instant(timezone=True)),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_passkeys_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_passkeys"),
        sa.UniqueConstraint("credential_id", name="uq_passkeys_credential_id"),
    )
    op.create_index("ix_passkeys_user_id", "passkeys", ["user_id"])
    op.create_table(
        "used_challenges",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("expires_at", Instant(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_used_challenges"),
    )
    op.create_index("ix_used_challenges_expires_at", "used_challenges", ["expires_at"])
    op.add_column("auth_tokens", sa.Column("passkey_id", sa.BigInteger()))


def downgrade() -> None:
    """Go down: everybody logs in by a password again."""
    op.drop_column("auth_tokens", "passkey_id")
    op.drop_table("used_challenges")
    op.drop_table("passkeys")
