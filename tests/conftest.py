"""Setup of every test: the asyncio backend, the fixtures of tests/fixtures_*.py, and a list of skipped tests' needs."""

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import structlog
from httpx._config import DEFAULT_TIMEOUT_CONFIG

from tests.memory import mark, remove_left, roomy_memory
from tests.needs import wants
from tests.patience import SECONDS_MAX

# Every commit of SQLite on a disk waits for that disk. `--basetemp` names another place.
if memory := roomy_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))

# The looks for reference cycles while the tests are imported and collected took a quarter of that time, and found nothing.
gc.set_threshold(50_000, 20, 50)

FIXTURES = sorted(f"tests.{file.stem}" for file in Path(__file__).parent.glob("fixtures_*.py"))
pytest_plugins = ["tests.distribution", *FIXTURES]


def pytest_configure() -> None:
    """Let clients of httpx in tests, but not those in programs, wait for longer than five seconds. Log exceptions plainly.

    structlog's own way, with colours and variables, takes a third of a second for each.
    """
    DEFAULT_TIMEOUT_CONFIG.__dict__.update(httpx.Timeout(SECONDS_MAX).as_dict())
    structlog.get_config()["processors"][-1].exception_formatter = structlog.dev.plain_traceback


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remove what killed runs have left in memory, and mark the files of this run. One process of the run does so."""
    if memory is not None and not hasattr(session.config, "workerinput"):
        remove_left(memory)
        mark(session.config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]  # as xdist does


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as the service does."""
    return "asyncio"


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """A command that a test runs in this process sets up the logs; the next test's must not go to its closed output."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()


def pytest_collection_finish() -> None:
    """Look for reference cycles not among the collected tests: each look went through all of them.

    Those that nothing refers to any more stay too: to find the few of them took a sixteenth of the time of the collection.
    """
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List at the end the needs that this machine could not meet."""
    counted = Counter(wants(terminalreporter.stats.get("skipped", [])))
    if counted:
        terminalreporter.section("NOT TESTED HERE", sep="!", red=True)
        for want, tests in sorted(counted.items()):
            terminalreporter.line(f"{want} ({tests} tests skipped)")
