"""Steps of migrations while houses of the version before serve: squawk judges the SQL that each sends to PostgreSQL.

docs/decisions/0105 has the rule: a step only adds what the version before does without.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import event

from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import configuration

LAST_UNJUDGED = "0072"
"""Houses were stopped for upgrades until then."""
RULES_LEFT_OUT = (
    "require-lock-timeout",  # `migrate` sets it
    "require-statement-timeout",  # a step may take its time, as long as others do not wait for it
    "prefer-identity",  # style, as the next one
    "prefer-bigint-over-int",
)


def findings(sql: Path) -> str:
    """What squawk says of a file of statements: nothing if it finds nothing."""
    rules = [word for rule in RULES_LEFT_OUT for word in ("--exclude", rule)]
    squawk = Path(sys.executable).with_name("squawk")
    run = subprocess.run(
        [squawk, *rules, "--assume-in-transaction", "--pg-version", "17", "--reporter", "gcc", sql],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not run.stderr or run.returncode, run.stderr
    return run.stdout + run.stderr


@pytest.fixture
async def steps(bare_database_url: str) -> dict[str, list[str]]:
    """The statements of each step by its revision."""
    sent: dict[str, list[str]] = {}

    def climb(tx: Transaction) -> None:
        statements: list[str] = []
        event.listen(tx.connection, "before_cursor_execute", lambda *seen: statements.append(seen[2]))
        history = ScriptDirectory.from_config(configuration(tx)).walk_revisions()
        for revision in sorted(script.revision for script in history):
            command.upgrade(configuration(tx), revision)
            sent[revision] = [one for one in statements if "alembic_version" not in one]
            statements.clear()

    database = Database(bare_database_url)
    await database.write(climb)
    await database.close()
    return sent


@pytest.mark.databases("postgresql")
async def test_houses_of_the_version_before_can_serve_meanwhile(steps: dict[str, list[str]], tmp_path: Path) -> None:
    """No step takes away, renames or demands what they do not know, nor keeps them from a table for long."""
    assert any("CREATE TABLE outages" in one for one in steps[LAST_UNJUDGED])
    for revision, statements in steps.items():
        if revision > LAST_UNJUDGED:
            sql = tmp_path / f"{revision}.sql"
            sql.write_text("".join(f"{one.rstrip().rstrip(';')};\n" for one in statements))
            assert not findings(sql), f"step {revision}"


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("ALTER TABLE lots DROP COLUMN name", "ban-drop-column"),
        ("ALTER TABLE lots RENAME COLUMN name TO title", "renaming-column"),
        ("DROP TABLE lots", "ban-drop-table"),
        ("ALTER TABLE lots ADD COLUMN size bigint NOT NULL", "adding-required-field"),
        ("ALTER TABLE bids ALTER COLUMN id TYPE bigint", "changing-column-type"),
        ("CREATE INDEX ix_bids_at ON bids (at)", "require-concurrent-index-creation"),
    ],
)
def test_the_judge_sees_what_would_break_them(tmp_path: Path, statement: str, rule: str) -> None:
    """A statement that houses of the version before could not bear is found by its rule."""
    sql = tmp_path / "step.sql"
    sql.write_text(f"{statement};\n")
    assert rule in findings(sql)


def test_the_judge_lets_pass_what_only_adds(tmp_path: Path) -> None:
    """A new table with its index, and a column that may be left out, are no fault."""
    sql = tmp_path / "step.sql"
    sql.write_text(
        "CREATE TABLE notes (id bigint PRIMARY KEY, words varchar NOT NULL);\n"
        "CREATE INDEX ix_notes_words ON notes (words);\n"
        "ALTER TABLE lots ADD COLUMN size bigint;\n"
    )
    assert not findings(sql)
