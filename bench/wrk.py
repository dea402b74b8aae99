"""Load by wrk: one thread, many connections, each of which sends its next request after the answer to the last one."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bench import BenchError
from bench.servers import program

LUA = Path(__file__).with_name("lua")
TIMEOUT = "20s"
HEAD_SECONDS = 0.4
"""The time between wrk's start and the measured interval, in which it connects."""
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0, "h": 3_600_000.0}


class Load(Struct, frozen=True, kw_only=True):
    """The requests of wrk: `script` of bench/lua, and for bids whose tokens on which auctions, from which amount.

    `first` is the amount before the first one, in thousandths. `pause_ms` is the mean pause of a connection between
    an answer and its next request; None is none.
    """

    script: str
    tokens: Path
    gids: Path
    first: int = 1000
    connections: int = 256
    pause_ms: float | None = None
    path: str = ""


class Summary(Struct, frozen=True, kw_only=True):
    """The summary of wrk: all answers, those that are neither 2xx nor 3xx, and the times."""

    requests: int
    seconds: float
    refused: int
    p50_ms: float
    p99_ms: float
    socket_errors: int

    @property
    def succeeded(self) -> int:
        """How many answers were 2xx."""
        return self.requests - self.refused

    @property
    def per_second(self) -> float:
        """2xx answers per second."""
        return self.succeeded / self.seconds


def parse(output: str) -> Summary:
    """Parse the output of `wrk --latency`. Raises BenchError for any other output."""
    total = re.search(r"([0-9]+) requests in ([0-9.]+)(us|ms|s|m|h),", output)
    p50, p99 = (re.search(rf"^ +{percent}%\s+([0-9.]+)(us|ms|s|m|h) *$", output, re.MULTILINE) for percent in (50, 99))
    if total is None or p50 is None or p99 is None:
        raise BenchError(f"wrk printed something unexpected:\n{output}")
    refused = re.search(r"Non-2xx or 3xx responses: ([0-9]+)", output)
    errors = re.search(r"Socket errors: connect ([0-9]+), read ([0-9]+), write ([0-9]+), timeout ([0-9]+)", output)
    return Summary(
        requests=int(total[1]),
        seconds=float(total[2]) * _UNITS[total[3]] / 1000,
        refused=0 if refused is None else int(refused[1]),
        p50_ms=float(p50[1]) * _UNITS[p50[2]],
        p99_ms=float(p99[1]) * _UNITS[p99[2]],
        socket_errors=0 if errors is None else sum(map(int, errors.groups())),
    )


def run(url: str, load: Load, seconds: float, meanwhile: Callable[[], None] | None = None) -> Summary:
    """Put `load` on `url` for at least `seconds` and return wrk's summary; `meanwhile` runs at the same time.

    Raises BenchError where wrk fails.
    """
    environment = dict(os.environ) | {
        "BENCH_TOKENS": str(load.tokens),
        "BENCH_GIDS": str(load.gids),
        "BENCH_FIRST": str(load.first),
        "BENCH_PAUSE_MS": "" if load.pause_ms is None else str(load.pause_ms),
        "BENCH_PATH": load.path,
    }
    # wrk takes whole seconds only.
    length = max(1, -int(-seconds // 1))
    options = ["--threads", "1", "--connections", str(load.connections), "--duration", f"{length}s", "--latency"]
    command = [program("wrk"), *options, "--timeout", TIMEOUT, "--script", str(LUA / load.script), url]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        if meanwhile is not None:
            time.sleep(HEAD_SECONDS)
            meanwhile()
        output, _ = process.communicate(timeout=length + 60)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise BenchError(f"wrk failed:\n{output}")
    return parse(output)
