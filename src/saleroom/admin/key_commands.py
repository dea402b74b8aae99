"""The commands of `saleroom keys`: the keys that receipts are signed with, a new one, and a new secret of the house."""

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
    """List the keys that receipts are signed with, make a new one, or a new secret of the house.

    Examples:

        saleroom keys list
        saleroom keys renew
        saleroom keys renew-secret --yes

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


@keys.command("renew-secret", cls=options.Command, epilog=EXIT_CODES)
@options.house
@click.option("--yes", is_flag=True, help="Do not ask.")
def renew_secret(settings: Settings, *, yes: bool) -> None:
    """Make a new secret of the house, from which all its keys follow but the one for receipts. For a secret that has leaked.

    Examples:

        saleroom keys renew-secret
        saleroom keys renew-secret --yes

    Passwords, sessions, access tokens, one-time codes and passkeys stay. Links in mails that were sent, open forms and half
    done logins end. Webhooks are signed with new secrets, which their owners make and see by rotating them. Pushes end, until
    people switch them on again. A house that serves takes the new secret within 30 seconds. The audit log notes it.
    """
    from saleroom.admin import keys as work

    if not yes:
        work.refuse_without_house(settings)
        options.confirm("Make a new secret, so that links, webhooks and pushes of the one before end?")
    click.echo(work.renew_secret(settings))
