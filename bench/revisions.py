"""Another revision of the project, checked out and installed in a temporary folder, and which of two is the older one."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bench import BenchError
from bench.servers import ROOT

PYTHON = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
"""The Python that both sides run on."""
FOLDER = Path("/var/tmp")  # noqa: S108  # mkdtemp makes private folders in it
"""The place of installed revisions: on disk, while /tmp may be memory."""
_FILL_SQLITE = "import sys, pathlib; from bench import data; data.fill_sqlite(*map(pathlib.Path, sys.argv[1:]))"
_FILL_POSTGRESQL = (
    "import sys, pathlib; from bench import data; data.fill_postgresql(sys.argv[1], pathlib.Path(sys.argv[2]))"
)
_OF_MAKE = frozenset({"MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL"})
"""What a make hands to a make below it: its targets' options are not those of the other revision."""


class Revision(Struct, frozen=True):
    """A revision that is installed in `folder`, with a virtual environment of its own. `name` is for people."""

    name: str
    folder: Path

    @property
    def saleroom(self) -> tuple[str, ...]:
        """The command of its house."""
        programs = self.folder / ".venv" / "bin"
        return (str(programs / "python"), str(programs / "saleroom"))

    def fill_sqlite(self, file: Path, folder: Path) -> None:
        """Make the SQLite template by the code of this revision. Raises BenchError if it cannot."""
        self._run(_FILL_SQLITE, str(file), str(folder))

    def fill_postgresql(self, url: str, file: Path) -> None:
        """Copy the SQLite template to the database at `url` by the code of this revision."""
        self._run(_FILL_POSTGRESQL, url, str(file))

    def _run(self, source: str, *arguments: str) -> None:
        command = [str(self.folder / ".venv" / "bin" / "python"), "-c", source, *arguments]
        _run_program(command, self.folder, f"{self.name} cannot be compared: it does not make the data of the bench")


def this() -> Revision:
    """Return this checkout as it is, with changes that are not committed."""
    told = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=False)
    return Revision(f"this checkout ({short('HEAD')}{'-dirty' if told.stdout else ''})", ROOT)


def short(commit: str, folder: Path = ROOT) -> str:
    """Return the short hash of a commit of the repository in `folder`. Raises BenchError if there is none."""
    return _hash(commit, "--short", folder=folder)


def older_is_other(commit: str, folder: Path = ROOT) -> bool:
    """Return whether `commit` is the older side: the one whose database the other one opens and migrates.

    Raises BenchError if neither comes from the other one, as then neither may know the other's database.
    """
    here, there = short("HEAD", folder), short(commit, folder)
    common = subprocess.run(
        ["git", "merge-base", here, there], cwd=folder, capture_output=True, text=True, check=False
    ).stdout.strip()
    if not common:
        raise BenchError(f"{commit} cannot be compared: it has no commit in common with this checkout")
    base = short(common, folder)
    if base not in {here, there}:
        raise BenchError(
            f"{commit} cannot be compared: both sides have commits that the other one lacks, so neither knows how to open "
            f"the other's database; compare with the commit where they part: REV={base}"
        )
    return base == there


@contextmanager
def installed(commit: str) -> Iterator[Revision]:
    """Yield `commit` of this repository, installed as its own Makefile does it; the folder is removed afterwards.

    The clone borrows the objects of this repository, and leaves nothing in it.
    """
    there = short(commit)
    folder = Path(tempfile.mkdtemp(prefix="saleroom-bench-revision-", dir=FOLDER))
    failed = f"{commit} cannot be compared: it cannot be installed"
    try:
        _run_program(["git", "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), "."], folder, failed)
        _run_program(["git", "checkout", "--quiet", "--detach", _hash(there)], folder, failed)
        _run_program(["make", "--silent", "setup", f"PYTHON={PYTHON}"], folder, failed)
        yield Revision(f"{commit} ({there})", folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _hash(commit: str, *options: str, folder: Path = ROOT) -> str:
    command = ["git", "rev-parse", *options, "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise BenchError(f"{commit} is no commit of this repository {told.stderr.strip()}".strip())
    return told.stdout.strip()


def _run_program(command: Sequence[str], folder: Path, failed: str) -> None:
    """Run a program to its end, or end it with all it has started. Raises BenchError with its last words."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        told, _ = process.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode != 0:
        raise BenchError(f"{failed}:\n{told[-2000:].strip()}")


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    left_out = _OF_MAKE | {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "VIRTUAL_ENV"}
    return {name: value for name, value in environment.items() if name not in left_out}
