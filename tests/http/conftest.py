"""A fixture of every test of the interfaces: the house logs no error that the test has not provoked on purpose."""

import logging
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

Log = list[MutableMapping[str, Any]]


@pytest.fixture(autouse=True)
def errors_logged(caplog: pytest.LogCaptureFixture) -> Iterator[Log]:
    """The house's log. A test that provokes an error checks it and clears the log; any other error fails the test."""
    caplog.set_level(logging.WARNING)
    with capture_logs() as entries:
        yield entries
    assert [] == [entry for entry in entries if entry["log_level"] in ("error", "critical")]
    assert [] == [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
