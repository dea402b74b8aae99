"""Photos in a store, for all commands that read photos: exports, imports, backups, verification, and the doctor."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from saleroom import opening
from saleroom.admin import photo_moves
from saleroom.cli import main
from saleroom.storage.objects import Objects, StoreUnavailable
from tests.admin.furnished import furnish
from tests.fixtures_database import unique
from tests.object_store import SECRET_KEY, ObjectStore

Say = pytest.CaptureFixture[str]
Command = Callable[..., tuple[list[str], list[str]]]


@pytest.fixture
def bucket(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a bucket of the test's own. Moves wait for nobody."""
    name = unique("stored").replace(".", "-")
    object_store.bucket(name)
    monkeypatch.setattr(photo_moves, "LINGER_SECONDS", 0)
    return name


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: Say) -> Command:
    """Run a command with these settings; return the lines of its output and errors. No secret is shown."""

    def run(*arguments: str, code: int = 0, **settings: str) -> tuple[list[str], list[str]]:
        with monkeypatch.context() as given:
            for name, value in ({"mqtt": "off"} | settings).items():
                given.setenv(f"SALEROOM_{name.upper()}", value)
            capfd.readouterr()
            assert code == main([*arguments]), capfd.readouterr()
        said = capfd.readouterr()
        assert SECRET_KEY not in said.out + said.err
        return said.out.splitlines(), said.err.splitlines()

    return run


def test_an_export_has_the_photos_of_the_store(
    database_url: str, object_store: ObjectStore, bucket: str, command: Command, tmp_path: Path
) -> None:
    """It is the same file, wherever the photos are. An import puts them where the new house has its photos."""
    furnish(database_url)
    house, store = {"database": database_url}, object_store.settings(bucket)
    command("export", str(tmp_path / "rows.ndjson"), **house)
    command("photos", "move", "--to", "store", **house, **store)
    objects = object_store.objects(bucket)
    assert len(objects) > 3
    command("export", str(tmp_path / "store.ndjson"), **house, **store)
    assert (tmp_path / "rows.ndjson").read_bytes() == (tmp_path / "store.ndjson").read_bytes()
    _, [refused] = command("export", str(tmp_path / "none.ndjson"), code=1, **house)
    assert "saleroom: nothing is exported: files of photos are in a store that the settings do not name" in refused

    other = unique("stored").replace(".", "-")
    object_store.bucket(other)
    new = {"database": f"sqlite:///{tmp_path}/new.db", **object_store.settings(other)}
    said, _ = command("import", str(tmp_path / "store.ndjson"), **new)
    assert f"Moved {len(objects)} files of photos to {object_store.url}/{other}." == said[-1]
    assert objects == object_store.objects(other)
    assert object_store.ask("deletefile", f"{bucket}/{min(objects)}") == 0
    _, [missing] = command("export", str(tmp_path / "none.ndjson"), code=1, **house, **store)
    assert "the store has no such object" in missing


@pytest.mark.databases("sqlite")
def test_a_backup_says_that_photos_are_elsewhere(
    database_url: str, bucket: str, object_store: ObjectStore, command: Command, tmp_path: Path
) -> None:
    """A copy of a database names what it lacks; so does a restore. The check names photos in a store without its settings."""
    furnish(database_url)
    house, file = {"database": database_url, **object_store.settings(bucket)}, str(tmp_path / "copy.db")
    said, _ = command("backup", file, **house)
    assert 2 == len(said)
    command("photos", "move", "--to", "store", **house)
    count = len(object_store.objects(bucket))
    lacks = f"{count} files of photos are not in it, but in the store (docs/photos.md)."
    said, _ = command("backup", file, "--force", **house)
    assert lacks == said[-1]
    said, _ = command("restore", file, database=f"sqlite:///{tmp_path}/other.db")
    assert lacks == said[-1]
    said, _ = command("verify", "--database", "--json", code=1, database=database_url)
    faults = json.loads(said[0])["faults"]
    assert f"{count} files of photos are in a store that the settings do not name; set photo_store" in faults


def found(command: Command, settings: dict[str, str], code: int = 0) -> list[tuple[str, str, str]]:
    """Return what the doctor finds about photos: level, words and remedy."""
    said, _ = command("doctor", "--json", code=code, **settings)
    findings: list[dict[str, Any]] = json.loads(said[-1])["findings"]
    return [(one["level"], one["what"], one["remedy"]) for one in findings if one["check"] == "photos"]


@pytest.mark.databases("sqlite")
def test_the_doctor_names_the_package_that_a_store_needs(
    database_url: str, object_store: ObjectStore, bucket: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the doctor says what is missing and what to do, whether the database is there already or not."""
    monkeypatch.setattr(opening, "find_spec", lambda name: None)
    store = object_store.settings(bucket)
    for there in (False, True):
        if there:
            furnish(database_url)
        [(level, what, remedy)] = found(command, store | {"database": database_url}, 1)
        assert ("fault", True, True) == (level, "package obstore" in what, remedy.startswith("install the package"))


@pytest.mark.databases("sqlite")
def test_the_doctor_looks_at_the_store(
    database_url: str, object_store: ObjectStore, bucket: str, command: Command
) -> None:
    """It says where photos are, what the key may not do, and the remedy; it leaves nothing behind."""
    furnish(database_url)
    house, store = {"database": database_url}, object_store.settings(bucket)
    assert [("off", "in the database, as photo_store is not set", "")] == found(command, house)
    may = f"{object_store.url}/{bucket}: objects can be put, read, listed and deleted; "
    fine, rows = found(command, house | store)
    assert ("ok", f"{may}0 files are there", "") == fine
    assert (rows[0], "saleroom photos move --to store" in rows[2]) == ("warn", True)
    command("photos", "move", "--to", "store", **house, **store)
    objects = object_store.objects(bucket)
    assert [("ok", f"{may}{len(objects)} files are there", "")] == found(command, house | store)
    assert objects == object_store.objects(bucket)
    [(level, what, _)] = found(command, house, 1)
    assert ("fault", True) == (level, "and no photo_store is set: nobody can see them" in what)
    wrong = store | {"photo_store_secret_access_key": "another"}
    [(level, what, _)] = found(command, house | wrong, 1)
    assert ("fault", f"the store cannot be used: {object_store.url}/{bucket}: it answers 403 Forbidden") == (
        level,
        what,
    )
    [(level, what, _)] = found(command, house | store | {"photo_store": "s3://not-there"}, 1)
    assert ("fault", f"the store cannot be used: there is no bucket not-there at {object_store.url}/not-there") == (
        level,
        what,
    )


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize(
    ("method", "act", "action"),
    [
        ("put", "put", "PutObject"),
        ("get", "read", "GetObject"),
        ("pages", "listed", "ListBucket"),
        ("delete", "deleted", "DeleteObject"),
    ],
)
def test_the_doctor_names_the_missing_right(
    database_url: str,
    object_store: ObjectStore,
    bucket: str,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    act: str,
    action: str,
) -> None:
    """Of each of the four acts it says when the key may not do it, and which action to allow."""

    async def refused(*_: object) -> None:
        raise StoreUnavailable("it answers 403 Forbidden")

    async def unlisted(*_: object) -> AsyncIterator[None]:
        await refused()
        yield None

    monkeypatch.setattr(Objects, method, unlisted if method == "pages" else refused)
    settings = {"database": database_url, **object_store.settings(bucket)}
    [(level, what, remedy)] = found(command, settings, 1)
    assert ("fault", f"objects cannot be {act}: it answers 403 Forbidden") == (level, what)
    assert f"allow the key s3:{action} there" in remedy
    assert (act == "deleted") == bool(object_store.objects(bucket))
