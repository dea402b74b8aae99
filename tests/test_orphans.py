"""A test run that is killed leaves nothing behind."""

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.memory import mark, remove_left
from tests.process import ending, wait_until

PROGRAM = """
import sys
from pathlib import Path
from tests import forking

forking.MODULES = ()
folder = Path(sys.argv[1])
(folder / "script.py").write_text("import os, time; os.fork(); time.sleep(600)")
started = forking.Program([str(folder / "script.py")], folder, {}, sys.stderr, sys.stderr)
"""
SERVER = """
import signal, subprocess, sys
from functools import partial
from pathlib import Path
from tests.orphans import removed_with_this_process

(folder := Path(sys.argv[1])).joinpath("data").mkdir()
block = removed_with_this_process(folder)
block.__enter__()
# A shell that starts a run in the background lets it ignore the signal, which a server does not.
heard = partial(signal.signal, signal.SIGQUIT, signal.SIG_DFL)
started = subprocess.Popen(["sleep", "600"], start_new_session=True, preexec_fn=heard)
(folder / "data/postmaster.pid").write_text(f"{started.pid}\\n{folder}/data\\n")
"""
TOLD = "print(started.pid, flush=True); sys.stdin.read()"


@pytest.mark.parametrize("script", [PROGRAM, SERVER], ids=["program", "server"])
def test_a_killed_run_leaves_nothing(tmp_path: Path, script: str) -> None:
    """Programs and their children, and a server with its folder, end soon after SIGKILL for the process that started them."""
    folder = tmp_path / "run"
    folder.mkdir()
    command = [sys.executable, "-c", script + TOLD, str(folder)]
    with ending(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as run:
        assert run.stdout is not None
        started = psutil.Process(int(run.stdout.readline()))
        if script == PROGRAM:
            wait_until(lambda: bool(started.children()))
        left = [started, *started.children()]
        run.kill()
        wait_until(lambda: not any(_runs(process) for process in left))
        wait_until(lambda: script == PROGRAM or not folder.exists())


def test_the_next_run_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    """It removes the folders of processes that have ended, and stops the server in one; all others stay as they are."""
    names = ["saleroom-postgresql-dead", "pytest-of-me/pytest-3", "saleroom-dead"]
    dead, own, unknown = [tmp_path / name for name in names], tmp_path / "saleroom-own", tmp_path / "saleroom-unknown"
    for folder in (*dead, own, unknown):
        (folder / "data").mkdir(parents=True)
    script = (
        "import sys; from pathlib import Path; from tests.memory import mark; [mark(Path(one)) for one in sys.argv[1:]]"
    )
    subprocess.run([sys.executable, "-c", script, *dead], check=True)
    mark(own)
    heard = partial(signal.signal, signal.SIGQUIT, signal.SIG_DFL)
    servers = [  # the number in the third folder is another process's by now
        subprocess.Popen(["sleep", "600"], cwd=cwd, preexec_fn=heard)  # noqa: PLW1509  # no other thread runs
        for cwd in (dead[0] / "data", own / "data", tmp_path)
    ]
    with ending(servers[0]), ending(servers[1]), ending(servers[2]):
        for folder, server in zip((dead[0], own, dead[2]), servers, strict=True):
            (folder / "data/postmaster.pid").write_text(f"{server.pid}\n")
        remove_left(tmp_path)
        assert [False, True, True] == [_runs(psutil.Process(server.pid)) for server in servers]
    assert [False] * len(dead) == [folder.exists() for folder in dead]
    assert own.exists() and unknown.exists()


def _runs(process: psutil.Process) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:  # it ended between the two looks
        return False
