"""The commands `saleroom archive` and `saleroom unarchive`: from their arguments to a day, an age or gids."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import rich_click as click

from saleroom import options

if TYPE_CHECKING:
    from saleroom.settings import Settings

_AGE = re.compile(r"([1-9][0-9]{0,4})([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 31, "y": 366}


EXIT_CODES = "Exit codes: 0 done, 1 refused, failed or a lot stays where it is, 2 wrong usage or settings."


@click.command(cls=options.Command, epilog=EXIT_CODES)
@click.option("--before", metavar="DATE", help="Archive lots that were over before this day (UTC), such as 2024-01-01.")
@click.option("--older-than", metavar="AGE", help="Archive lots that have been over for longer: 90d, 26w, 18m or 2y.")
@click.option("--dry-run", is_flag=True, help="Say what would be archived, and do nothing.")
@options.house
def archive(settings: Settings, before: str | None, older_than: str | None, *, dry_run: bool) -> int:
    """Move the events of old lots from the database to files that verify.

    Examples:

        saleroom archive --older-than 2y --dry-run
        saleroom archive --before 2024-01-01
        saleroom verify /srv/archive/k3/k3X9mQ2vTa1_.ndjson

    The setting archive_folder names the folder. The house may serve meanwhile, and shows archived lots as before. The command
    may be stopped at any time, and goes on where it was when it is called again. Bids, results and settlement stay in the
    database, and so do lots of sales that are not settled.
    """
    if before and older_than:
        raise click.UsageError("name either --before DATE or --older-than AGE, not both")
    if not before and not older_than:
        raise click.UsageError("name --before DATE or --older-than AGE")
    limit = _day(before) if before else _age(older_than or "")
    from saleroom.admin import archive as work

    return work.archive_lots(settings, limit, dry_run=dry_run, say=click.echo)


@click.command(
    cls=options.Command,
    context_settings={"ignore_unknown_options": True},  # a gid may begin with a hyphen
    epilog=EXIT_CODES,
)
@click.argument("gids", metavar="[GID]...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Bring back all archived lots.")
@click.option("--dry-run", is_flag=True, help="Check the files, say what would be brought back, and do nothing.")
@options.house
def unarchive(settings: Settings, gids: tuple[str, ...], *, is_all: bool, dry_run: bool) -> int:
    """Bring the events of archived lots back from their files to the database.

    Examples:

        saleroom unarchive k3X9mQ2vTa1_
        saleroom unarchive --all --dry-run

    A lot is brought back only if its files are as they were written and its ledger verifies with them. The house may serve
    meanwhile. The command may be stopped at any time, and goes on where it was when it is called again. The files stay.
    """
    if bool(gids) == is_all:
        raise click.UsageError("name the lots by their gids, or --all")
    from saleroom.admin import unarchive as work

    return work.unarchive_lots(settings, None if is_all else set(gids), dry_run=dry_run, say=click.echo)


def _day(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no day: write it like 2024-01-01", param_hint="--before") from None


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no age: write it like 90d, 26w, 18m or 2y", param_hint="--older-than")
    days = int(found[1]) * _DAYS[found[2]]
    if days > 36_600:
        raise click.BadParameter(f"{text!r} is more than a century", param_hint="--older-than")
    return timedelta(days=days)


COMMANDS: tuple[click.Command, ...] = (archive, unarchive)
