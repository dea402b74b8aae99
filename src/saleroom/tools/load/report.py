"""The result of a load test, for people and for programs."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from saleroom.kernel import terminal
from saleroom.tools.load.figures import histogram, summary
from saleroom.tools.load.run import LoadResult

BAR_WIDTH = 40
CLIENT_LIMIT = 0.85
"""From this share of its one processor on, the client itself may limit the figures."""


def as_json(result: LoadResult) -> dict[str, Any]:
    """Return all figures and violations for JSON."""
    figures, verdict = result.figures, result.verdict
    return {
        "plan": msgspec.to_builtins(result.options),
        "seconds": round(figures.seconds, 3),
        "requests": sum(figures.answers.values()),
        "requestsPerSecond": round(sum(figures.answers.values()) / figures.seconds, 1),
        "accepted": figures.accepted,
        "acceptedPerSecond": round(figures.accepted / figures.seconds, 1),
        "refused": figures.refused,
        "errors": figures.errors,
        "answers": dict(sorted(figures.answers.items())),
        "bids": msgspec.to_builtins(summary(figures.bids)),
        "reads": msgspec.to_builtins(summary(figures.looks)),
        "histogram": [
            {"atMostMs": None if math.isinf(bound) else bound, "bids": count}
            for bound, count in histogram(figures.bids)
        ],
        "clientProcessor": round(figures.processor, 3),
        "clientWasTheLimit": figures.processor >= CLIENT_LIMIT,
        "strangers": verdict.strangers,
        "unsettled": verdict.unsettled,
        "violations": verdict.violations.total,
        "violationsByKind": verdict.violations.as_json(),
        "left": result.left,
    }


def show(result: LoadResult, console: Console) -> None:
    """Print the result for people."""
    figures, verdict = result.figures, result.verdict
    shown = as_json(result)
    console.print(f"\n{figures.seconds:.1f} s of bidding at {result.options.url}", highlight=False)
    console.print(
        f"{shown['requests']} requests ({shown['requestsPerSecond']:.0f}/s), "
        f"{figures.accepted} bids accepted ({shown['acceptedPerSecond']:.0f}/s), "
        f"{figures.refused} refused, {figures.errors} errors",
        highlight=False,
        soft_wrap=True,
    )
    console.print(_latencies(result))
    console.print(_histogram(result))
    console.print(_answers(result))
    _remarks(result, console)
    total = verdict.violations.total
    if not total:
        console.print(Text("No violation found.", style="bold green"))
        return
    console.print(Text(f"{total} violations found:", style="bold red"))
    for kind, finding in verdict.violations.by_kind().items():
        console.print(Text(f"{finding.count} x {kind}: {kind.sentence}", style="red"), soft_wrap=True)
        for example in finding.examples:
            console.print(Text(f"    {terminal.plain(example)}"), soft_wrap=True)


def _latencies(result: LoadResult) -> Table:
    table = Table("", "p50 ms", "p90 ms", "p99 ms", "max ms", "answers", box=None, header_style="dim")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, latencies in (("bids", result.figures.bids), ("looks", result.figures.looks)):
        found = summary(latencies)
        values = (found.p50_ms, found.p90_ms, found.p99_ms, found.max_ms)
        table.add_row(name, *(f"{value:.1f}" for value in values), str(found.count))
    return table


def _histogram(result: LoadResult) -> Table:
    """Draw a bar for each bucket; the longest is full."""
    table = Table("bids within", "", "", box=None, header_style="dim")
    table.columns[0].justify = table.columns[1].justify = "right"
    buckets = histogram(result.figures.bids)
    most = max((count for _, count in buckets), default=1)
    for bound, count in buckets:
        within = "more" if math.isinf(bound) else f"{bound:g} ms"
        table.add_row(within, str(count), Text("█" * math.ceil(BAR_WIDTH * count / most), style="blue"))
    return table


def _answers(result: LoadResult) -> Table:
    table = Table("answer", "count", box=None, header_style="dim")
    table.columns[1].justify = "right"
    for answer, count in sorted(result.figures.answers.items()):
        table.add_row(answer, str(count))
    return table


def _remarks(result: LoadResult, console: Console) -> None:
    figures, verdict = result.figures, result.verdict
    remarks = list(result.left)
    if figures.processor >= CLIENT_LIMIT:
        remarks.append(
            f"This client was the limit: it used {figures.processor:.0%} of one processor. The house may do more; "
            "run several clients at once, or from other machines."
        )
    else:
        remarks.append(f"This client used {figures.processor:.0%} of one processor.")
    if verdict.strangers:
        remarks.append(f"{verdict.strangers} bids in the histories are of strangers.")
    if verdict.unsettled:
        remarks.append(f"{verdict.unsettled} bids got no answer in the end; whether they count is not known.")
    for remark in remarks:
        console.print(terminal.plain(remark), highlight=False, soft_wrap=True)
