"""An archive that is cut short, by SIGKILL or a full disk: nothing is lost, and the next run finishes it."""

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from saleroom.admin import archive, ledger_check
from saleroom.kernel.errors import Refusal
from tests.admin.killed_at import KILL
from tests.admin.test_archive import archived_gids, folder, old, reads, run, shown
from tests.faults.places import small_disk
from tests.process import saleroom

__all__ = ["folder", "old"]


@pytest.mark.parametrize(("place", "call"), [("publish", 2), ("_check", 1), ("_note", 2), ("_remove", 2)])
def test_killed_at_any_place(old: str, folder: Path, tmp_path: Path, place: str, call: int) -> None:
    """A run that is killed by SIGKILL leaves rows, or files with what the rows lack; the next one finishes it."""
    before, digest = shown(old, folder), reads(old, folder, ledger_check.check)
    program = tmp_path / "killed.py"
    program.write_text(KILLED)
    child = saleroom(tmp_path, old, str(folder), place, str(call), program=str(program))
    assert -signal.SIGKILL == child.returncode, child.stderr
    assert before == shown(old, folder)
    assert 0 == run(old, folder)
    assert before == shown(old, folder)
    assert digest == reads(old, folder, ledger_check.check)
    assert 4 == len(archived_gids(old))


@pytest.mark.parametrize(("place", "call"), [("_write", 1), ("beside", 2), ("_note", 2), ("_remove", 2)])
def test_a_disk_that_is_full(
    old: str, monkeypatch: pytest.MonkeyPatch, place: str, call: int, database_kind: str
) -> None:
    """Whenever the disk of the files, and of SQLite, is full, the run names it and nothing is lost; the next one goes on."""
    with small_disk(8 * 2**20) as disk:
        folder, house = disk.folder / "archive", old
        folder.mkdir()
        if database_kind == "sqlite":
            shutil.copy(make_url(old).database or "", disk.folder / "house.db")
            house = f"sqlite:///{disk.folder}/house.db"
        before, digest = shown(house, folder), reads(house, folder, ledger_check.check)
        real, calls = getattr(archive, place), list[int]()

        def full(*args: Any, **options: Any) -> Any:
            calls.append(1)
            if len(calls) == call:
                disk.fill()
            return real(*args, **options)

        monkeypatch.setattr(archive, place, full)
        with pytest.raises((OSError, Refusal)) as told:
            run(house, folder)
        reason = str(told.value)
        assert "No space left on device" in reason or "make room on its disk" in reason, reason
        assert str(disk.folder) in reason
        disk.empty()
        assert [] == [*folder.rglob("*.part")]
        assert before == shown(house, folder)
        assert 0 == run(house, folder)
        assert before == shown(house, folder)
        assert digest == reads(house, folder, ledger_check.check)
        assert 4 == len(archived_gids(house))


KILLED = (
    """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from saleroom.admin import archive
from saleroom.settings import load

url, folder, place, call = sys.argv[1:]
owner = archive
archive.AGE_MIN, archive.CHUNK, archive.PAUSE_SECONDS = timedelta(days=-100_000), 1, 0
"""
    + KILL
    + """
settings = load({"database": url, "archive_folder": folder, "mqtt": "off"}, {})
archive.archive_lots(settings, datetime(2100, 1, 1, tzinfo=UTC), dry_run=False, say=print, keep_newest=0)
"""
)
"""A program that archives, and is killed as it calls the function `place` for the n-th time."""
