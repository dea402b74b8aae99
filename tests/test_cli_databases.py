"""What commands say of a database that is not there, damaged, empty, or a folder."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fixtures_commands import Run

PASSWORD = "correct horse"


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
