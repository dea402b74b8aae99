"""A PostgreSQL server of a test run that was killed: stopped and removed by a process that outlives the run."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The file begins with the number of the server's process, and is gone once it has stopped. SIGQUIT stops it at once.
REMOVE = """
read _
pid=$(head -n 1 "$1/data/postmaster.pid") && kill -QUIT "$pid" && for _ in $(seq 100); do
    kill -0 "$pid" && sleep 0.1 || break
done
rm -rf "$1"
"""


@contextmanager
def removed_with_this_process(folder: Path) -> Iterator[None]:
    """Remove `folder`, and the server with its files in `folder/data`, at the end of the block or of this process."""
    command = ["sh", "-c", REMOVE, "sh", str(folder)]
    # Its standard input ends when this process does, however that comes. In a session of its own, Ctrl+C does not reach it.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True):
        yield
