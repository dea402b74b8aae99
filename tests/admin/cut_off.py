"""Restores that are killed at each place where they touch a file: `python -m tests.admin.cut_off DATABASE BACKUP`.

Prints a line for each: the name of the first user in the database then, which tells the old house from the new one. The
database is intact each time, and now and then another restore is tried and must succeed.
"""

import os
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

from saleroom.admin import backups
from tests.fixtures_house import settings_for

TOUCHES = frozenset({"os.rename", "os.remove", "os.link", "os.chown", "sqlite3.connect"})
CUT_OFF = 9


def restore(database: Path, backup: Path, last: int) -> None:
    """Restore, and exit silently at touch number `last`."""
    touches = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal touches
        if event in TOUCHES and str(database.parent) in str(arguments[0]):
            touches += 1
            if touches == last:
                os._exit(CUT_OFF)

    sys.addaudithook(count)
    backups.restore(settings_for(f"sqlite:///{database}"), backup, say=lambda _: None)


def cut_off(database: Path, backup: Path, last: int) -> bool:
    """Restore in a separate process, and return whether it was killed."""
    child = os.fork()
    if child == 0:
        restore(database, backup, last)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, CUT_OFF), code
    return code == CUT_OFF


def first_user(database: Path) -> str:
    """Return the first user, and check that the database is intact."""
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found: str = connection.execute("SELECT username FROM users ORDER BY id LIMIT 1").fetchone()[0]
    connection.close()
    return found


def main(original: Path, backup: Path) -> None:
    """Kill restores, one touch later each time, until one is not killed."""
    last, again = 1, True
    while again:
        folder = original.parent / str(last)
        folder.mkdir()
        database = folder / "house.db"
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{original}{suffix}", f"{database}{suffix}")
        again = cut_off(database, backup, last)
        found = first_user(database)
        if last % 3 == 0:
            assert not cut_off(database, backup, sys.maxsize)
            assert first_user(database) == first_user(backup)
        sys.stdout.write(f"{found}\n")
        last += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
