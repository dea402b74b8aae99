"""Commands in hostile surroundings: Ctrl-C, closed streams, wrong places, and databases that are none, empty or damaged."""

import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from saleroom.cli import main
from saleroom.storage.backup import _connected
from saleroom.storage.files import beside
from tests.fixtures_process import Run
from tests.needs import need
from tests.process import environment

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Let Ctrl-C interrupt, also if a shell has started the tests by `&` or `nohup`, which ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_command_in_one_line(tmp_path: Path) -> None:
    """Ctrl-C is one line and exit code 130, also while the program is still being read."""
    (tmp_path / "rich_click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    command = [sys.executable, "-m", "saleroom", "roles"]
    read = environment() | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=read, capture_output=True, text=True, check=False)
    assert (130, "", "saleroom: stopped\n") == (done.returncode, done.stdout, done.stderr)


def test_ctrl_c_in_the_middle_of_a_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a command works, Ctrl-C ends it in the same way."""
    monkeypatch.setattr("saleroom.admin.users.everyone", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    assert 0 == run("migrate").code
    assert (130, "", "\nsaleroom: stopped\n") == run("users", "list")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_tool_that_is_stopped(run: Run, monkeypatch: pytest.MonkeyPatch, stop: signal.Signals) -> None:
    """Tools for a house elsewhere end by both signals as other commands do."""
    meant = signal.getsignal(stop)
    monkeypatch.setenv("HOUSE_TOKEN", "a")
    monkeypatch.setattr("saleroom.tools.catalogue.command._export", lambda *_: signal.raise_signal(stop))
    stopped = run("catalogue", "export", "http://127.0.0.1:1/sales/k3X9mQ2vTa1_", "catalogue.csv")
    assert ((130, "", "\nsaleroom: stopped\n"), meant) == (stopped, signal.getsignal(stop))


@pytest.mark.parametrize(
    ("stop", "handler"),
    [
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_IGN),
    ],
)
def test_a_backup_that_is_stopped_leaves_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stop: signal.Signals, handler: Any
) -> None:
    """Ctrl-C and SIGTERM in the middle of a backup leave no part of the copy, and the signal means afterwards what it did.

    SIGTERM also ends a command that ignores Ctrl-C.
    """
    signal.signal(signal.SIGINT, handler)
    assert 0 == run("migrate").code
    before, meant = sorted(tmp_path.iterdir()), signal.getsignal(stop)
    monkeypatch.setattr("saleroom.storage.backup.check", lambda *_: signal.raise_signal(stop))
    assert (130, "", "\nsaleroom: stopped\n") == run("backup", "copy.db")
    assert (before, meant) == (sorted(tmp_path.iterdir()), signal.getsignal(stop))


def test_closed_streams_end_no_command(tmp_path: Path) -> None:
    """A command without any standard stream does its work: the database does not become its standard output."""
    command = [sys.executable, "-m", "saleroom", "migrate"]
    done = subprocess.run(
        ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *command], cwd=tmp_path, env=environment(), check=False
    )
    assert 0 == done.returncode
    with closing(sqlite3.connect(tmp_path / "saleroom.db")) as database:
        assert [("ok",)] == database.execute("PRAGMA integrity_check").fetchall()


@pytest.mark.parametrize("command", ["export", "import"])
def test_a_closed_stream_has_no_house(tmp_path: Path, sqlite_template: Path, command: str) -> None:
    """An export to a standard output that is closed, and an import from such an input, are refused."""
    shutil.copy(sqlite_template, tmp_path / "saleroom.db")
    closed = ["sh", "-c", '"$@" <&- >&-', "sh", sys.executable, "-m", "saleroom", command, "-"]
    done = subprocess.run(closed, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True, check=False)
    said = "saleroom: the standard stream for - is closed; name a file\n"
    assert (1, said) == (done.returncode, done.stderr)


def test_a_character_that_an_encoding_lacks_is_an_escape(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an encoding other than UTF-8 a list goes on at each character, as it does at those that would steer a terminal."""
    assert 0 == run("users", "add", "ada", stdin=f"{PASSWORD}\n").code
    assert 0 == run("users", "warn", "ada", "--reason", "über €5").code
    shown = io.TextIOWrapper(io.BytesIO(), "latin-1")
    monkeypatch.setattr(sys, "stdout", shown)
    assert 0 == run("audit", "list", "--limit", "1").code
    shown.flush()
    assert shown.buffer.getvalue().endswith("\tüber \\u20ac5\n".encode("latin-1"))


def test_text_that_is_not_utf_8_is_wrong_usage(run: Run) -> None:
    """Bytes that are no text in UTF-8 are named in one line."""
    assert 0 == run("migrate").code
    said = "saleroom: '\\udcff' is not text in UTF-8; write it as such\n"
    assert (2, "", said) == run("users", "list", "--search", "\udcff")


def test_a_misspelt_variable_stops_every_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown SALEROOM_ variable stops the start, by name, with the nearest real one."""
    monkeypatch.setenv("SALEROOM_DATABSE", "sqlite:///other.db")
    assert (2, "", "saleroom: SALEROOM_DATABSE is no setting; did you mean SALEROOM_DATABASE?\n") == run(
        "users", "list"
    )


@pytest.mark.parametrize(
    "args",
    [
        ["users", "list"],
        ["users", "password", "ada"],
        ["users", "codes-off", "ada"],
        ["users", "passkeys-off", "ada"],
        ["users", "log-out", "--everybody"],
        ["users", "role", "ada", "owner"],
        ["users", "approve", "ada"],
        ["users", "warn", "ada", "--reason", "spam"],
        ["users", "suspend", "ada", "--reason", "spam", "--days", "1"],
        ["users", "ban", "ada", "--reason", "spam"],
        ["users", "lift", "ada", "--reason", "sorry"],
        ["users", "export", "ada", "ada.zip"],
        ["users", "erase", "ada", "--yes"],
        ["audit", "list"],
        ["audit", "export", "audit.ndjson"],
        ["notices", "list"],
        ["notices", "retry"],
        ["keys", "list"],
        ["keys", "renew"],
        ["keys", "renew-secret", "--yes"],
        ["verify", "--database"],
        ["export", "house.ndjson"],
        ["backup", "house.db"],
        ["photos", "move", "--to", "rows"],
    ],
    ids=" ".join,
)
def test_a_command_for_a_house_makes_no_database(run: Run, args: list[str], tmp_path: Path) -> None:
    """In a folder without a database, such as the wrong one, the command says so and leaves the folder empty."""
    done = run(*args, stdin=f"{PASSWORD}\n")
    assert (1, "", "saleroom: there is no database saleroom.db\n") == (done.code, done.out, done.err)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "args", [["users", "list"], ["migrate"], ["export", "house.ndjson"], ["verify", "--database"]], ids=" ".join
)
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_damaged_database_is_refused_in_one_line(run: Run, args: list[str], tmp_path: Path, *, is_cut: bool) -> None:
    """A file that is no database, and one that was copied in part, are named without a traceback."""
    assert 0 == run("migrate").code
    file = tmp_path / "saleroom.db"
    file.write_bytes(file.read_bytes()[:100_000] if is_cut else b"no database " * 1_000)
    done = run(*args)
    assert (1, 1) == (done.code, len(done.err.splitlines())), done.err
    said = "database disk image is malformed" if is_cut else "file is not a database"
    assert f"cannot use the database sqlite:///saleroom.db: {said}; put a backup in its place" in done.err


@pytest.mark.parametrize("content", [b"no database " * 1_000, None])
def test_a_backup_names_the_damaged_file(run: Run, tmp_path: Path, content: bytes | None) -> None:
    """A backup of a damaged database names that, not the copy, and makes none."""
    assert 0 == run("migrate").code
    file = tmp_path / "saleroom.db"
    file.write_bytes(content or file.read_bytes()[:100_000])
    done = run("backup", "copy.db")
    assert (1, "", 1) == (done.code, done.out, len(done.err.splitlines()))
    assert done.err.startswith("saleroom: saleroom.db cannot be used: it is ")
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize("args", [["backup", "copy.db"], ["users", "list"]], ids=" ".join)
def test_another_account_is_told_the_remedy(sqlite_template: Path, tmp_path: Path, args: list[str]) -> None:
    """A database that another account owns is named with what to do, and stays as it is."""
    file = tmp_path / "saleroom.db"
    shutil.copy(sqlite_template, file)
    file.chmod(0)
    done = as_another(tmp_path, *args)
    assert (1, "", 1) == (done.returncode, done.stdout, len(done.stderr.splitlines()))
    assert "run this as the account of the house, or let this account write the file and its folder\n" in done.stderr
    assert [file] == list(tmp_path.iterdir())


def as_another(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a command without the rights by which root uses every file."""
    # Without these rights even root may use only what it is allowed to.
    drop = [need("setpriv"), "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*drop, sys.executable, "-m", "saleroom", *args]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def test_a_folder_that_is_read_only(sqlite_template: Path, tmp_path: Path) -> None:
    """A file that this account may not make is named before the work."""
    house = tmp_path / "saleroom.db"
    shutil.copy(sqlite_template, house)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    done = as_another(closed, "backup", "copy.db", "--database", f"sqlite:///{house}")
    said = "copy.db cannot be made: this account may not write in its folder, or the disk is read-only"
    assert (1, "", f"saleroom: {said}\n") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("args", [["users", "list"], ["keys", "renew"], ["export", "house.ndjson"], ["audit", "list"]])
def test_an_empty_file_is_no_house(run: Run, args: list[str], tmp_path: Path) -> None:
    """A command for a house leaves a database without tables as it is, and says so."""
    (tmp_path / "saleroom.db").touch()
    done = run(*args)
    assert (1, "") == (done.code, done.out)
    said = "saleroom: sqlite:///saleroom.db has no tables of a house: name another database, or let saleroom serve make"
    assert done.err.startswith(said), done.err
    with closing(sqlite3.connect(tmp_path / "saleroom.db")) as database:
        assert [] == database.execute("SELECT name FROM sqlite_master").fetchall()


@pytest.mark.parametrize("args", [["users", "list"], ["migrate"], ["backup", "copy.db"], ["restore", "copy.db"]])
def test_a_folder_is_no_database(run: Run, args: list[str], tmp_path: Path) -> None:
    """A folder in place of the database is named, with what to write instead."""
    (tmp_path / "saleroom.db").mkdir()
    done = run(*args)
    assert (1, "") == (done.code, done.out)
    assert "saleroom.db is a folder: name the file of the database, such as " in done.err


def test_names_in_a_database_do_not_steer_a_terminal(
    sqlite_template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With any names in a database, `users list` writes control characters as escapes."""
    file = tmp_path / "house.db"
    shutil.copy(sqlite_template, file)
    with closing(sqlite3.connect(file)) as database, database:
        row = ("ada\x1b[2J\x9b31m\u202e", "2026-11-21T12:00:00.000000")
        database.execute("INSERT INTO users (username, created_at) VALUES (?, ?)", row)
    assert 0 == main(["users", "list", "--database", f"sqlite:///{file}"])
    said = capsys.readouterr().out
    assert said.startswith("ada\\u001b[2J\\u009b31m\\u202e\t")
    assert said.strip().replace("\t", "").isprintable()


def test_a_full_disk_is_said_of_the_file_that_is_written(tmp_path: Path) -> None:
    """Where there is no room for a copy or an export, the error names its file, and nothing of it stays."""
    target, source = tmp_path / "copy", tmp_path / "house.db"
    said = f"No space left on device: '{target}'"
    with pytest.raises(OSError, match=said), beside(target), Path("/dev/full").open("wb") as full:
        full.write(b"a line")
    source.touch()
    with pytest.raises(OSError, match=said), beside(target), _connected(source) as connection:  # noqa: PT012  # SQLite has two words
        connection.execute("PRAGMA max_page_count=1")
        connection.execute("CREATE TABLE more (than TEXT)")
    assert [source] == list(tmp_path.iterdir())
