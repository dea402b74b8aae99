"""Houses that start while their database cannot be written to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.places import TrialDatabase, place, seal, unseal
from tests.process import Client, ServeProcess, saleroom, wait_until


@pytest.fixture
def there(tmp_path: Path) -> Iterator[TrialDatabase]:
    """A small disk for a house on SQLite."""
    with place("sqlite", tmp_path, None, on_disk=True) as there:
        yield there


def test_on_a_full_disk(there: TrialDatabase, tmp_path: Path) -> None:
    """It does not start, and one line names the database and the reason; once there is room it starts."""
    assert there.disk is not None
    there.disk.fill()
    ended = saleroom(tmp_path, "serve", "--port", "0", database=there.url, mqtt="off")
    assert (1, 1) == (ended.returncode, len(ended.stderr.strip().splitlines())), ended.stderr
    assert "cannot use the database" in ended.stderr and there.url in ended.stderr
    there.disk.empty()
    with _serving(there, tmp_path) as served:
        assert "Traceback" not in served.told()


def test_on_a_database_that_is_read_only(there: TrialDatabase, tmp_path: Path) -> None:
    """It starts, shows its lots and refuses bids with 503; when the database can be written to, it takes them."""
    assert there.disk is not None
    with _serving(there, tmp_path) as served:
        client = Client(served.url)
        seller, bidder = client.enter("ada"), client.enter("ben")
        gid = client.sell(seller)
        client.close()
    files = list(there.disk.folder.glob("saleroom.db*"))
    seal(*files)
    with _serving(there, tmp_path) as served:
        client = Client(served.url)
        assert "open" == client.get(f"/auctions/{gid}")["status"]
        refused = client.ask("POST", f"/auctions/{gid}/bids", bidder, {"amount": "100"})
        assert (503, "1") == (refused.status_code, refused.headers["Retry-After"])
        assert 1 == served.log().count("closing waits for the database")
        unseal(*files)
        assert 201 == client.ask("POST", f"/auctions/{gid}/bids", bidder, {"amount": "100"}).status_code
        wait_until(lambda: "closing goes on" in served.log())
        assert "Traceback" not in served.told()
        client.close()


@contextmanager
def _serving(there: TrialDatabase, folder: Path) -> Iterator[ServeProcess]:
    served = ServeProcess(folder, database=there.url, mqtt="off")
    try:
        yield served
        assert 0 == served.terminate()
    finally:
        served.kill()
