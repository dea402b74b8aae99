"""The charts of docs/scale.md: what to buy, when a process is full, and how what waits grows and goes."""

from __future__ import annotations

from pathlib import Path

from bench import model
from bench.chart import COLOURS, INK, pyplot, save
from bench.results import Results
from bench.scale import EDGE_FOLLOWERS_MAX, PAUSES, SCENARIOS, backlog, bought, one_process, wave

LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)


def draw(results: Results, folder: Path) -> None:
    """Draw all charts into `folder`."""
    costs = model.costs(results)
    _buy(costs, folder / "buy.svg")
    _load(costs, folder / "load.svg")
    _failover(costs, folder / "failover.svg")
    _waves(costs, folder / "waves.svg")


def _buy(costs: model.Costs, file: Path) -> None:
    plot = pyplot()
    figure, axes = plot.subplots(figsize=(7, 4))
    found = [bought(costs, scenario) for scenario in SCENARIOS]
    parts = (
        ("bids", [each.bids for each in found]),
        ("pages", [each.pages for each in found]),
        ("edges, 1 update/s", [each.edges_conflated for each in found]),
        ("edges, 5 updates/s", [each.edges for each in found]),
        ("PostgreSQL", [each.postgresql for each in found]),
    )
    width = 0.8 / len(parts)
    for place, ((name, cores), colour) in enumerate(zip(parts, (*COLOURS, INK), strict=True)):
        xs = [scenario + (place - 2) * width for scenario in range(len(found))]
        axes.bar(xs, cores, width, color=colour, label=name)
    axes.set_yscale("log")
    axes.axhline(1, color=INK, linestyle="--", linewidth=1)
    axes.set_xticks(range(len(found)), [f"{scenario.viewers:,} viewers" for scenario in SCENARIOS])
    axes.set_ylabel("cores, half of them loaded")
    axes.legend(frameon=False, fontsize=8)
    save(figure, file)


def _load(costs: model.Costs, file: Path) -> None:
    plot = pyplot()
    figure, axes = plot.subplots(figsize=(7, 4))
    most = one_process(costs)
    rates = [share * most for share in LOADS]
    found = [model.open_loop(costs, costs.spread, rate=rate, seconds=3.0) for rate in rates]
    axes.plot(rates, [1000 * median for median, _ in found], marker="o", color=COLOURS[0], label="p50")
    axes.plot(rates, [1000 * worst for _, worst in found], "--", marker="o", color=COLOURS[1], label="p99")
    axes.axvline(most, color=INK, linestyle="--", linewidth=1)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.set_xlabel("bids/s on many lots to one process; it takes no more than the dashed line")
    axes.set_ylabel("ms until the answer")
    axes.grid(color=INK, alpha=0.2)
    axes.legend(frameon=False, fontsize=8)
    save(figure, file)


def _failover(costs: model.Costs, file: Path) -> None:
    plot = pyplot()
    figure, axes = plot.subplots(figsize=(7, 4))
    scenario = SCENARIOS[-1]
    for colour, (what, pause) in zip(COLOURS, PAUSES.items(), strict=False):
        course = backlog(costs, scenario, pause).course
        axes.plot([at for at, _ in course], [count for _, count in course], color=colour, label=f"{what}: {pause:g} s")
    axes.set_xlabel("seconds after the database went away")
    axes.set_ylabel(f"bids that wait in a process, {scenario.viewers:,} viewers")
    axes.set_ylim(bottom=0)
    axes.grid(color=INK, alpha=0.2)
    axes.legend(frameon=False, fontsize=8)
    save(figure, file)


def _waves(costs: model.Costs, file: Path) -> None:
    plot = pyplot()
    figure, axes = plot.subplots(figsize=(7, 4))
    for colour, spread in zip(COLOURS, (1.0, 4.0, 60.0), strict=False):
        course = wave(costs, EDGE_FOLLOWERS_MAX, spread).course
        xs, ys = [at for at, _ in course], [count for _, count in course]
        axes.plot(xs, ys, color=colour, label=f"within {spread:g} s")
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlabel("seconds")
    axes.set_ylabel(f"followers that wait, of {EDGE_FOLLOWERS_MAX:,}")
    axes.grid(color=INK, alpha=0.2)
    axes.legend(frameon=False, fontsize=8)
    save(figure, file)
