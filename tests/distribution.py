"""Which process of a test run takes which tests: the longest files first, so that no process is left alone with one."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

BROWSER = "tests/browser/"
APART = ("tests/faults/test_faults.py", "tests/faults/test_photos.py")
"""Files whose tests have houses of their own, and mostly wait: each test may run in any process."""
LONG = (
    BROWSER,
    *APART,
    "tests/failover/test_failover.py",
    "tests/http/test_schemathesis.py",
    "tests/tools/demo/test_demo.py",
    "tests/http/test_strictness.py",
    "tests/test_configurations.py",
    "tests/admin/test_backup.py",
    "tests/admin/test_archive.py",
    "tests/admin/test_photo_moves.py",
    "tests/admin/test_stored_photos.py",
    "tests/admin/test_unarchive.py",
    "tests/edge/test_slow.py",
    "tests/tools/watch/test_watch.py",
    "tests/test_end_to_end.py",
    "tests/simulation/test_planted.py",
    "tests/test_matrix.py",
    "tests/attacks/test_attacks.py",
    "tests/abuse/test_house_limits.py",
    "tests/tools/load/test_load.py",
    "tests/bidding/service/test_decoder.py",
    "tests/storage/test_migrations.py",
    "tests/faults/test_lost_machine.py",
    "tests/storage/test_litestream.py",
    "tests/runtime/test_serving.py",
    "tests/bidding/api/test_devices.py",
    "tests/test_cli.py",
    "tests/admin/test_transfer.py",
    "tests/faults/test_live.py",
    "tests/faults/test_money.py",
    "tests/faults/test_cards.py",
    "tests/bidding/domain/test_properties.py",
    "tests/simulation/test_simulation.py",
    "tests/runtime/test_metering.py",
    "tests/admin/test_ledger_check.py",
    "tests/test_docs.py",
    "tests/settlement/api/test_reminders.py",
    "tests/settlement/api/test_pickups.py",
    "tests/settlement/api/test_offers.py",
    "tests/settlement/api/test_correcting.py",
    "tests/settlement/api/test_bank.py",
    "tests/settlement/api/test_desk.py",
    "tests/test_orphans.py",
    "tests/sales/service/test_needs.py",
    "tests/sales/service/live/test_block.py",
    "tests/abuse/test_connections.py",
    "tests/fuzz/test_evidence.py",
    "tests/sales/api/test_paper.py",
    "tests/settlement/api/test_payouts.py",
    "tests/notices/service/test_words.py",
    "tests/bidding/storage/test_listing.py",
    "tests/bidding/web/test_home.py",
    "tests/bidding/web/test_mine.py",
    "tests/http/test_linters.py",
    "tests/admin/test_person_export.py",
    "tests/abuse/test_clients.py",
    "tests/tools/verify/test_verify.py",
    "tests/sales/service/test_results.py",
    "tests/sales/domain/test_result_lines.py",
    "tests/sales/service/people/test_participants.py",
    "tests/bidding/service/test_concurrency.py",
    "tests/notices/service/test_webhooks.py",
    "tests/feed/test_feed.py",
    "tests/test_tidy.py",
    "tests/test_paddle.py",
    "tests/test_evening_paddle.py",
    "tests/mqtt/test_relay.py",
    "tests/mqtt/test_sample.py",
    "tests/mqtt/test_asyncapi_live.py",
    "tests/mqtt/test_states.py",
    "tests/bidding/api/test_hidden.py",
    "tests/bidding/service/test_desk.py",
    "tests/fuzz/test_machine.py",
    "tests/fuzz/test_bodies.py",
    "tests/settlement/api/test_members.py",
    "tests/settlement/api/test_payout_reports.py",
    "tests/http/test_several_processes.py",
    "tests/settlement/service/test_settled_sales.py",
    "tests/settlement/service/documents/test_documents.py",
    "tests/admin/test_erasure.py",
    "tests/http/test_proxied_framing.py",
    "tests/faults/test_outbox.py",
    "tests/settlement/service/test_verifying.py",
    "tests/settlement/api/test_automatic_reminders.py",
)
"""What takes long on a machine with two cores, about the longest first. The end of a run names what is missing here."""
LONG_SECONDS = 30
WAITING_MIN = 2
KILLED = pytest.StashKey[list[str]]()


def unit_of(test: str) -> str:
    """Return what one process runs as a whole: a file, a test of some files, or all tests of the browser, which starts once."""
    return test if test.startswith(APART) else _place_of(test)


def _place_of(test: str) -> str:
    """Return the name in `LONG` under which a test may stand."""
    return BROWSER if test.startswith(BROWSER) else test.partition("::")[0]


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """Hand out the long units first, then those with the most tests. The tests of a process that is killed go to others."""

    def remove_node(self, node: Any) -> str | None:
        """Return the test in which a process was killed; the run reports that it failed. Hand its other tests to the rest.

        The scheduler of xdist hands out the finished units again too. A process that gets nothing but these asks for no more,
        and the run waits for ever. It also repeats the test in which the process was killed.
        """
        left = [
            (unit, test)
            for unit, tests in self.assigned_work.pop(node).items()
            for test, done in tests.items()
            if not done
        ]
        for unit, test in left[1:]:
            self.workqueue.setdefault(unit, {})[test] = False
        for other in self.assigned_work:
            self._reschedule(other)
        return left[0][1] if left else None

    def _reschedule(self, node: Any) -> None:
        """Give a process two tests at least, or tell it that there are no more: it begins one when it knows what follows."""
        if node not in self.registered_collections:  # it has just begun in the place of another, and knows no tests yet
            return
        super()._reschedule(node)
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < WAITING_MIN:
            super()._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        if self.workqueue and node in self.registered_collections:
            self.workqueue.move_to_end(min(self.workqueue, key=_place), last=False)
            super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, the longest files begin first."""
    return LongestFirst(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Note a process of the run that was killed."""
    if error:
        node.config.stash.setdefault(KILLED, []).append(
            f"The process {node.gateway.id} of the tests was killed: {error}"
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a run fail in which a process was killed, between two tests too."""
    if session.config.stash.get(KILLED, []) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List at the end processes that were killed, and long files that began late."""
    for line in config.stash.get(KILLED, []):
        terminalreporter.line(line, red=True)
    reports = [report for key in ("passed", "failed", "error") for report in terminalreporter.stats.get(key, [])]
    for line in unnamed(reports):
        terminalreporter.line(f"{line}: put it into tests/distribution.py")


def unnamed(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> Iterator[str]:
    """Say which units took long, and are not in `LONG`."""
    seconds: Counter[str] = Counter()
    for report in reports:
        if isinstance(report, pytest.TestReport):  # a file that cannot be read has another kind
            seconds[_place_of(report.nodeid)] += report.duration  # type: ignore[assignment]  # a float
    yield from (
        f"{name} took {took:.0f} s" for name, took in seconds.items() if took > LONG_SECONDS and name not in LONG
    )


def _place(unit: str) -> int:
    name = _place_of(unit)
    return LONG.index(name) if name in LONG else len(LONG)
