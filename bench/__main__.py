"""`python -m bench`: the command line of the bench."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import rich_click as click
from rich.console import Console

from bench import BenchError
from bench.rows import ROWS, chosen

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
DOCUMENT = ROOT / "docs" / "maintaining" / "performance.md"
CHARTS = ROOT / "docs" / "maintaining" / "performance"
WIDTH = 180
"""The width of the table in a file or a pipe."""
EXIT_CODES = "Exit codes: 0 done, 1 a database held a violation, or a measurement failed, 2 wrong usage, 130 stopped."


@click.group(epilog=EXIT_CODES)
@click.rich_config({"text_paragraph_linebreaks": "\n\n"})
def cli() -> None:
    """Measure the house against what the same machine can do.

    Examples:

        python -m bench run
        python -m bench run --only hot,spread --rounds 5
        python -m bench compare main --only sqlite-hot
        python -m bench profile
        python -m bench rows
        python -m bench report bench/results/2026-11-21T12-00-00.json

    `make bench` installs what it needs and runs the first example.
    """


@cli.command("run", epilog=EXIT_CODES)
@click.option("--only", default="", metavar="ROWS", help="Rows of the table, separated by commas. Default: all.")
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="How often each side is measured.")
@click.option(
    "--seconds", default=5.0, show_default=True, type=click.FloatRange(0.5), help="Length of each measured interval."
)
@click.option("--memory-bids", default=1_000_000, show_default=True, help="How many bids the row memory waits for.")
@click.option("--output", type=click.Path(path_type=Path), help="JSON file to write. Default: one named by the time.")
def run_rows(only: str, rounds: int, seconds: float, memory_bids: int, output: Path | None) -> int:
    """Measure, print the table, and save all figures as JSON and the ratios as a chart beside it.

    Examples:

        python -m bench run --only hot
        python -m bench run --only echo,sqlite --rounds 1 --seconds 2

    All sides of a ratio are measured in turn, in the same run. Bids are counted in the database.
    """
    from bench import report, results
    from bench.chart import ratios
    from bench.run import run

    rows = chosen(only)
    console = _console()
    found = run(rows, rounds, seconds, memory_bids, console)
    file = output or RESULTS / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}.json"
    results.write(found, file)
    ratios([found], file.with_suffix(".svg"))
    console.print(report.terminal(found, rows))
    console.print(f"Violations counted in the databases: {found.violations()}", highlight=False)
    console.print(f"Saved in {file}", highlight=False, soft_wrap=True)
    return 1 if found.violations() or found.failed else 130 if found.stopped else 0


@cli.command(
    "compare", epilog="Exit codes: 0 nothing is worse, 1 a figure is worse or a measurement failed, 130 stopped."
)
@click.argument("revision", metavar="REV")
@click.option("--only", default="", metavar="ROWS", help="Rows of the comparison, separated by commas. Default: all.")
@click.option("--rounds", default=8, show_default=True, type=click.IntRange(1), help="How often each side is measured.")
@click.option(
    "--seconds", default=5.0, show_default=True, type=click.FloatRange(0.5), help="Length of each measured interval."
)
@click.option("--output", type=click.Path(path_type=Path), help="JSON file to write. Default: one named by the time.")
def compare_revisions(revision: str, only: str, rounds: int, seconds: float, output: Path | None) -> int:
    """Compare this checkout with the commit REV of its repository: better, the same, or worse.

    Examples:

        python -m bench compare HEAD~1 --only sqlite-hot,sqlite-hot-instructions
        python -m bench compare v1.2 --rounds 14

    REV is checked out and installed in a temporary folder. It is measured twice in each round: the difference of these
    two is chance. docs/maintaining/performance.md says how the verdict comes about.
    """
    from bench import comparison, results

    rows = chosen(only, comparison.ROWS)
    console = _console()
    found = comparison.run(revision, rows, rounds, seconds, console)
    file = output or RESULTS / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}-compared.json"
    results.write(found, file)
    compared = comparison.comparisons(found)
    console.print(comparison.table(compared))
    console.print(f"Violations counted in the databases: {found.violations()}", highlight=False)
    console.print(f"Saved in {file}", highlight=False, soft_wrap=True)
    if found.violations() or found.failed or comparison.is_worse(compared):
        return 1
    return 130 if found.stopped else 0


@cli.command("profile", epilog=EXIT_CODES)
@click.option("--only", default="", metavar="ROWS", help="Rows of the profile, separated by commas. Default: all.")
@click.option(
    "--seconds", default=10.0, show_default=True, type=click.FloatRange(0.5), help="Length of each measured interval."
)
def show_profile(only: str, seconds: float) -> None:
    """Show where the processor time of a bid goes, by steps, as a table in Markdown.

    Examples:

        python -m bench profile
        python -m bench profile --only sqlite-hot --seconds 30

    The steps are the table in bench/steps.py.
    """
    from bench import profile
    from bench.stage import Stage

    rows = chosen(only, profile.ROWS)
    with Stage(seconds, lambda text: click.echo(text, err=True)) as stage:
        found = {row: profile.take(stage, row) for row in rows}
    click.echo(profile.markdown(found))
    for row, taken in found.items():
        click.echo(f"{row}: {taken.bids} accepted bids; in none of the steps: {', '.join(taken.unknown) or 'nothing'}")


@cli.command("rows")
def list_rows() -> None:
    """List the rows that can be measured."""
    click.echo("\n".join(ROWS))


@cli.command("report", epilog=EXIT_CODES)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--document", default=DOCUMENT, type=click.Path(path_type=Path), help="Document with the table.")
@click.option("--charts", default=CHARTS, type=click.Path(path_type=Path), help="Folder of the charts.")
def write_report(files: tuple[Path, ...], document: Path, charts: Path) -> None:
    """Write the table of saved figures into docs/maintaining/performance.md, and draw its charts.

    Examples:

        python -m bench report bench/results/2026-11-21T12-00-00.json
        python -m bench report all.json full-again.json

    Each line and each curve comes from the last of the files that has all of it.
    """
    from bench import chart, report, results

    try:
        found = [results.read(file) for file in files]
    except msgspec.ValidationError as error:
        raise BenchError(f"not a file of the bench: {error}") from error
    chart.ratios(found, charts / "ratios.svg")
    chart.curves(found, charts)
    report.into_document(found, document)
    click.echo(f"Wrote {document} and the charts in {charts}")


@cli.command("scale", epilog=EXIT_CODES)
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def write_scale(files: tuple[Path, ...]) -> None:
    """Run the model of large houses, and write its tables into docs/scale.md and its charts beside it.

    Examples:

        python -m bench scale
        python -m bench scale bench/results/2026-11-21T12-00-00.json again.json

    The model takes its costs from docs/scale/bench.json. Files that are named take its place: all their rounds become one file.
    """
    from bench import results, scale, scale_chart

    try:
        if files:
            found = results.together([results.read(file) for file in files])
            results.write(found, scale.FIGURES)
        found = scale.figures()
    except msgspec.ValidationError as error:
        raise BenchError(f"not a file of the bench: {error}") from error
    text = scale.into_document(found, scale.DOCUMENT.read_text("utf-8"))
    scale.DOCUMENT.write_text(text, "utf-8")
    scale_chart.draw(found, scale.FIGURES.parent)
    click.echo(f"Wrote {scale.DOCUMENT} and the charts in {scale.FIGURES.parent}")


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def main() -> int:
    """Run the command line and return the exit code."""
    try:
        return int(cli.main(standalone_mode=False) or 0)
    except (BenchError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        return 1
    except click.Abort:
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
