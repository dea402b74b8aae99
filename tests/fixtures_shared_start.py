"""Houses and clients of this process share the results of their start (tests/shared_start.py), and work on files in it."""

import pytest

from saleroom.accounts.service import passwords
from saleroom.confined import confinement, program
from tests import shared_start as sharing

CONFINED_PROCESS = confinement.Process


class WorkingHere:
    """Works on a file without a process of its own, whose start takes a hundred times as long as a small file."""

    def __init__(self, work: confinement.Work, file: int | None = None) -> None:
        self._work = work

    def run(self, data: bytes) -> confinement.ProcessResult:
        """Return what the process would answer. It has no limits here, and nothing ends it."""
        return confinement.ProcessResult(0, is_ready=True, answer=program.answer_to(self._work.function, data))

    def end(self) -> None:
        """Leave it to end by itself."""


def pytest_configure() -> None:
    """Let them compute each result once, and work on files in this process.

    It begins before the tests are imported, as some make languages and pages when they are.
    """
    sharing.share(setattr)
    confinement.__dict__["Process"] = WorkingHere


@pytest.fixture
def confined_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is worked on in a process of its own, as outside tests."""
    monkeypatch.setattr(confinement, "Process", CONFINED_PROCESS)


@pytest.fixture
def slow_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords get the digests that they get outside tests."""
    monkeypatch.setattr(passwords, "HASHER", sharing.HASHER)
