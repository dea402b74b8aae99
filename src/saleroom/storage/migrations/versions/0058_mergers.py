"""Mergers: who is the same person in a sale, so that their money is one; those of before are taken from the audit log.

Revision: 0058.
"""

import json

import sqlalchemy as sa
from alembic import op

from saleroom.storage.schema import Instant

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Go up: what was merged before counts too, unless the user takes part in the sale again."""
    mergers = op.create_table(
        "mergers",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("sale_id", sa.BigInteger(), nullable=False),
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("target_id", sa.BigInteger(), nullable=False),
        sa.Column("at", Instant(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["sale_id"], ["sales.id"], name="fk_mergers_sale_id"),
        sa.ForeignKeyConstraint(["source_id"], ["users.id"], name="fk_mergers_source_id"),
        sa.ForeignKeyConstraint(["target_id"], ["users.id"], name="fk_mergers_target_id"),
        sa.PrimaryKeyConstraint("id", name="pk_mergers"),
        sa.UniqueConstraint("sale_id", "source_id", name="uq_mergers_sale_id_source_id"),
    )
    for name in ("source_id", "target_id"):
        op.create_index(f"ix_mergers_{name}", "mergers", [name])
    rows = _merged(op.get_bind())
    if rows:
        op.bulk_insert(mergers, rows)


def downgrade() -> None:
    """Go down: the money of somebody who was merged is theirs again."""
    op.drop_table("mergers")


def _merged(bind: sa.Connection) -> list[dict[str, object]]:
    """Return the mergers of the audit log as rows."""
    audit = sa.table("audit", sa.column("id"), sa.column("at", Instant(timezone=True)), sa.column("act"),
                     sa.column("user_id"), sa.column("before"), sa.column("after"))  # fmt: skip
    sales = {row.gid: row.id for row in bind.execute(sa.text("SELECT gid, id FROM sales"))}
    there = {tuple(row) for row in bind.execute(sa.text("SELECT sale_id, user_id FROM participants"))}
    found: dict[tuple[int, int], tuple[int, object]] = {}
    for row in bind.execute(sa.select(audit).where(audit.c.act == "bidders.merged").order_by(audit.c.id)):
        sale, source, target = (
            sales.get(json.loads(row.after).get("sale")),
            json.loads(row.before).get("from"),
            row.user_id,
        )
        if sale is None or source is None or target is None:
            continue
        for key, (into, at) in list(found.items()):
            if key[0] == sale and into == source:
                found[key] = (target, at)
        found[sale, source] = (found[sale, target][0] if (sale, target) in found else target, row.at)
    return [
        {"sale_id": sale, "source_id": source, "target_id": target, "at": at}
        for (sale, source), (target, at) in found.items()
        if (sale, source) not in there and source != target
    ]
