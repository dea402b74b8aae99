"""Acts of staff are kept in an audit log, which is only appended to; users are found by their role.

Revision: 0021.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_REFUSED = "the audit log is only appended to"


def upgrade() -> None:
    """Go up."""
    op.create_index("ix_users_role", "users", ["role"])
    op.create_table(
        "audit",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.Column("by_id", sa.BigInteger()),
        sa.Column("act", sa.String(), nullable=False),
        sa.Column("user_id", sa.BigInteger()),
        sa.Column("subject", sa.String()),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["by_id"], ["users.id"], name="fk_audit_by_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_audit_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_by_id", "audit", ["by_id"])
    op.create_index("ix_audit_user_id", "audit", ["user_id"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{_REFUSED}'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
            "FOR EACH STATEMENT EXECUTE FUNCTION audit_stays()"
        )
        return
    for act in ("update", "delete"):
        op.execute(
            f"CREATE TRIGGER audit_stays_on_{act} BEFORE {act.upper()} ON audit BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
        )


def downgrade() -> None:
    """Go down: the log is gone with its table."""
    op.drop_table("audit")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_stays()")
    op.drop_index("ix_users_role", "users")
