"""The commands of `saleroom notices`: a mail to try the mail server, the outbox, and sending it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from saleroom import options
from saleroom.kernel.terminal import plain
from saleroom.options import EXIT_CODES

if TYPE_CHECKING:
    from saleroom.settings import Settings

_STATES = ("waiting", "sent", "given_up", "dropped")
"""Those of `outbox.message.State`, which a test compares."""


@click.group(epilog=EXIT_CODES)
def notices() -> None:
    """Try the mail server, list the words to people, and send them again.

    Examples:

        saleroom notices test you@example.org
        saleroom notices list --state given_up
        saleroom notices retry

    Each command reads the same settings as serve.
    """


@notices.command("test", cls=options.Command, epilog=EXIT_CODES)
@click.argument("address")
@options.house
def try_mail(settings: Settings, address: str) -> None:
    """Send a mail to an address at once, and say what the mail server answers.

    Examples:

        saleroom notices test you@example.org
        saleroom notices test you@example.org --config house.toml

    It uses smtp_url, mail_sender and smtp_ca_file. It needs no database, and the house need not serve.
    """
    from saleroom.admin import notices as words

    click.echo(words.try_mail(settings, address))


@notices.command("list", cls=options.Command, epilog=EXIT_CODES)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, help="How many words. Default: 50.")
@click.option("--state", type=click.Choice(_STATES), help="Only words in this state.")
@options.house
def list_words(settings: Settings, limit: int, state: str | None) -> None:
    """List the latest words to people, the latest first.

    Examples:

        saleroom notices list
        saleroom notices list --state given_up --limit 10

    One line for each, with tabs between: number, when it was posted (UTC), kind, state, receiver, tries, and what went wrong.
    What a word says is not shown.
    """
    from saleroom.admin import notices as words

    for row in words.latest(settings, limit, state):
        click.echo("\t".join(map(plain, row)))


@notices.command("retry", cls=options.Command, epilog=EXIT_CODES)
@click.argument("number", type=click.IntRange(1, 10**18 - 1), required=False)
@options.house
def retry(settings: Settings, number: int | None) -> None:
    """Have all words tried at once that wait or were given up, or one of them.

    Examples:

        saleroom notices retry
        saleroom notices retry 17

    The house sends them when it serves. A word that has arrived may arrive again. The audit log notes it.
    """
    from saleroom.admin import notices as words

    click.echo(words.send_again(settings, number))
