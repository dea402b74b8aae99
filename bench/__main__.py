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
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    found = run(rows, rounds, seconds, memory_bids, console)
    file = output or RESULTS / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}.json"
    results.write(found, file)
    ratios([found], file.with_suffix(".svg"))
    console.print(report.terminal(found, rows))
    console.print(f"Violations counted in the databases: {found.violations()}", highlight=False)
    console.print(f"Saved in {file}", highlight=False, soft_wrap=True)
    return 1 if found.violations() or found.failed else 130 if found.stopped else 0


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
