"""Which process of a test run takes which tests: the longest files first, so that no process is left alone with one."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

BROWSER = "tests/browser/"
LONG = (
    BROWSER,
    "tests/faults/test_faults.py",
    "tests/attacks/test_attacks.py",
    "tests/http/test_schemathesis.py",
    "tests/test_matrix.py",
    "tests/test_serving.py",
    "tests/test_configurations.py",
    "tests/tools/demo/test_demo.py",
    "tests/abuse/test_house_limits.py",
    "tests/admin/test_backup.py",
    "tests/admin/test_transfer.py",
    "tests/bidding/api/test_hidden.py",
    "tests/bidding/service/test_decoder.py",
    "tests/admin/test_erasure.py",
    "tests/http/test_linters.py",
    "tests/http/test_proxied_framing.py",
    "tests/faults/test_outbox.py",
    "tests/storage/test_migrations.py",
    "tests/test_cli.py",
    "tests/test_end_to_end.py",
)
"""What takes long on a machine with two cores, about the longest first. The end of a run names what is missing here."""
LONG_SECONDS = 30


def unit_of(test: str) -> str:
    """Return what one process runs as a whole: a file, or all tests of the browser, which then starts once."""
    return BROWSER if test.startswith(BROWSER) else test.partition("::")[0]


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """Hand out the long units first, then those with the most tests."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=_place), last=False)
        super()._assign_work_unit(node)


def unnamed(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> Iterator[str]:
    """Say which units took long, and are not in `LONG`."""
    seconds: Counter[str] = Counter()
    for report in reports:
        if isinstance(report, pytest.TestReport):  # a file that cannot be read has another kind
            seconds[unit_of(report.nodeid)] += report.duration  # type: ignore[assignment]  # a float
    yield from (
        f"{unit} took {took:.0f} s" for unit, took in seconds.items() if took > LONG_SECONDS and unit not in LONG
    )


def _place(unit: str) -> int:
    return LONG.index(unit) if unit in LONG else len(LONG)
