"""A fixture of every test of the interfaces: the house logs no error that the test has not provoked on purpose."""

import logging
import threading
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from structlog import DropEvent
from structlog.testing import capture_logs

Entry = MutableMapping[str, Any]
Log = list[Entry]


@pytest.fixture(autouse=True)
def errors_logged(caplog: pytest.LogCaptureFixture) -> Iterator[Log]:
    """The house's log. A test that provokes an error checks it and clears the log; any other error fails the test."""
    caplog.set_level(logging.WARNING)
    before = threading.enumerate()

    def of_this_test(_: object, __: str, entry: Entry) -> Entry:
        """Leave out what a house that tests share says up to a second later: requests refused in the test before."""
        if entry["event"] == "requests were refused" and threading.current_thread() in before:
            raise DropEvent
        return entry

    with capture_logs(processors=[of_this_test]) as entries:
        yield entries
    assert [] == [entry for entry in entries if entry["log_level"] in ("error", "critical")]
    assert [] == [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
