"""What every test has: the asyncio backend, the fixtures of tests/fixtures_*.py, and a word on what was not tested."""

from collections import Counter
from pathlib import Path

import pytest

from tests.needs import wants

pytest_plugins = sorted(f"tests.{file.stem}" for file in Path(__file__).parent.glob("fixtures_*.py"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as the service does."""
    return "asyncio"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what this machine could not test."""
    counted = Counter(wants(terminalreporter.stats.get("skipped", [])))
    if counted:
        terminalreporter.section("NOT TESTED HERE", sep="!", red=True)
        for want, tests in sorted(counted.items()):
            terminalreporter.line(f"{want} ({tests} tests skipped)")
