"""Export and import: the same house in either database, or no import at all."""

import asyncio
import base64
import hashlib
import io
import json
import random
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, inspect, select

from saleroom.accounts.storage.tables import users
from saleroom.admin import transfers
from saleroom.areas import TABLES
from saleroom.cli import main
from saleroom.kernel.chain import canonical
from saleroom.sales.service.floor import floor
from saleroom.storage import transfer
from saleroom.storage.database import Database, Transaction
from saleroom.storage.transfer import BadExport
from tests.admin import furnished
from tests.fixtures_database import _postgresql_database
from tests.fixtures_house import settings_for
from tests.patience import SECONDS_MAX
from tests.process import PROGRAM, environment
from tests.storage.rows import add_author

ROOT = Path(__file__).parents[2]
POSTGRESQL = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
SQLITE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
Say = pytest.CaptureFixture[str]


@pytest.fixture
def empty(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database without tables, of the kind that the test does not use."""
    if database_kind == "postgresql":
        yield f"sqlite:///{tmp_path}/other.db"
    else:
        yield from _postgresql_database(request.getfixturevalue("postgresql_orders"), "template0")


@pytest.fixture(scope="module")
def exported(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The lines of an export of a furnished house."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "house.db").write_bytes(sqlite_template.read_bytes())
    url = f"sqlite:///{folder}/house.db"
    furnished.furnish(url)
    assert 0 == main(["export", str(folder / "house.ndjson"), "--database", url])
    return (folder / "house.ndjson").read_bytes().splitlines(keepends=True)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read and write a few rows at a time, as in a large house."""
    monkeypatch.setattr(transfer, "BATCH", 2)
    monkeypatch.setattr(transfer, "LARGE_BATCH", 1)


@pytest.mark.usefixtures("small_batches")
def test_the_same_bytes_from_either_database(database_url: str, empty: str, tmp_path: Path, capfd: Say) -> None:
    """A house moves from one database to the other, with the same bytes and ledgers, and continues to sell."""
    gid = furnished.furnish(database_url)
    first, second = tmp_path / "first.ndjson", tmp_path / "second.ndjson"
    assert 0 == main(["export", str(first), "--database", database_url])
    assert 0 == main(["import", str(first), "--database", empty])
    assert 0 == main(["export", str(second), "--database", empty])
    assert first.read_bytes() == second.read_bytes()
    output = [line for line in capfd.readouterr().out.splitlines() if line.startswith("auctions: ")]
    assert 1 == len({line.partition(" (in ")[0] for line in output}), "the ledgers come to the same everywhere"
    assert re.fullmatch(r"auctions: 11, ledger heads: [0-9a-f]{64}", output[0].partition(" (in ")[0])
    assert ["the database", "the file", "the file", "the database"] == [
        line[line.index("(in ") + 4 : -1] for line in output[:4]
    ]
    assert 0o600 == first.stat().st_mode & 0o777
    before, after = furnished.counted(database_url), furnished.counted(empty)
    assert {**before, "leases": 0, "rate_limits": 0, "used_challenges": 0, "processes": 0} == after
    assert [] == [name for name, count in before.items() if not count], "the house has some of everything"
    assert "accepted" == furnished.bids_more(empty, gid)
    assert "accepted" == furnished.bids_more(empty, furnished.sells_more(empty))
    assert [] == furnished.faults(empty)


def test_an_export_has_the_documented_format(exported: list[bytes]) -> None:
    """The format is that of docs/backup.md: canonical lines, money and big numbers as strings, digests as documented."""
    assert exported == [canonical(json.loads(line)) + b"\n" for line in exported]
    rows = [json.loads(line) for line in exported[1:-1]]
    named = {row["row"]["name"] for row in rows if row["table"] == "auctions"}
    prices = {row["row"]["starting_price"] for row in rows if row["table"] == "auctions"}
    assert (furnished.HOSTILE in named, "99999999999999999.999" in prices) == (True, True)
    assert all(isinstance(row["row"]["ending_rank"], str) for row in rows if row["table"] == "auctions")
    assert set() == {row["table"] for row in rows} ^ {table.name for table in TABLES.tables} - {
        "leases",
        "rate_limits",
        "used_challenges",
        "processes",
        "texts",
    }
    assert not any("written_by" in row["row"] for row in rows)
    summary = json.loads(exported[-1])
    heads = sorted(f"{row['row']['gid']} {row['row']['head']}\n" for row in rows if row["table"] == "auctions")
    assert hashlib.sha256("".join(heads).encode()).hexdigest() == summary["heads"]
    assert hashlib.sha256(b"".join(exported[:-1])).hexdigest() == summary["sha256"]


def test_left_out_columns_are_documented() -> None:
    """docs/backup.md names each table and each column that an export leaves out."""
    text = (ROOT / "docs" / "backup.md").read_text()
    left_out = {table.name for table in TABLES.tables if table not in TABLES.exported}
    assert [] == [name for name in left_out | transfer.COLUMNS_LEFT_OUT if name not in text]


def summed(lines: list[bytes]) -> list[bytes]:
    """Return the lines with a new summary that fits them, as a forger would write it."""
    rows = [json.loads(line) for line in lines[1:-1]]
    counts = dict.fromkeys(json.loads(lines[-1])["counts"], 0)
    for row in rows:
        counts[row["table"]] += 1
    heads = transfer.Heads.of((row["row"]["gid"], row["row"]["head"]) for row in rows if row["table"] == "auctions")
    sha256 = hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    return [*lines[:-1], canonical({"counts": counts, "heads": heads.digest, "sha256": sha256}) + b"\n"]


def row_of(lines: list[bytes], table: str) -> int:
    """Return the index of the first row of a table."""
    return next(place for place, line in enumerate(lines) if f'"table":"{table}"'.encode() in line)


def changed(lines: list[bytes], table: str, **values: object) -> list[bytes]:
    """Return the lines with other values in the first row of a table, and a summary that fits."""
    place = row_of(lines, table)
    found = json.loads(lines[place])
    line = canonical({"row": {**found["row"], **values}, "table": table}) + b"\n"
    return summed([*lines[:place], line, *lines[place + 1 :]])


def change(table: str, **values: object) -> Callable[[list[bytes]], list[bytes]]:
    """Return the step that changes the first row of a table."""
    return lambda lines: changed(lines, table, **values)


def swapped(lines: list[bytes]) -> list[bytes]:
    """Return the lines with two users swapped, and a summary that fits."""
    place = row_of(lines, "users")
    return summed([*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]])


PAGE = b"<script>alert(1)</script>"


def packed(data: bytes) -> str:
    """Return bytes in the form of an export."""
    return base64.b64encode(data).decode()


BROKEN: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "empty": (lambda _: [], "line 1: the file is cut off, or no export"),
    "no export": (lambda _: [b"name,price\n", b"clock,100\n"], "line 1: not a line of an export"),
    "other JSON": (lambda lines: [b'{"hello":"world"}\n', *lines[1:]], "line 1: this is no export"),
    "packed": (lambda _: [b"\x1f\x8b\x08\x00\n"], "line 1: not a line of an export"),
    "another revision": (lambda lines: [lines[0].replace(b"00", b"01"), *lines[1:]], "migrate"),
    "cut off": (lambda lines: lines[:-1], "the file is cut off"),
    "cut off in a line": (lambda lines: [*lines[:5], lines[5][:20]], "line 6: the file is cut off"),
    "a line is missing": (lambda lines: [*lines[:4], *lines[5:]], "the summary does not fit"),
    "twice": (
        lambda lines: summed([*lines[:4], lines[3], *lines[4:]]),
        "line 5: the row is out of order, or there twice",
    ),
    "out of order": (swapped, "the row is out of order"),
    "more after the end": (lambda lines: [*lines, b"\n"], "there is more after the summary"),
    "spaces": (lambda lines: [*lines[:2], b" " + lines[2], *lines[3:]], "line 3: not as an export writes it"),
    "an unknown table": (lambda lines: [lines[0], b'{"row":{},"table":"leases"}\n', lines[-1]], "no table 'leases'"),
    "an unknown column": (change("users", shoe_size=43), "other columns than ours: shoe_size"),
    "text for a number": (change("bids", number="one"), "not of its column's kind"),
    "money in cents": (change("bids", amount="1.2345"), "not of its column's kind"),
    "another instant": (change("users", created_at="2026-11-21T12:00:00Z"), "not of its column's kind"),
    "nothing": (change("users", username=None), "not of its column's kind"),
    "a name that steers a terminal": (
        change("users", username="ada\x1b[2J"),
        "username of users must be 3 to 32 characters",
    ),
    "a name of no user": (change("users", username="Ada Lovelace"), "username of users must be"),
    "a name in capitals": (change("users", username="ADA"), "username of users must be in lower case"),
    "a lot that steers a terminal": (
        change("auctions", name="Clock\x9b31m"),
        "name of auctions must not contain control",
    ),
    "a lot that is read backwards": (
        change("auctions", name="Clock\u202e"),
        "name of auctions must not contain control",
    ),
    "a description that rings": (
        change("auctions", description="Line\nbell\x07"),
        "description of auctions must not contain control",
    ),
    "a word about nothing": (change("outbox", facts="[]"), "facts of outbox must be a JSON object"),
    "a word of no state": (change("outbox", state="lost"), "state of outbox must be one of waiting, "),
    "a word to no browser": (change("outbox", channel="push", address="x"), "the address of a word must be a number"),
    "a gid that is a topic": (change("auctions", gid="a/#"), "gid of auctions must be"),
    "a device with a line": (change("auth_tokens", agent="curl\n8"), "agent of auth_tokens must not"),
    "a draft that is no form": (change("drafts", content="{}"), "the content of a draft is not a form"),
    "a lot without a number": (change("lots", label=""), "label of lots must be 1 to 6 digits"),
    "a lot's number in small letters": (change("lots", label="12a"), "label of lots must be written 12A"),
    "a photo that is a path": (change("photos", gid="../x"), "gid of photos must be"),
    "a column that steers a terminal": (change("users", **{"a\x1b[2J": 1}), "other columns than ours: a\\u001b[2J"),
    "no key": (change("bids", id=None), "not of its column's kind"),
    "a photo that is a page": (
        change("photo_files", bytes=packed(PAGE), digest=hashlib.sha256(PAGE).hexdigest()),
        "the file of a photo is not WebP",
    ),
    "a photo with another digest": (
        change("photo_files", digest="0" * 64),
        "the file of a photo is not WebP, or not what its digest says",
    ),
    "a digest that is a header": (
        change("photo_files", digest="a\r\nSet-Cookie: b"),
        "digest of photo_files must not contain control",
    ),
    "nobody's": (change("watches", user_id=99), "the database refuses a row of watches"),
    "another price": (change("bids", amount="1.000"), "the ledgers in the file do not verify"),
    "another head": (change("auctions", head="0" * 64), "the ledgers in the file do not verify"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_file_imports_nothing(
    how: str, exported: list[bytes], sqlite_template: Path, tmp_path: Path, capfd: Say
) -> None:
    """A file that is cut off, changed, foreign or forged is refused in a line with the place, and nothing is imported."""
    mangle, reason = BROKEN[how]
    file = tmp_path / "house.ndjson"
    file.write_bytes(b"".join(mangle(exported)))
    url = f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'new.db')}"
    assert 1 == main(["import", str(file), "--database", url])
    output = capfd.readouterr().err
    assert ("saleroom: nothing is imported: ", 1) == (output[:31], len(output.splitlines()))
    assert reason in output
    assert output.removesuffix("\n").isprintable()
    assert "argon" not in output, "nor is anything of it repeated"
    assert furnished.counted(f"sqlite:///{sqlite_template}") == furnished.counted(url)


@pytest.mark.parametrize("how", ["cut off", "another price"])
def test_a_broken_file_makes_no_house(how: str, exported: list[bytes], tmp_path: Path) -> None:
    """If there is no house yet, a file that is refused makes none: no database is left, nor tables in one that was there."""
    mangle, _ = BROKEN[how]
    file, database = tmp_path / "house.ndjson", tmp_path / "new.db"
    file.write_bytes(b"".join(mangle(exported)))
    assert 1 == main(["import", str(file), "--database", f"sqlite:///{database}"])
    assert [file] == [*tmp_path.iterdir()]
    database.touch()
    assert 1 == main(["import", str(file), "--database", f"sqlite:///{database}"])
    assert [] == asyncio.run(tables_of(f"sqlite:///{database}"))


async def tables_of(url: str) -> list[str]:
    """Return the names of all tables."""
    database = Database(url)
    try:
        return await database.read(lambda tx: inspect(tx.connection).get_table_names())
    finally:
        await database.close()


@SQLITE
async def test_every_changed_byte_is_refused(database: Database, exported: list[bytes]) -> None:
    """An export with any byte changed is refused."""
    whole, chance = b"".join(exported), random.Random(6)

    def load(tx: Transaction, data: bytes) -> None:
        transfer.load(tx, TABLES, io.BytesIO(data), lambda _: None)

    for _ in range(40):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        with pytest.raises(BadExport):
            await database.write(load, bytes(data))
    await database.write(load, whole)


@POSTGRESQL
@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("idempotency", {"key": "a\0b"}),
        ("watches", {"user_id": 99}),
        ("auctions", {"bid_count": 1 << 40}),
    ],
)
async def test_values_that_postgresql_cannot_store_are_refused(
    database: Database, exported: list[bytes], table: str, values: dict[str, object]
) -> None:
    """A value that PostgreSQL cannot store is a fault of the file, and is not printed."""
    data = b"".join(changed(exported, table, **values))
    with pytest.raises(BadExport, match=rf"before line [0-9]+: the database refuses a row of {table}$"):
        await database.write(lambda tx: transfer.load(tx, TABLES, io.BytesIO(data), lambda _: None))


def test_the_account_of_the_floor_moves_too(database_url: str, empty: str, tmp_path: Path) -> None:
    """A house that has taken a bid from its hall is imported whole, with the account that stands for the hall."""

    async def open_hall() -> None:
        database = Database(database_url)
        await database.write(floor)
        await database.close()

    asyncio.run(open_hall())
    first, second = tmp_path / "first.ndjson", tmp_path / "second.ndjson"
    assert 0 == main(["export", str(first), "--database", database_url])
    assert b'"#floor"' in first.read_bytes()
    assert 0 == main(["import", str(first), "--database", empty])
    assert 0 == main(["export", str(second), "--database", empty])
    assert first.read_bytes() == second.read_bytes()


def test_an_import_needs_an_empty_house(database_url: str, exported: list[bytes], tmp_path: Path, capfd: Say) -> None:
    """An import refuses a house that has any data, or has ever served, and changes nothing."""
    (tmp_path / "house.ndjson").write_bytes(b"".join(exported))
    assert 0 == main(["import", str(tmp_path / "house.ndjson"), "--database", database_url])
    before = furnished.counted(database_url)
    assert 1 == main(["import", str(tmp_path / "house.ndjson"), "--database", database_url])
    assert "the house is not empty, and must be: there are rows in" in capfd.readouterr().err
    assert before == furnished.counted(database_url)


async def test_an_export_is_of_one_instant(database: Database, database_url: str) -> None:
    """An export is the house as it was at its start, without later commits."""
    await furnished.furnish_it(database_url)
    lines: dict[str, list[bytes]] = {}

    async def export(name: str, disturbed: bool) -> None:
        lines[name] = []

        def write(line: bytes) -> None:
            if disturbed and not lines[name]:
                other = threading.Thread(target=furnished.sells_more, args=[database_url])
                other.start()
                other.join()
            lines[name].append(line)

        def work(tx: Transaction) -> None:
            transfer.freeze(tx)
            transfer.export(tx, TABLES, write)

        await database.read(work)

    for name, disturbed in (("before", False), ("meanwhile", True), ("after", False)):
        await export(name, disturbed)
    assert lines["before"] == lines["meanwhile"]
    assert lines["before"] != lines["after"]


def test_export_and_import_through_a_pipe(exported: list[bytes], tmp_path: Path) -> None:
    """A house moves through a pipe. An existing file is replaced only with --force."""
    (tmp_path / "house.ndjson").write_bytes(b"".join(exported))
    assert 0 == main(["import", str(tmp_path / "house.ndjson"), "--database", f"sqlite:///{tmp_path}/a.db"])
    export = f"{PROGRAM} export - --database sqlite:///a.db"
    pipe = f"{export} | tee b.ndjson | {PROGRAM} import - --database sqlite:///b.db"
    done = subprocess.run(
        ["sh", "-c", pipe], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert (2, 2) == (len(done.stdout.splitlines()), len(done.stderr.splitlines())), "the messages are not in the file"
    assert b"".join(exported) == (tmp_path / "b.ndjson").read_bytes()
    again = ["export", str(tmp_path / "b.ndjson"), "--database", f"sqlite:///{tmp_path}/b.db"]
    assert (1, 0) == (main(again), main([*again, "--force"]))
    assert [] == list(tmp_path.glob(".*")), "no half of a file is left"


def test_a_full_disk_is_no_fault_of_the_database(database_url: str) -> None:
    """Without room for an export the error is that of its file, on either database."""
    with Path("/dev/full").open("wb", 0) as full, pytest.raises(OSError, match="No space left on device"):
        transfers.export(settings_for(database_url), full, force=False, say=lambda _: None)


@SQLITE
async def test_a_stopped_import_is_not_committed(database: Database) -> None:
    """Ctrl-C during an import rolls it back, even though the import's thread cannot be stopped from outside."""
    reached, go_on = threading.Event(), threading.Event()

    def work(tx: Transaction, *_: object) -> None:
        add_author(tx)
        reached.set()
        go_on.wait(SECONDS_MAX)

    task = asyncio.create_task(transfers._once(database.write, work))
    await asyncio.to_thread(reached.wait, SECONDS_MAX)
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert 0 == await database.write(lambda tx: tx.execute(select(func.count()).select_from(users)).scalar_one())
