"""Charts as SVG: the ratios against their targets, and the growth of costs. Their colours fit light and dark pages."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.results import Results, judge, points
from bench.rows import CURVES, LINES

INK = "#808890"
COLOURS = ("#3b8ed0", "#d9822b", "#3fa66b", "#b06ab3")
MISSED = "#d0553b"
_STYLE = {
    "svg.fonttype": "none",  # text stays text, not outlines
    "svg.hashsalt": "saleroom",  # the same figures give the same file
    "font.family": "sans-serif",
    "font.size": 10,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def ratios(runs: Sequence[Results], file: Path) -> None:
    """Draw each ratio divided by its target: a bar that reaches 1 meets the target."""
    found = [verdict for line in LINES if (verdict := judge(runs, line)) is not None and line.target]
    if not found:
        return
    plot = pyplot()
    figure, axes = plot.subplots(figsize=(9, 0.8 + 0.36 * len(found)))
    shares = [
        (v.line.target or 1) / v.ratio if v.line.lower_is_better else v.ratio / (v.line.target or 1) for v in found
    ]
    colours = [COLOURS[0] if verdict.met else MISSED for verdict in found]
    axes.barh(range(len(found)), shares, color=colours, height=0.6)
    axes.set_yticks(range(len(found)), [verdict.line.measure for verdict in found], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(1, color=INK, linestyle="--", linewidth=1)
    for place, (verdict, share) in enumerate(zip(found, shares, strict=True)):
        axes.text(share, place, f" {verdict.ratio:.2f} ({verdict.line.target:g})", va="center", fontsize=8)
    axes.set_xlabel("divided by the target, which is in brackets")
    save(figure, file)


def curves(runs: Sequence[Results], folder: Path) -> None:
    """Draw a chart for each measured row with curves: the rate above, latency or processor time below."""
    for row in dict.fromkeys(curve.row for curve in CURVES):
        drawn = [(c, found) for c in CURVES if c.row == row and len(found := points(runs, c)) > 1]
        if not drawn:
            continue
        plot = pyplot()
        figure, (rate, below) = plot.subplots(2, 1, figsize=(7, 6), sharex=True)
        latency = row == "bidders"
        for colour, (curve, found) in zip(COLOURS, drawn, strict=False):
            xs = [x for x, _ in found]
            rate.plot(xs, [y["value"] for _, y in found], marker="o", color=colour, label=curve.series)
            if latency:
                for figure_name, style in (("p50_ms", "-"), ("p99_ms", "--")):
                    label = f"{curve.series}, {figure_name[:3]}"
                    below.plot(xs, [y[figure_name] for _, y in found], style, marker=".", color=colour, label=label)
            else:
                cost = [y["server_cpu_us"] + y.get("database_cpu_us", 0.0) for _, y in found]
                below.plot(xs, cost, marker=".", color=colour, label=curve.series)
        _axes(rate, "accepted bids/s", row)
        _axes(below, "ms" if latency else "µs of CPU for each bid", row)
        ticks = sorted({x for _, found in drawn for x, _ in found})
        below.set_xticks(ticks, [f"{x:,.0f}" for x in ticks])
        below.minorticks_off()
        below.set_xlabel(drawn[0][0].x)
        save(figure, folder / f"{row}.svg")


def _axes(axes: Any, label: str, row: str) -> None:
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    if row == "full":
        axes.set_xscale("symlog", linthresh=10_000)
    elif row != "processes":
        axes.set_xscale("log")
    axes.grid(color=INK, alpha=0.2)
    axes.legend(frameon=False, fontsize=8)


def pyplot() -> Any:
    """Return matplotlib's pyplot, imported here because only `make bench` installs it."""
    importlib.import_module("matplotlib").use("svg")
    plot: Any = importlib.import_module("matplotlib.pyplot")
    plot.rcParams.update(_STYLE)
    return plot


def save(figure: Any, file: Path) -> None:
    """Write a figure as SVG; the same figure gives the same file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(file, transparent=True, metadata={"Date": None})
    pyplot().close(figure)
