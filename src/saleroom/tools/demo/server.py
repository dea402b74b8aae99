"""The house of the demo: `saleroom serve` as a separate process, in a folder that is removed at the end."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from saleroom.tools.errors import ToolError

PORT = 9000
START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 5.0
_SERVES = re.compile(r"saleroom serves on (http://\S+:[0-9]+)")
_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


class DemoHouse(NamedTuple):
    """A house that serves: its address, its folder, and a task that returns its last messages when it ends."""

    url: str
    folder: Path
    ended: asyncio.Task[str]

    async def command(self, *arguments: str, typed: str) -> None:
        """Run a command of its owner, with a line `typed` on its standard input. Raises ToolError."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "saleroom", *arguments),
            cwd=self.folder,
            env=_environment(self.folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent(),
        )
        try:
            said, _ = await process.communicate(f"{typed}\n".encode())
        finally:
            await _end(process)
        if process.returncode:
            raise ToolError(said.decode(errors="replace").strip() or f"saleroom {arguments[0]} failed")


@asynccontextmanager
async def served(host: str, port: int | None) -> AsyncIterator[DemoHouse]:
    """Serve a new house.

    `port` None takes 9000, or a free port if 9000 is taken. Raises ToolError.
    """
    folder = Path(tempfile.mkdtemp(prefix="saleroom-demo-"))
    log = folder / "log.txt"
    process = None
    watch: asyncio.Task[str] | None = None
    try:
        with log.open("wb") as lines:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "saleroom", "serve", "--host", host, "--port", str(_free(host) if port is None else port)),
                cwd=folder,
                env=_environment(folder),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=lines,
                start_new_session=True,  # Ctrl-C in the terminal goes to the demo only, which then ends the house
                preexec_fn=_end_with_parent(),
            )
        url = await _address(process)
        if url is None:
            raise ToolError(_last_messages(log) or "the house did not start")
        watch = asyncio.create_task(_ended(process, log))
        yield DemoHouse(url, folder, watch)
    finally:
        if watch is not None:
            watch.cancel()
        if process is not None:
            await _end(process)
        shutil.rmtree(folder, ignore_errors=True)


async def _address(process: asyncio.subprocess.Process) -> str | None:
    """Return the address that the house prints, None if it ends first or prints none in time."""
    assert process.stdout is not None, "stdout is a pipe"
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS_MAX):
            async for line in process.stdout:
                found = _SERVES.search(line.decode())
                if found is not None:
                    return found[1]
    return None


async def _ended(process: asyncio.subprocess.Process, log: Path) -> str:
    assert process.stdout is not None, "stdout is a pipe"
    while await process.stdout.read(4096):
        pass
    await process.wait()
    return _last_messages(log) or f"the house ended with {process.returncode}"


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the house by SIGTERM, and by SIGKILL if that takes too long."""
    for number, seconds in ((signal.SIGTERM, STOP_SECONDS_MAX), (signal.SIGKILL, STOP_SECONDS_MAX)):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            # Not process.send_signal(): that polls the process, after which asyncio misses its exit code and warns.
            os.kill(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), seconds)
            return


def _environment(folder: Path) -> dict[str, str]:
    """Return this process's environment, with the settings of the demo in place of all others."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("SALEROOM_")}
    settings = {
        "DATABASE": f"sqlite:///{folder}/demo.db",
        "MQTT": "embedded",
        "LOG_LEVEL": "warning",
        "SMTP_URL": "show",
    }
    return others | {f"SALEROOM_{name}": value for name, value in settings.items()}


def _free(host: str) -> int:
    """Return the usual port, or 0 for any free one if it is taken."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, PORT))
        except OSError:
            # Also if the address itself cannot be used: the house reports that.
            return 0
    return PORT


def _end_with_parent() -> Callable[[], None] | None:
    """Return a function that makes a new process end when the demo is killed, None on systems without such a call."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _last_messages(log: Path) -> str:
    return "\n".join(line.removeprefix("saleroom: ") for line in log.read_text(errors="replace").splitlines()[-5:])
