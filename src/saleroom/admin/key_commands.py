"""The commands of `saleroom keys`: the keys that receipts are signed with, and a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from saleroom import options
from saleroom.kernel.terminal import plain
from saleroom.options import EXIT_CODES

if TYPE_CHECKING:
    from saleroom.settings import Settings


@click.group(epilog=EXIT_CODES)
def keys() -> None:
    """List the keys that receipts are signed with, and make a new one.

    Examples:

        saleroom keys list
        saleroom keys renew

    Each command reads the same settings as serve.
    """


@keys.command("list", cls=options.Command, epilog=EXIT_CODES)
@options.house
def list_keys(settings: Settings) -> None:
    """List all keys that have ever signed receipts, the newest first.

    Examples:

        saleroom keys list

    One line for each, with tabs between: thumbprint, since when (UTC), and where its private half is: database, file or gone.
    """
    from saleroom.admin import keys as work

    for row in work.listed(settings):
        click.echo("\t".join(map(plain, row)))


@keys.command("renew", cls=options.Command, epilog=EXIT_CODES)
@options.house
def renew(settings: Settings) -> None:
    """Make a new key to sign receipts with.

    Examples:

        saleroom keys renew

    The private half of the key before is deleted. Receipts that it has signed can be checked for ever. Start the house again
    afterwards: until then it signs with the key that it has. The audit log notes it.
    """
    from saleroom.admin import keys as work

    click.echo(work.renew(settings))
