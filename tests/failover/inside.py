"""`python -m tests.failover.inside NAME COUNT FOLDER`: one trial in namespaces of its own, for `__main__`.

It writes a line for each step, and the outcome, or the error in words, to a file in the folder.
"""

import asyncio
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.failover import table, trial
from tests.failover.machines import first_process, switch
from tests.failover.trial import Trial, TrialOutcome

SPACES = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Network, mounts and processes of a trial end with its first process."""
TOGETHER = ("setpriv", "--pdeathsig", "KILL")
"""What follows is killed when the process that starts it ends, however it ends."""
RESULT = "outcome"


async def run_inside(one: Trial, count: int, folder: Path, say: Callable[[str], object]) -> TrialOutcome | str:
    """Run a trial in a process of its own; `say` is told each step. Return its outcome, or an error in words."""
    command = [*TOGETHER, *SPACES, sys.executable, "-m", "tests.failover.inside", one.name, str(count), str(folder)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    try:
        async for line in process.stdout:
            say(line.decode().strip())
        await process.wait()
    except BaseException:  # somebody stops the trials
        with suppress(ProcessLookupError):
            process.kill()
        raise
    if not (folder / RESULT).exists():
        return "its process ended without a result"
    outcome: TrialOutcome | str = pickle.loads((folder / RESULT).read_bytes())  # noqa: S301  # our own process wrote it
    return outcome


def _run(name: str, count: int, folder: Path) -> int:
    one = next(one for one in table.ALL if one.name == name)
    outcome: TrialOutcome | str
    try:
        outcome = asyncio.run(trial.run(one, folder, count, lambda step: print(step, flush=True)))  # noqa: T201  # for `run_inside`
    except Exception as error:  # noqa: BLE001  # whatever it is, it is said at the end
        outcome = "".join(traceback.format_exception(error))
    (folder / RESULT).write_bytes(pickle.dumps(outcome))
    return 0


if __name__ == "__main__":
    switch()
    first_process(lambda: _run(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
