"""A real S3 store, one for all tests of a process."""

from collections.abc import Iterator

import pytest

from tests.object_store import ObjectStore


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """A running store without buckets. A test takes a bucket of its own: `object_store.bucket(...)`.

    A test that freezes or kills the store makes one of its own instead.
    """
    store = ObjectStore(tmp_path_factory.mktemp("store"))
    store.start()
    yield store
    store.kill()
