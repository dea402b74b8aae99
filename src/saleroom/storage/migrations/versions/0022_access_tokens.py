"""Access tokens of programs, and when tokens were last used.

Revision: 0022.
"""

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_COLUMNS = (("label", sa.String()), ("scopes", sa.String()), ("used_at", Instant(timezone=True)))


def upgrade() -> None:
    """Go up."""
    for name, kind in _COLUMNS:
        op.add_column("auth_tokens", sa.Column(name, kind))


def downgrade() -> None:
    """Go down: without their scopes, tokens of programs would be good for everything."""
    op.execute("DELETE FROM auth_tokens WHERE scopes IS NOT NULL")
    for name, _ in reversed(_COLUMNS):
        op.drop_column("auth_tokens", name)
