"""The command `saleroom archive`: from its arguments to a day or an age."""

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


@click.command(
    cls=options.Command,
    epilog="Exit codes: 0 done, 1 refused, failed or a lot could not be archived, 2 wrong usage or settings.",
)
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
