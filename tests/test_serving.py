"""Processes: what is left of a house whose parent process dies."""

import contextlib
import signal
from pathlib import Path

import psutil
import pytest

from tests.process import Served

GONE_SECONDS_MAX = 40.0


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_workers_end_with_their_parent(bare_database_url: str, tmp_path: Path) -> None:
    """A parent that is killed leaves no worker behind: the port is free again for the next start."""
    house = Served(tmp_path, "--workers", "2", "--mqtt", "off", database=bare_database_url)
    parent = psutil.Process(house.process.pid)
    workers = [child for child in parent.children() if "spawn_main" in " ".join(child.cmdline())]
    try:
        assert 2 == len(workers)
        house.process.send_signal(signal.SIGKILL)
        gone, alive = psutil.wait_procs(workers, timeout=GONE_SECONDS_MAX)
        assert (2, 0) == (len(gone), len(alive))
        port = int(house.url.rpartition(":")[2])
        again = Served(tmp_path, "--mqtt", "off", "--port", str(port), database=bare_database_url)
        assert 0 == again.terminate()
    finally:
        for worker in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.kill()
        house.wait()
