"""The commands that copy a house: backup and restore, export and import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import rich_click as click

from saleroom import options
from saleroom.options import EXIT_CODES

_file = click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
_file_or_stream = click.argument(
    "file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True)
)
_force = click.option("--force", is_flag=True, help="Replace a file that is there already.")


@click.command(cls=options.Command, epilog=EXIT_CODES)
@_file
@_force
@options.database
@options.config
def backup(file: Path, force: bool, config: str | None, database: str | None) -> None:
    """Copy the database to a file, while the house serves.

    Examples:

        saleroom backup /srv/backups/monday.db
        saleroom backup monday.db --force --database sqlite:////srv/saleroom.db

    The copy is checked: that it is whole, and that its ledgers verify. Nobody but its owner can read it. On PostgreSQL this
    says which command of PostgreSQL's own does it.
    """
    settings = options.read_settings(config, database=database)
    from saleroom.admin import backups

    try:
        backups.backup(settings, file, force=force, say=click.echo)
    except backups.AnotherTool as error:
        raise click.UsageError(str(error)) from None


@click.command(cls=options.Command, epilog=EXIT_CODES)
@_file
@options.database
@options.config
def restore(file: Path, config: str | None, database: str | None) -> None:
    """Put a backup in the place of the database; the service must be stopped.

    Examples:

        saleroom restore /srv/backups/monday.db
        saleroom restore monday.db --database sqlite:////srv/saleroom.db

    The backup is checked and brought up to date first. What it replaces is kept beside it, under a name with the date.
    """
    settings = options.read_settings(config, database=database)
    from saleroom.admin import backups

    try:
        backups.restore(settings, file, say=click.echo)
    except backups.AnotherTool as error:
        raise click.UsageError(str(error)) from None


@click.command("export", cls=options.Command, epilog=EXIT_CODES)
@_file_or_stream
@_force
@options.database
@options.config
def export_house(file: Path, force: bool, config: str | None, database: str | None) -> None:
    """Write the whole house as lines of JSON, the same from either database.

    Examples:

        saleroom export house.ndjson
        saleroom export - | gzip > house.ndjson.gz

    The file holds digests of passwords and tokens, and what is private: nobody but its owner can read it.
    """
    settings = options.read_settings(config, database=database)
    from saleroom.admin import transfers

    target = _or_stream(file, sys.stdout.buffer)
    transfers.export(settings, target, force=force, say=lambda line: click.echo(line, err=target is not file))


@click.command("import", cls=options.Command, epilog=EXIT_CODES)
@_file_or_stream
@options.database
@options.config
def import_house(file: Path, config: str | None, database: str | None) -> None:
    """Read an exported house into an empty database: all of it, or nothing.

    Examples:

        saleroom import house.ndjson --database postgresql://ada:pw@db/saleroom
        gunzip < house.ndjson.gz | saleroom import -

    The tables are made first. Everything in the file is checked, and every ledger verified, before it counts.
    """
    settings = options.read_settings(config, database=database)
    from saleroom.admin import transfers

    transfers.import_(settings, _or_stream(file, sys.stdin.buffer), say=click.echo)


def _or_stream(file: Path, stream: BinaryIO) -> Path | BinaryIO:
    return stream if str(file) == "-" else file
