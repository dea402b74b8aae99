"""Instructions of the house for each accepted bid, counted by valgrind's callgrind, and its reads and writes.

Neither depends much on other work. The bids come in storms, so no count depends on how fast the devices are.
"""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import uvloop

from bench import BenchError, data, violations
from bench.bidding import last_bid, recorded
from bench.results import Reading
from bench.servers import SALEROOM, House, program
from bench.stage import Stage
from bench.storms import Storms

CALLS = "reads_and_writes"
"""The figure of the system calls that read and write files and sockets, for each accepted bid."""
STORMS, WARM_UPS = 16, 4
"""How often each device bids, and how often before that, uncounted."""
START_SECONDS_MAX = 600.0
_CALLS = re.compile(r"^sysc[rw]: ([0-9]+)", re.MULTILINE)
_TOTALS = re.compile(r"^totals: ([0-9]+)", re.MULTILINE)


def for_each_bid(stage: Stage, url: str, *, auctions: int, saleroom: Sequence[str] = SALEROOM) -> Reading:
    """Return the instructions for each accepted bid on so many auctions of the database at `url`: the lower quartile of storms.

    It leaves out what only some of them have beside the bids: a heartbeat, or two transactions instead of one. Texts have the
    same hashes in each run, as chance would move the figure otherwise. The figure `CALLS` is the mean of all storms, as SQLite
    moves its log into its file now and then. Raises BenchError if valgrind is missing.
    """
    file = stage.folder / "callgrind.out"
    # Without a fair schedule valgrind's threads take turns by a pipe, which would count as reads and writes.
    valgrind = [program("valgrind"), "--fair-sched=yes", "--tool=callgrind", "--instr-atstart=no"]
    command = ("env", "PYTHONHASHSEED=0", *valgrind, f"--callgrind-out-file={file}", *saleroom)
    before = data.on(url, last_bid)
    with House(stage.folder, url, saleroom=command, start_seconds_max=START_SECONDS_MAX) as house:
        storms = Storms(stage, house, auctions, stage.first_amount())
        each, calls = uvloop.run(_bid(storms, house, Callgrind(house.pid, file)))
    accepted = data.on(url, lambda connection: recorded(connection, before))
    found = data.on(url, violations.find) | violations.between_client_and_database(storms.answers[201], accepted, 0)
    figures = {
        "accepted_share": accepted / storms.answers.total(),
        "least": min(each),
        "greatest": max(each),
        CALLS: calls,
    }
    return Reading(value=statistics.quantiles(each, n=4)[0], figures=figures, violations=found)


def totals(parts: Iterable[str]) -> int:
    """Return the instructions in all parts that callgrind has written. Raises BenchError if they have none."""
    total = sum(int(found) for part in parts for found in _TOTALS.findall(part))
    if not total:
        raise BenchError("callgrind has counted nothing")
    return total


def reads_and_writes(process: int) -> int:
    """Return how many system calls of a process have read or written a file or a socket since it began, on Linux."""
    return sum(map(int, _CALLS.findall(Path(f"/proc/{process}/io").read_text())))


class Callgrind:
    """The count of a process under callgrind, whose dumps begin with `file`."""

    def __init__(self, pid: int, file: Path) -> None:
        self._pid, self._file = pid, file

    def begin(self) -> None:
        """Begin to count."""
        self._order("--instr=on")

    def count(self) -> int:
        """Return the instructions since the last count, or the begin."""
        self._order("--dump")
        dumps = list(self._file.parent.glob(f"{self._file.name}.*"))
        total = totals(dump.read_text(errors="replace") for dump in dumps)
        for dump in dumps:
            dump.unlink()
        return total

    def _order(self, order: str) -> None:
        """Give callgrind an order. Raises BenchError if it does not obey."""
        control = [program("callgrind_control", "valgrind"), order, str(self._pid)]
        told = subprocess.run(control, capture_output=True, text=True, check=False)
        if told.returncode != 0 or "OK" not in told.stdout:
            raise BenchError(f"callgrind does not obey {order}: {told.stdout}{told.stderr}")


async def _bid(storms: Storms, house: House, callgrind: Callgrind) -> tuple[list[float], float]:
    """Place all bids; return the instructions for an accepted one in each storm, and its reads and writes."""
    each: list[float] = []
    calls = accepted = 0
    async with storms:
        for _ in range(WARM_UPS):
            await storms.storm()
        callgrind.begin()
        await storms.storm()
        callgrind.count()  # callgrind may begin late, within this storm
        for _ in range(STORMS):
            before = reads_and_writes(house.pid)  # callgrind writes its counts by the house itself
            statuses = await storms.storm()
            calls += reads_and_writes(house.pid) - before
            accepted += statuses[201]
            each.append(callgrind.count() / max(1, statuses[201]))
    return each, calls / max(1, accepted)
