"""Machines: network namespaces on one bridge, each with processes, which can be killed, frozen and cut off.

All of it is within namespaces of the trial's own process (see `__main__`), so nothing of it outlives that process or meets
the network of the real machine: the addresses are those of the recipe in deploy/three-nodes.
"""

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from tests.needs import need
from tests.patience import SECONDS_MAX

OUTSIDE = "192.0.2.254"
"""The address of the trial itself, which bids and judges from outside."""
SEES_ALL = "+dac_read_search"
NOBODY = (
    *("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"),
    *(f"--inh-caps={SEES_ALL}", f"--ambient-caps={SEES_ALL}"),
)
"""PostgreSQL does not run as root. Its user reaches its programs wherever they are, such as in a home folder."""
BRIDGE = "saleroom"
FILLER = "filler"
NOTHING: Mapping[str, str] = MappingProxyType({})


class Machine:
    """A network namespace with one address, and the processes in it; `start` again what has died."""

    def __init__(self, name: str, address: str, folder: Path) -> None:
        self.name, self.address, self.folder = name, address, folder
        folder.mkdir()
        self._space = f"/run/netns/{name}"
        self.within: Sequence[str] = ()
        """The command that runs a service, such as with another clock."""
        self._services: dict[str, tuple[Sequence[str], Mapping[str, str]]] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        _ip("netns", "add", name)
        _ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", f"to-{name}", "master", BRIDGE, "up")
        self._own("addr", "add", f"{address}/24", "dev", "eth0")
        self._own("link", "set", "eth0", "up")
        self._own("link", "set", "lo", "up")
        self._inode = Path(self._space).stat().st_ino

    def service(
        self, name: str, *command: str, as_nobody: bool = False, environment: Mapping[str, str] = NOTHING
    ) -> None:
        """Add a service and start it; its output goes to a file of its name in the machine's folder."""
        self._services[name] = ((*(NOBODY if as_nobody else self.within), *command), environment)
        self.start(name)

    def start(self, *names: str) -> None:
        """Start the services of these names that do not run, as a service manager does; all of them if none is named."""
        for name in names or self._services:
            if (old := self._running.get(name)) is not None and old.poll() is None:
                continue
            command, environment = self._services[name]
            with (self.folder / f"{name}.log").open("ab") as log:
                self._running[name] = subprocess.Popen(
                    ["nsenter", f"--net={self._space}", *command],
                    cwd=self.folder,
                    env=os.environ | environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )

    def change(self, name: str, environment: Mapping[str, str]) -> None:
        """Give a service more environment from its next start on."""
        command, known = self._services[name]
        self._services[name] = command, {**known, **environment}

    def has(self, name: str) -> bool:
        """Whether the machine has a service of this name."""
        return name in self._services

    def runs(self, name: str) -> bool:
        """Whether a service runs."""
        return self._running[name].poll() is None

    def check(self) -> None:
        """Fail if a service has ended by itself, with what it has said."""
        for name, process in self._running.items():
            assert process.poll() in {None, -signal.SIGKILL}, f"{name} of {self.name} ended:\n{self.log(name)[-2000:]}"

    def log(self, name: str) -> str:
        """Return the output of a service over all its starts."""
        return (self.folder / f"{name}.log").read_text()

    def processes(self, word: str = "") -> list[int]:
        """Return the processes of the machine whose command lines hold `word`."""
        return [pid for pid in _of_namespace(self._inode) if word in _command_of(pid)]

    def kill(self, *names: str) -> None:
        """Kill services with all that they have started, or the whole machine, with no chance to tidy up."""
        doomed = [pid for name in names for pid in _family(self._running[name].pid)] if names else self.processes()
        self._signal(signal.SIGKILL, doomed)
        for name in names or self._running:
            self._running[name].wait()

    def end(self, name: str) -> None:
        """End a service in order, as a service manager does; it must end with 0."""
        process = self._running.pop(name)
        self._signal(signal.SIGTERM, [process.pid])
        assert process.wait(SECONDS_MAX) == 0, f"{name} of {self.name} ended:\n{self.log(name)[-2000:]}"

    def kill_processes(self, word: str) -> None:
        """Kill the processes whose command lines hold `word`."""
        self._signal(signal.SIGKILL, self.processes(word))

    def freeze(self) -> None:
        """Stop every process of the machine; its connections stay open."""
        stopped: set[int] = set()
        while running := set(self.processes()) - stopped:
            self._signal(signal.SIGSTOP, running)
            stopped |= running

    def thaw(self) -> None:
        """Let every process go on."""
        self._signal(signal.SIGCONT, self.processes())

    def isolate(self) -> None:
        """Pull the cable."""
        _ip("link", "set", f"to-{self.name}", "down")

    def join(self) -> None:
        """Put the cable back."""
        _ip("link", "set", f"to-{self.name}", "up")

    def mute(self, *others: "Machine") -> None:
        """Lose all packets from this machine to `others`; theirs still arrive."""
        for other in others:
            self._own("route", "replace", "blackhole", f"{other.address}/32")

    def speak(self, *others: "Machine") -> None:
        """Send to `others` again."""
        for other in others:
            self._own("route", "del", "blackhole", f"{other.address}/32")

    def small_disk(self, folder: str, size: int, owner: str) -> None:
        """Put a new file system of so many bytes, in memory, in the place of a folder of the machine."""
        place = self.folder / folder
        place.mkdir()
        options = f"size={size},mode=700,uid={pwd.getpwnam(owner).pw_uid}"
        subprocess.run([need("mount"), "-t", "tmpfs", "-o", options, "none", place], check=True)

    def fill(self, folder: str) -> None:
        """Write to that file system until no more byte has room."""
        with suppress(OSError), (self.folder / folder / FILLER).open("wb", buffering=0) as file:
            while file.write(b"\0" * 2**20):
                pass

    def empty(self, folder: str) -> None:
        """Make room again."""
        (self.folder / folder / FILLER).unlink()

    def _own(self, *words: str) -> None:
        _ip("-n", self.name, *words)

    def _signal(self, number: signal.Signals, processes: Sequence[int] | set[int]) -> None:
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def switch() -> None:
    """Make the bridge that joins the machines to each other and to the trial. Call it once, in namespaces of one's own."""
    for folder in ("/run", "/dev/shm"):  # noqa: S108  # libfaketime leaves files there if it is killed
        subprocess.run([need("mount"), "-t", "tmpfs", "none", folder], check=True)
    _ip("link", "set", "lo", "up")
    _ip("link", "add", BRIDGE, "type", "bridge")
    _ip("addr", "add", f"{OUTSIDE}/24", "dev", BRIDGE)
    _ip("link", "set", BRIDGE, "up")


def first_process(work: Callable[[], int]) -> NoReturn:
    """Do `work` in a child of this process, the first of its namespace, and end with its exit code.

    Processes whose parents have ended become children of this one. If nobody waited for them, Patroni would take a killed
    PostgreSQL for a running one.
    """
    worker = os.fork()
    if worker == 0:
        sys.exit(work())
    while True:
        ended, status = os.wait()
        if ended == worker:
            sys.exit(os.waitstatus_to_exitcode(status) % 256)


def _ip(*words: str) -> None:
    subprocess.run([need("ip"), *words], check=True, capture_output=True)


def _of_namespace(inode: int) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):  # it has ended
                if (folder / "ns/net").stat().st_ino == inode:
                    yield int(folder.name)


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    found = [pid]
    for parent in found:
        with suppress(OSError):
            for thread in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
    return found
