"""Versions to come of the house: copies of its package, each with one step of the tables more."""

import shutil
from pathlib import Path

from saleroom.storage.migrations import newest_revision
from tests.failover.cluster import ROOT

STEP = '''"""A step of a version to come."""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go up."""
    {up}


def downgrade() -> None:
    """Go down."""
    {down}
'''
ADD = 'op.add_column("{table}", sa.Column("of_a_version_to_come", sa.String()))'
DROP = 'op.drop_column("{table}", "of_a_version_to_come")'
TABLES = ("auctions", "events")
"""Tables that each bid uses."""


def expanding_and_contracting(folder: Path) -> list[Path]:
    """Make two versions below `folder`, and return what each needs as PYTHONPATH.

    The first adds columns to the tables of the sale, and nothing uses them any more in the second, which takes them away.
    """
    add, drop = ("\n    ".join(act.format(table=table) for table in TABLES) for act in (ADD, DROP))
    before = newest_revision()
    made: list[Path] = []
    for up, down in ((add, drop), (drop, add)):
        version = folder / f"version-{len(made) + 1}"
        source = made[-1] if made else ROOT / "src"
        shutil.copytree(source / "saleroom", version / "saleroom", ignore=shutil.ignore_patterns("__pycache__"))
        revision = f"{int(before) + 1:04}"
        step = STEP.format(revision=revision, before=before, up=up, down=down)
        (version / "saleroom/storage/migrations/versions" / f"{revision}_to_come.py").write_text(step)
        made.append(version)
        before = revision
    return made
