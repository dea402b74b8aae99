"""A real S3 store, one for all tests of a process."""

from collections.abc import Iterator

import pytest

from saleroom.storage import objects
from tests.object_store import ObjectStore
from tests.patience import SECONDS_MAX


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """A running store without buckets. A test takes a bucket of its own: `object_store.bucket(...)`.

    A test that freezes or kills the store makes one of its own instead.
    """
    store = ObjectStore(tmp_path_factory.mktemp("store"), "--dir-cache-time", "1ms")
    store.start()
    with pytest.MonkeyPatch.context() as patch:
        # A store on a busy machine may answer late; tests of the house's own bounds set them.
        for bound in ("SECONDS_MAX", "TRY_SECONDS_MAX", "CONNECT_SECONDS_MAX"):
            patch.setattr(objects, bound, SECONDS_MAX)
        yield store
    store.kill()
