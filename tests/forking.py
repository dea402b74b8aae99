"""Python programs as forks of one process that has imported the house's modules: they start in a tenth of the time.

These imports were the larger part of a house's start, and a fifth of the processor time of all tests. The templates,
catalogues and documents that each house makes of the package's files were most of the rest.
"""

import asyncio
import atexit
import copy
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NoReturn, cast

from uvicorn import _subprocess
from uvicorn.supervisors.multiprocess import SIGNALS

from saleroom.runtime import cycles
from tests.faults import mortal
from tests.shared_start import share_with_forks

MODULES = (
    "saleroom.cli",
    "saleroom.compose",
    "saleroom.starting",
    "saleroom.admin.archive",
    "saleroom.admin.backups",
    "saleroom.admin.transfers",
    "saleroom.admin.unarchive",
    "saleroom.admin.verification",
    "saleroom.tools.demo.command",
    "saleroom.tools.load.command",
    "saleroom.tools.verify.command",
    "saleroom.tools.watch.command",
    "uvicorn.lifespan.on",
)
"""What the commands of `saleroom` import when they run."""
REQUEST_BYTES_MAX = 100_000
SPAWNS = "SALEROOM_TEST_SPAWNS"
"""The variable by which a program starts processes as it does for people, and not as forks."""
SALEROOM = [sys.executable, "-m", "saleroom"]


class Program:
    """A script that runs in a process of its own, with those parts of `subprocess.Popen` that tests use.

    It reads nothing unless `stdin` is given.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        stdout: IO[Any],
        stderr: IO[Any],
        stdin: IO[Any] | None = None,
    ) -> None:
        self.returncode: int | None = None
        """The exit code once it is known: -9 for a program that SIGKILL ended."""
        self.memory = 0
        """Its most memory in the units of the system's `ru_maxrss`, with all that it was forked with; known with the code."""
        self._arguments = arguments
        self._reports, theirs = socket.socketpair()
        request = json.dumps([arguments, str(folder), dict(environment)]).encode()
        with theirs:
            files: list[Any] = [theirs, stdout, stderr, *([] if stdin is None else [stdin])]
            socket.send_fds(_server(), [request], [file.fileno() for file in files])
        self.pid = self._report()

    def poll(self) -> int | None:
        """Return the exit code if it has ended."""
        if self.returncode is None and select.select([self._reports], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended. Raises TimeoutExpired after `timeout` seconds."""
        if self.returncode is None:
            if timeout is not None and not select.select([self._reports], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(list(self._arguments), timeout)
            self.returncode, self.memory = self._report(), self._report()
            self._reports.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a chance to tidy up."""
        self.send_signal(signal.SIGKILL)

    def _report(self) -> int:
        report = self._reports.recv(16)
        assert report, "the process that starts the programs has ended"
        return int.from_bytes(report, "big", signed=True)


@cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command, folder = [sys.executable, "-m", "tests.forking", *MODULES], Path(__file__).parents[1]
    with theirs:
        server = subprocess.Popen(command, stdin=theirs.fileno(), cwd=folder, start_new_session=True)

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def serve(requests: socket.socket, modules: Sequence[str]) -> NoReturn:
    """Run each program that is asked for until the process that asks has ended, and end those that still run then."""
    cycles.look_rarely()
    for name in modules:
        import_module(name)
    share_with_forks()
    gc.freeze()  # a house that starts looks for reference cycles among its own objects
    attendants = 0
    while True:
        request, sent, _, _ = socket.recv_fds(requests, REQUEST_BYTES_MAX, 4)
        if not request:
            os.killpg(0, signal.SIGKILL)
        while attendants and os.waitpid(-1, os.WNOHANG)[0]:
            attendants -= 1
        report, *files = sent
        attendants += 1
        if os.fork() == 0:
            requests.close()
            _attend(socket.socket(fileno=report), request, files)
        for file in sent:
            os.close(file)


class _Worker(ForkProcess):
    """One of a house's several processes, as a fork: it gets copies of what it is sent, and nothing else of its parent's."""

    def run(self) -> None:
        """Serve, with no file and no signal handler of the parent."""
        kwargs: dict[str, Any] = self.__dict__["_kwargs"]
        process = kwargs["target"].__self__
        _leave_the_parents(process.parent_conn.fileno(), process.child_conn.fileno())
        kwargs["sockets"] = copy.deepcopy(kwargs["sockets"])
        super().run()


class _Popen(subprocess.Popen[Any]):
    """A process of a program; `python -m saleroom` is a fork of the program, which is where `exec` would come otherwise."""

    def __init__(self, args: Any, *rest: Any, **more: Any) -> None:
        if list(args[:3]) == SALEROOM:
            more["preexec_fn"] = partial(_become, args[3:], more["env"], more.get("preexec_fn"))
        super().__init__(args, *rest, **more)


def _become(arguments: Sequence[str], environment: Mapping[str, str], first: Callable[[], None] | None) -> NoReturn:
    """Run `saleroom` in this process, which has its folder and its standard files, and end."""
    code: object = 1
    try:
        if first is not None:
            first()
        _leave_the_parents()
        asyncio.events._set_running_loop(None)
        old_files = sys.stdin, sys.stdout, sys.stderr  # if they went, they would write what the parent has in them
        sys.stdin, sys.stdout, sys.stderr = (open(number, mode, closefd=False) for number, mode in enumerate("rww"))  # noqa: SIM115  # numbers
        _set_environment(environment)
        sys.argv = ["saleroom", *arguments]
        runpy.run_module("saleroom", run_name="__main__", alter_sys=True)
        code = 0
        del old_files
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001  # as the interpreter does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def _leave_the_parents(*kept: int) -> None:
    """Lose the files of the parent but the standard ones and those `kept`, and its signal handlers."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in {int(file.name) for file in Path("/dev/fd").iterdir()} - {0, 1, 2, *kept}:
        os.dup2(nothing, number)  # closed, the number could be another file's when an object of the parent closes it
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def _attend(reports: socket.socket, request: bytes, files: Sequence[int]) -> NoReturn:
    """Run the program in a child of this process, and report its number and how it ended."""
    pid = os.fork()
    if pid == 0:
        reports.close()
        arguments, folder, environment = json.loads(request)
        _run(arguments, folder, environment, files)
    for file in files:
        os.close(file)
    try:
        reports.send(pid.to_bytes(16, "big"))
        _, status, used = os.wait4(pid, 0)
        for number in (os.waitstatus_to_exitcode(status), used.ru_maxrss):
            reports.send(number.to_bytes(16, "big", signed=True))
    finally:
        os._exit(0)


def _run(arguments: list[str], folder: str, environment: dict[str, str], files: Sequence[int]) -> NoReturn:
    os.chdir(folder)
    _set_environment(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in zip((1, 2, 0), files, strict=False):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    if SPAWNS not in os.environ:
        _subprocess.__dict__["spawn"] = SimpleNamespace(Process=_Worker)
        subprocess.__dict__["Popen"] = _Popen
    mortal.set_constants()
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).parent)
    tempfile.tempdir = None  # as the environment says
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            raise  # the interpreter prints it
        _end(end.code or 0)
    _end(0)


def _end(code: int) -> NoReturn:
    """End as the interpreter does, but take nothing apart: that would copy all memory that the fork shares with its parent."""
    cast("Any", threading)._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _set_environment(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()


if __name__ == "__main__":
    serve(socket.socket(fileno=0), sys.argv[1:])
