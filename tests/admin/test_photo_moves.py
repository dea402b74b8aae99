"""Photos moved between the database and a store: no byte is lost, whatever happens in between."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Update, delete, select, update

from saleroom.admin import photo_moves, verification
from saleroom.admin.photo_moves import To
from saleroom.admin.stored_photos import File
from saleroom.bidding.storage.photo_owner import MARK, owns
from saleroom.bidding.storage.photos import key_of
from saleroom.bidding.storage.tables import photo_files
from saleroom.bidding.storage.tables import photos as rows
from saleroom.cli import main
from saleroom.kernel.errors import Refusal
from saleroom.settings import Settings, load
from saleroom.storage import backup
from saleroom.storage import leases as lease_rows
from saleroom.storage.database import Database, Transaction
from saleroom.storage.objects import Objects
from saleroom.storage.tables import leases
from tests.admin.furnished import furnish
from tests.admin.killed_at import KILL
from tests.fixtures_database import unique
from tests.object_store import ObjectStore
from tests.process import saleroom

R = TypeVar("R")
Files = dict[str, bytes]


@pytest.fixture
def bucket(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a bucket of the test's own. Moves wait for nobody."""
    name = unique("moves").replace(".", "-")
    object_store.bucket(name)
    monkeypatch.setattr(photo_moves, "LINGER_SECONDS", 0)
    return name


@pytest.fixture
def house(database_url: str, object_store: ObjectStore, bucket: str) -> Settings:
    """The settings of a furnished house with a store, and all its photos in rows."""
    furnish(database_url)
    return load({"database": database_url, "mqtt": "off", **object_store.settings(bucket)}, {})


def reads(settings: Settings, use_case: Callable[[Transaction], R], *, writes: bool = False) -> R:
    """Return the answer of a use case."""

    async def work() -> R:
        database = Database(settings.database)
        try:
            return await (database.write if writes else database.read)(use_case)
        finally:
            await database.close()

    return asyncio.run(work())


def in_rows(settings: Settings) -> Files:
    """Return the bytes of all files as the rows have them, by key."""
    found = select(rows.c.gid, photo_files.c.width, photo_files.c.bytes).join_from(photo_files, rows)
    return reads(settings, lambda tx: {key_of(row.gid, row.width): bytes(row.bytes) for row in tx.execute(found)})


def files_of(store: ObjectStore, bucket: str) -> Files:
    """Return the objects of photos by key."""
    return {key: data for key, data in store.objects(bucket).items() if key != MARK}


def move(settings: Settings, to: str) -> tuple[int, list[str]]:
    """Move all files; return the exit code and what was said."""
    said: list[str] = []
    return photo_moves.move(settings, To(to), say=said.append), said


def verified(settings: Settings) -> list[str]:
    """Return what `saleroom verify --database` says."""
    said: list[str] = []
    verification.verify(settings, json=False, say=said.append)
    return said


def whole(settings: Settings, stored: Files) -> Files:
    """Return the bytes of all files, from wherever each is."""
    return {key: data or stored[key] for key, data in in_rows(settings).items()}


def test_there_and_back(house: Settings, object_store: ObjectStore, bucket: str) -> None:
    """All files are in the store and in no row, and then in all rows and not in the store. The house checks as before."""
    before, checked = in_rows(house), verified(house)
    assert len(before) > 3
    there = f"to {object_store.url}/{bucket}."
    assert (0, [f"Moved {len(before)} files of photos {there}"]) == move(house, "store")
    assert dict.fromkeys(before, b"") == in_rows(house)
    assert before == files_of(object_store, bucket)
    assert checked == verified(house)
    assert (0, [f"Moved 0 files of photos {there}"]) == move(house, "store")
    back = [f"Moved {len(before)} files of photos to the database.", f"Deleted {len(before)} objects."]
    assert (0, back) == move(house, "rows")
    assert before == in_rows(house)
    assert {} == files_of(object_store, bucket)


KILLED = (
    """
import sys
from saleroom.admin import photo_moves
from saleroom.cli import main
from saleroom.storage.objects import Objects

place, call, *command = sys.argv[1:]
photo_moves.LINGER_SECONDS, photo_moves.AT_ONCE = 0, 1
owner = photo_moves if hasattr(photo_moves, place) else Objects
"""
    + KILL
    + """
sys.exit(main(command))
"""
)
"""A program that moves, and is killed as it calls the function `place` for the n-th time."""


@pytest.mark.parametrize(
    ("to", "place", "call"),
    [
        ("store", "put", 2),
        ("store", "get", 2),
        ("store", "_empty", 1),
        ("store", "_empty", 3),
        ("rows", "fetch", 2),
        ("rows", "_fill", 2),
        ("rows", "_in_rows", 1),
        ("rows", "delete", 1),
    ],
)
def test_killed_at_any_place(
    house: Settings, object_store: ObjectStore, bucket: str, tmp_path: Path, to: str, place: str, call: int
) -> None:
    """After SIGKILL each file is whole in its row or in the store, and the next run finishes the move."""
    before = in_rows(house)
    if to == "rows":
        assert 0 == move(house, "store")[0]
    program, given = tmp_path / "killed.py", object_store.settings(bucket)
    program.write_text(KILLED)
    arguments = (place, str(call), "photos", "move", "--to", to)
    child = saleroom(tmp_path, *arguments, program=str(program), database=house.database, mqtt="off", **given)
    assert -signal.SIGKILL == child.returncode, child.stderr
    assert before == whole(house, files_of(object_store, bucket))
    reads(house, lambda tx: tx.execute(delete(leases)), writes=True)  # it would run out some seconds later
    assert 0 == move(house, to)[0]
    assert (before if to == "rows" else dict.fromkeys(before, b"")) == in_rows(house)
    assert ({} if to == "rows" else before) == files_of(object_store, bucket)


@pytest.mark.databases("sqlite")
def test_a_copy_of_a_house_leaves_the_objects(
    house: Settings, object_store: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    """A copy takes its photos back into its rows, and its original still finds them in the store."""
    assert 0 == move(house, "store")[0]
    asyncio.run(marked(house))
    copy = tmp_path / "copy.db"
    backup.copy(Path(house.database.removeprefix("sqlite:///")), copy, lambda *_: None)
    before = files_of(object_store, bucket)
    code, said = move(house.model_copy(update={"database": f"sqlite:///{copy}"}), "rows")
    assert (0, before) == (code, files_of(object_store, bucket))
    assert any(line.startswith("Deleted no objects: photo_store is the place of another house") for line in said)
    assert 0 == move(house, "rows")[0]
    assert {} == files_of(object_store, bucket)


async def marked(settings: Settings) -> None:
    """Mark the place of a house, as its first sweep does."""
    assert settings.photo_place is not None
    database = Database(settings.database)
    try:
        assert await owns(database, Objects(settings.photo_place))
    finally:
        await database.close()


def test_what_does_not_fit_its_digest_stays(house: Settings, object_store: ObjectStore, bucket: str) -> None:
    """A damaged row is not taken for a photo, nor is a damaged or missing object; each is named, and the others move."""
    before = in_rows(house)
    first, second, third, *_ = sorted(before)
    reads(house, lambda tx: tx.execute(_at(tx, first).values(bytes=b"bait")), writes=True)
    code, said = move(house, "store")
    left = "Left where they are: 1 files."
    assert (1, f"{_named(first)}: its bytes in the database are not what its digest says", left) == (code, *said[1:])
    assert before | {first: b"bait"} == whole(house, files_of(object_store, bucket))
    (object_store.folder(bucket) / second).write_bytes(before[first][:-1] + b"?")
    assert 0 == object_store.ask("deletefile", f"{bucket}/{third}")
    faults = {
        f"{_named(second)}: the object in the store is not what was put there",
        f"{_named(third)}: the store has no such object",
    }
    assert faults <= set(verified(house))
    code, said = move(house, "rows")
    assert (1, faults, "Left where they are: 2 files.") == (code, set(said[2:4]), said[4])
    assert {second: b"", third: b""}.items() <= in_rows(house).items()
    assert [second] == list(files_of(object_store, bucket))


def test_a_store_that_gives_back_other_bytes(house: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken out of the database if the store does not give back what it was given."""
    before = in_rows(house)

    async def other(self: Objects, key: str, bytes_max: int) -> bytes:
        return b"?" * bytes_max

    monkeypatch.setattr(Objects, "get", other)
    code, said = move(house, "store")
    assert (1, f"Left where they are: {len(before)} files.") == (code, said[-1])
    assert before == in_rows(house)


def test_a_photo_that_is_deleted_meanwhile(
    house: Settings, object_store: ObjectStore, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No object is left of a photo whose rows go between its way to the store and the emptying of its row."""
    before, real = in_rows(house), photo_moves._empty
    gone = min(before)

    def emptied(tx: Transaction, holder: str, file: File) -> bool:
        if file.key == gone:
            tx.execute(
                delete(photo_files).where(photo_files.c.photo_id == file.photo_id, photo_files.c.width == file.width)
            )
        return real(tx, holder, file)

    monkeypatch.setattr(photo_moves, "_empty", emptied)
    assert 0 == move(house, "store")[0]
    del before[gone]
    assert before == files_of(object_store, bucket)


def test_a_run_that_stood_still_takes_nothing_away(house: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once another run has the lease, no row is emptied: the other may have deleted the object."""
    before, real = in_rows(house), photo_moves._empty

    def late(tx: Transaction, holder: str, file: File) -> bool:
        tx.execute(update(leases).where(leases.c.name == photo_moves.LEASE_NAME).values(holder="another"))
        return real(tx, holder, file)

    monkeypatch.setattr(photo_moves, "_empty", late)
    with pytest.raises(Refusal, match="stood still"):
        move(house, "store")
    assert before == in_rows(house)


def test_two_runs_at_once(house: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run waits for another one, and for as long as the lease of one that was killed may last; then it says so."""
    reads(house, lambda tx: lease_rows.hold(tx, photo_moves.LEASE_NAME, "another", 3600), writes=True)
    monkeypatch.setattr(photo_moves, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(photo_moves, "LEASE_SECONDS", 0.01)
    monkeypatch.setattr(
        lease_rows, "clock", lambda: 0.0
    )  # no time passes, in which the other would have to renew its lease
    with pytest.raises(Refusal, match="another saleroom photos move is under way"):
        move(house, "store")


@pytest.mark.databases("sqlite")
def test_a_store_that_is_away(
    house: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command says in one line what is wrong and how to go on, with exit code 1, and nothing is lost."""
    before, away = in_rows(house), ObjectStore(tmp_path)
    monkeypatch.setattr(photo_moves, "PAUSES", (0,))
    for name, value in {"database": house.database, "mqtt": "off", **away.settings("none")}.items():
        monkeypatch.setenv(f"SALEROOM_{name.upper()}", value)
    capfd.readouterr()
    assert 1 == main(["photos", "move", "--to", "store"])
    [said] = capfd.readouterr().err.splitlines()
    assert said.startswith(f"saleroom: after 0 files: {away.url}/none: it cannot be reached")
    assert said.endswith("saleroom photos move --to store goes on from there")
    assert before == in_rows(house)
    monkeypatch.delenv("SALEROOM_PHOTO_STORE")
    assert 1 == main(["photos", "move", "--to", "rows"])
    assert "saleroom: name the store first, as the setting photo_store (docs/photos.md)" in capfd.readouterr().err
    assert 2 == main(["photos", "move"])
    assert 2 == main(["photos", "move", "--to", "moon"])


def _named(key: str) -> str:
    """Return how messages name a file."""
    _, gid, width = key.removesuffix(".webp").split("/")
    return f"photo {gid}, {width} pixels wide"


def _at(tx: Transaction, key: str) -> Update:
    _, gid, width = key.removesuffix(".webp").split("/")
    number = tx.execute(select(rows.c.id).where(rows.c.gid == gid)).scalar_one()
    return update(photo_files).where(photo_files.c.photo_id == number, photo_files.c.width == int(width))
