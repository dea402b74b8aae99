"""Percentiles, the histogram, the live display, and the report."""

import io
import math
import re
import time

import pytest
from rich.console import Console

from saleroom.tools.errors import NoAnswer
from saleroom.tools.load import report
from saleroom.tools.load.bidders import Floor
from saleroom.tools.load.checking import check
from saleroom.tools.load.client import LoadClient
from saleroom.tools.load.display import LoadDisplay
from saleroom.tools.load.figures import Figures, histogram, summary
from saleroom.tools.load.record import Record
from saleroom.tools.load.run import LoadOptions, LoadResult

TIMEOUT = NoAnswer("no answer in time", "TimeoutError")


def test_percentiles_are_values_that_occurred() -> None:
    """Each percentile is the least latency, in milliseconds, that at least this share of latencies does not exceed."""
    found = summary([number / 1000 for number in range(100, 0, -1)])
    assert (100, 50, 90, 99, 100) == (found.count, found.p50_ms, found.p90_ms, found.p99_ms, found.max_ms)
    assert 7 == summary([0.007]).p50_ms == summary([0.007]).p99_ms
    assert 0 == summary([]).count


def test_buckets_are_log_spaced_and_hold_everything() -> None:
    """A latency falls into the first bucket that it does not exceed, and buckets between filled ones are shown."""
    assert [(1, 2), (2, 0), (5, 1), (10, 1)] == histogram([0.0009, 0.001, 0.0021, 0.0051])
    assert [(math.inf, 1)] == histogram([100.0])
    assert [] == histogram([])


def test_answers_are_counted_by_kind() -> None:
    """Accepted, refused and lost bids are counted apart, and only answers have a latency."""
    counted = Figures()
    counted.count_bid(0.001, 201, "", None)
    counted.count_bid(0.002, 409, "bid_too_low", None)
    counted.count_bid(0.003, 503, "", None)
    counted.count_bid(0.004, 0, "", TIMEOUT)
    counted.count_look(0.005, 200, None)
    assert (1, 1, 2) == (counted.accepted, counted.refused, counted.errors)
    assert {"bid 201": 1, "bid 409 bid_too_low": 1, "bid 503": 1, "bid lost: TimeoutError": 1, "read 200": 1} == dict(
        counted.answers
    )
    assert [3, 1] == [len(counted.bids), len(counted.looks)]


def report_text(processor: float) -> str:
    """Return the report of a client that used this share of a processor."""
    counted = Figures()
    counted.ended = counted.began + 10
    counted._cpu_ended = counted._cpu_began + 10 * processor
    verdict = check(Record(malformed=["gid: currentBid is '1.00'"]))
    verdict.strangers, verdict.unsettled = 3, 2
    file = io.StringIO()
    report.show(
        LoadResult(LoadOptions(url="http://house"), counted, verdict, ["a lot is left"]), Console(file=file, width=100)
    )
    return file.getvalue()


def test_the_client_says_when_it_was_the_limit() -> None:
    """If the client used up its own processor, the report says that the figures are not those of the house."""
    assert "This client was the limit: it used 95% of one processor." in report_text(0.95)
    assert "the limit" not in report_text(0.5) and "This client used 50% of one processor." in report_text(0.5)


@pytest.fixture
def bidding() -> tuple[Figures, Floor]:
    """A run in its 99th second: one answer is lost, seven requests are under way, one of two lots is closed."""
    counted = Figures()
    now = int(time.monotonic() * 1e6)
    floor = Floor(
        LoadClient("http://house", 1, Record(), counted),
        {"ada": "token"},
        {"first": now + 99_400_000, "second": now},
        rate=None,
    )
    floor.closed.add("second")
    counted.count_bid(0, 0, "", TIMEOUT)
    counted.in_flight = 7
    counted.began -= 99
    return counted, floor


def shown(bidding: tuple[Figures, Floor], *, terminal: bool) -> str:
    """Return what the display writes."""
    figures, floor = bidding
    file = io.StringIO()
    display = LoadDisplay(Console(file=file, force_terminal=terminal, width=120, color_system=None))
    with display.progress:
        display.show(figures, floor, clock=0.0)
        return file.getvalue()


def test_a_terminal_has_a_bar_and_every_figure_above_its_name(bidding: tuple[Figures, Floor]) -> None:
    """The bar shows the elapsed share of the time. Below it are the figures and their names."""
    bar, values, names = shown(bidding, terminal=True).splitlines()[-3:]
    share = re.search(r"━ +(\d+)%", bar)
    assert share is not None and 49 <= int(share[1]) <= 70  # half of the time has passed, or more on a slow machine
    left, *others = values.split()
    assert 60 < int(left) < 100
    assert ["0", "0", "1", "0.0", "0.0", "7", "1"] == others
    assert "s left accepted/s refused/s errors ms p50 ms p99 in flight of 2 lots closed" == " ".join(names.split())


def test_a_pipe_has_the_figures_in_a_line(bidding: tuple[Figures, Floor]) -> None:
    """Without a terminal all figures are on one line."""
    [line] = shown(bidding, terminal=False).splitlines()
    assert " s left, 0 accepted/s, 0 refused/s, 1 errors, 0.0 ms p50" in line


def test_a_report_has_all_findings() -> None:
    """The report has everything that was found."""
    text = report_text(0.5)
    for part in ("1 x money_form: ", "gid: currentBid is '1.00'", "3 bids", "2 bids got no answer", "a lot is left"):
        assert part in text
