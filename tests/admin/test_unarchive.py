"""Archived lots come back from their files: the rows are what they were, whatever happens in between."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from saleroom.accounts.service import erasures
from saleroom.admin import archive, ledger_check, unarchive
from saleroom.areas import forget
from saleroom.bidding.storage import archive as files_of_lots
from saleroom.bidding.storage.event_log import LOG
from saleroom.bidding.storage.tables import events
from saleroom.cli import main
from saleroom.kernel.errors import Refusal
from saleroom.log.store import owed_count
from saleroom.storage.database import Database, Transaction
from tests.admin.killed_at import KILL
from tests.admin.test_archive import FAR, archived_gids, folder, old, reads, run, settings, shown
from tests.process import saleroom

__all__ = ["folder", "old"]
Say = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events come back one by one."""
    monkeypatch.setattr(unarchive, "CHUNK", 1)
    monkeypatch.setattr(unarchive, "PAUSE_SECONDS", 0)


def back(
    url: str,
    folder: Path | None,
    gids: set[str] | None = None,
    *,
    dry_run: bool = False,
    mqtt: str = "off",
    say: Callable[[str], None] = lambda _: None,
) -> int:
    """Bring lots back, by default all."""
    return unarchive.unarchive_lots(settings(url, folder, mqtt), gids, dry_run=dry_run, say=say)


def rows(url: str) -> list[tuple[Any, ...]]:
    """Return all events as rows, without what only one database knows."""
    columns = [column for column in events.columns if column.name != "written_by"]
    return reads(url, None, lambda tx: [tuple(row) for row in tx.execute(select(*columns).order_by(events.c.id))])


def test_all_rows_are_what_they_were(old: str, folder: Path) -> None:
    """The table is the same to the last byte, no lot is archived any more, and the lots can be archived again."""
    before, digest = rows(old), reads(old, folder, ledger_check.check)
    said: list[str] = []
    assert 0 == run(old, folder, say=said.append)
    left = rows(old)
    assert 0 == back(old, folder, dry_run=True, say=said.append)
    assert (left, 4) == (rows(old), len(archived_gids(old)))
    assert 0 == back(old, folder, say=said.append)
    assert said[1].replace("Would bring back", "Brought back") == said[2]
    assert f"Brought back 4 lots, {len(before) - len(left)} events." == said[2]
    assert (before, []) == (rows(old), archived_gids(old))
    assert digest == reads(old, None, ledger_check.check), "without the folder"
    assert 0 == run(old, folder)
    assert left == rows(old)


def test_one_lot_comes_back(old: str, folder: Path) -> None:
    """The others stay in their files; what is no archived lot is refused before anything happens."""
    assert 0 == run(old, folder)
    before, (first, *others) = shown(old, folder), archived_gids(old)
    for wrong in ({first, "none"}, {"../../etc"}):
        with pytest.raises(Refusal, match="no archived lot has the gid"):
            back(old, folder, wrong)
    assert 4 == len(archived_gids(old))
    assert 0 == back(old, folder, {first})
    assert others == archived_gids(old)
    assert before == shown(old, folder)
    with pytest.raises(Refusal, match=f"no archived lot has the gid {first}"):
        back(old, folder, {first})


@pytest.mark.parametrize("call", [2, 5])
def test_killed_while_events_come_back(old: str, folder: Path, tmp_path: Path, call: int) -> None:
    """A run that is killed by SIGKILL leaves a house that reads as before; the next one finishes it."""
    before, table = shown(old, folder), rows(old)
    assert 0 == run(old, folder)
    program = tmp_path / "killed.py"
    program.write_text(KILLED)
    child = saleroom(tmp_path, old, str(folder), str(call), program=str(program))
    assert -signal.SIGKILL == child.returncode, child.stderr
    assert before == shown(old, folder)
    assert [] == reads(old, folder, ledger_check.faults_of)
    assert 0 == back(old, folder)
    assert table == rows(old)


KILLED = (
    """
import sys
from pathlib import Path
from saleroom.admin import unarchive
from saleroom.settings import load

url, folder, call = sys.argv[1:]
unarchive.CHUNK, unarchive.PAUSE_SECONDS = 1, 0
owner, place = unarchive, "_put_back"
"""
    + KILL
    + """
settings = load({"database": url, "archive_folder": folder, "mqtt": "off"}, {})
unarchive.unarchive_lots(settings, None, dry_run=False, say=print)
"""
)
"""A program that brings lots back, and is killed as it is about to do so with the n-th event."""


def test_files_that_do_not_fit_are_refused(old: str, folder: Path) -> None:
    """A lot whose files are lost, changed or cut stays archived, and is named; the others come back."""
    assert 0 == run(old, folder)
    gids = archived_gids(old)
    wrong = next(gid for gid in gids if b"bid.placed" in (folder / gid[:2] / f"{gid}.ndjson").read_bytes())
    left = rows(old)
    for suffix in (".ndjson", ".rows.ndjson"):
        file = folder / wrong[:2] / f"{wrong}{suffix}"
        whole = file.read_bytes()
        for damaged in (None, whole.replace(b"100.000", b"100.001"), whole[: whole.index(b"\n") + 1]):
            assert damaged != whole
            file.unlink()
            if damaged is not None:
                file.write_bytes(damaged)
            said = list[str]()
            assert 1 == back(old, folder, {wrong}, say=said.append)
            assert (left, "Brought back 0 lots, 0 events.") == (rows(old), said[0])
            assert said[1].startswith(f"lot {wrong} stays archived: ")
            file.write_bytes(whole)
    (folder / wrong[:2] / f"{wrong}.ndjson").unlink()
    assert 1 == back(old, folder, dry_run=True)
    assert 1 == back(old, folder)
    assert [wrong] == archived_gids(old)


def test_files_of_another_lot_are_refused(old: str, folder: Path) -> None:
    """The files of one lot under the name of another bring nothing back."""
    assert 0 == run(old, folder)
    first, second, *_ = archived_gids(old)
    for suffix in (".ndjson", ".rows.ndjson"):
        (folder / second[:2] / f"{second}{suffix}").replace(folder / first[:2] / f"{first}{suffix}")
    left = rows(old)
    assert 1 == back(old, folder, {first, second})
    assert left == rows(old)


def test_somebody_who_is_erased_meanwhile_does_not_come_back(old: str, folder: Path) -> None:
    """Neither in the events that are back, nor in those that come back later and were read before."""
    assert 0 == run(old, folder)

    async def work() -> None:
        database = Database(old)
        database.provide(files_of_lots.FOLDER, folder)
        lots = await database.read(unarchive._lots, None)
        files = [(lot, await database.read(unarchive._in_files, lot)) for lot in lots]
        for lot, read in files:
            await database.write(unarchive._put_back, lot, read, has_broker=False)
        await database.write(erasures.erase_by_house, "cyd", "", forget)
        for lot, read in files:
            while await database.write(unarchive._put_back, lot, read, has_broker=False):
                pass
        await database.close()

    assert any(b'"cyd"' in (row.payload or b"") for row in reads(old, None, _payloads))
    asyncio.run(work())
    assert [] == archived_gids(old)
    assert not any(b'"cyd"' in (row.payload or b"") for row in reads(old, None, _payloads))
    assert [] == reads(old, None, ledger_check.faults_of)


def _payloads(tx: Transaction) -> Any:
    return tx.execute(select(events.c.payload)).all()


def test_the_broker_gets_nothing_again(old: str, folder: Path) -> None:
    """Of a house that had no broker when it archived, and has one now, no old event is owed; without one all stay owed."""
    before = rows(old)
    assert 0 == run(old, folder)
    owed = reads(old, None, lambda tx: owed_count(tx, [LOG]))
    assert 0 == back(old, folder, mqtt="mqtt://127.0.0.1:1")
    assert owed == reads(old, None, lambda tx: owed_count(tx, [LOG]))
    assert [row[:5] for row in before] == [row[:5] for row in rows(old)]


def test_both_commands_at_once(old: str, folder: Path) -> None:
    """While events come back, a run of `saleroom archive` leaves them; a lot that is back is not emptied by it."""
    before = rows(old)
    assert 0 == run(old, folder)

    async def work() -> None:
        database = Database(old)
        database.provide(files_of_lots.FOLDER, folder)
        lots = await database.read(unarchive._lots, None)
        lot = max(lots, key=lambda each: each.events)
        read = await database.read(unarchive._in_files, lot)
        await database.write(unarchive._put_back, lot, read, has_broker=False)
        [other] = [each for each in await database.read(archive._lots, 0, FAR, 0) if each.id == lot.id]
        while await database.write(unarchive._put_back, lot, read, has_broker=False):
            pass
        with pytest.raises(archive.LotStays, match="unarchive"):
            await database.write(archive._remove, other)
        await database.close()

    asyncio.run(work())
    assert 0 == back(old, folder)
    assert before == rows(old)


def test_the_command(old: str, folder: Path, tmp_path: Path, capfd: Say) -> None:
    """Its usage, exit codes and words."""
    config = tmp_path / "house.toml"
    config.write_text(f"archive_folder = '{folder}'\nmqtt = 'off'\n")
    options = ["--database", old, "--config", str(config)]
    assert 0 == run(old, folder)
    gid = archived_gids(old)[0]
    assert 2 == main(["unarchive", *options])
    assert 2 == main(["unarchive", gid, "--all", *options])
    assert 1 == main(["unarchive", "-none", *options])
    assert "no archived lot has the gid -none" in capfd.readouterr().err
    assert 0 == main(["unarchive", gid, *options])
    assert "Brought back 1 lots" in capfd.readouterr().out
    assert 0 == main(["unarchive", "--all", "--dry-run", *options])
    assert "Would bring back 3 lots" in capfd.readouterr().out
    config.write_text("mqtt = 'off'\n")
    assert 1 == main(["unarchive", "--all", *options])
    assert "archive_folder" in capfd.readouterr().err
