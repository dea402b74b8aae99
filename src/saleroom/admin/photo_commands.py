"""The commands `saleroom photos`: from their arguments to the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from saleroom import options
from saleroom.options import EXIT_CODES

if TYPE_CHECKING:
    from saleroom.settings import Settings


@click.group(epilog=EXIT_CODES)
def photos() -> None:
    """Move photos between the database and an S3 store.

    Examples:

        saleroom photos move --to store
        saleroom photos move --to rows
    """


@photos.command(
    cls=options.Command,
    epilog="Exit codes: 0 done, 1 refused, failed or a photo could not be moved, 2 wrong usage or settings.",
)
@click.option(
    "--to", metavar="store|rows", required=True, type=click.Choice(["store", "rows"]), help="Where the photos go."
)
@options.house
def move(settings: Settings, to: str) -> int:
    """Move the files of all photos from the database to the store, or back.

    Examples:

        saleroom photos move --to store
        saleroom photos move --to rows --config house.toml

    The setting photo_store names the store; all processes of the house need it before photos go there. The house may serve
    meanwhile. Each file is read back and compared before it is taken away where it was. The command may be stopped at any time,
    and goes on where it was when it is called again.
    """
    from saleroom.admin import photo_moves as work

    return work.move(settings, work.To(to), say=click.echo)
