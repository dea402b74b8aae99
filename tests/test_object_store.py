"""The S3 store of tests is a real one: it asks for signatures, and keeps what it has taken."""

from pathlib import Path

import pytest

from tests.object_store import ObjectStore


def test_the_store_takes_what_is_signed_with_the_right_key(object_store: ObjectStore) -> None:
    """An object is in its bucket afterwards; with another secret nothing is."""
    object_store.bucket("signed")
    assert object_store.ask("rcat", "signed/a/b", b"bytes") == 0
    assert object_store.ask("rcat", "signed/a/c", b"bytes", secret="another") != 0
    assert object_store.objects("signed") == {"a/b": b"bytes"}


def test_a_killed_store_comes_back_with_its_objects(tmp_path: Path) -> None:
    """A store that was killed has nothing to say. Started again, it has its objects and takes new ones."""
    store = ObjectStore(tmp_path)
    store.start()
    try:
        store.bucket("kept")
        assert store.ask("rcat", "kept/a", b"one") == 0
        store.kill()
        assert store.ask("rcat", "kept/b", b"two") != 0
        store.start()
        assert store.ask("rcat", "kept/c", b"three") == 0
        assert store.objects("kept") == {"a": b"one", "c": b"three"}
    finally:
        store.kill()


def test_without_the_program_its_tests_are_skipped_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without rclone is told that the store was not tested; a run that requires it fails."""
    monkeypatch.setattr("tests.object_store.RCLONE", tmp_path / "rclone")
    monkeypatch.setenv("SALEROOM_TEST_REQUIRE", "")
    with pytest.raises(pytest.skip.Exception, match="NOT TESTED HERE, as it needs rclone"):
        ObjectStore(tmp_path)
    monkeypatch.setenv("SALEROOM_TEST_REQUIRE", "rclone")
    with pytest.raises(pytest.fail.Exception, match="rclone is required here"):
        ObjectStore(tmp_path)
