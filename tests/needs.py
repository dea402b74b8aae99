"""A test's needs beside Python: real programs, found here or reported as missing.

`SALEROOM_TEST_REQUIRE` lists the needs that must be met, with commas: a test that lacks one fails instead of being skipped.
"""

import os
import shutil
from collections.abc import Iterator
from typing import NoReturn

import pytest

_WHOLE = ("chromium", "chromium-browser", "google-chrome")
PROGRAMS = {"chromium": ("chromium-headless-shell", *_WHOLE), "chromium that shows notifications": _WHOLE}
"""Other names of a program, the preferred one first: Chromium's headless shell needs a third of the processor time."""
MARK = "NOT TESTED HERE, as it needs "


def need(what: str) -> str:
    """Return the path of the program `what`; if there is none, call `missing`."""
    places = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
    found = [path for name in PROGRAMS.get(what, (what,)) if (path := shutil.which(name, path=places))]
    return found[0] if found else missing(what, "no such program on the PATH")


def missing(what: str, why: str) -> NoReturn:
    """Skip the test, or fail it if `what` is required; the end of the run lists the skipped needs."""
    required = os.environ.get("SALEROOM_TEST_REQUIRE", "").split(",")
    if what in (name.strip() for name in required):
        pytest.fail(f"{what} is required here (SALEROOM_TEST_REQUIRE): {why}", pytrace=False)
    pytest.skip(f"{MARK}{what}: {why}")


def wants(reports: list[pytest.TestReport]) -> Iterator[str]:
    """The need of each skipped test: `what: why`."""
    for report in reports:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if MARK in reason:
            yield reason.partition(MARK)[2]
