"""The commands that work on a house outside the service, on the tables and the users; those on copies are in `copying.py`.

Each reads settings and prints answers; heavy modules are imported where they are used.
"""

from __future__ import annotations

import sys

import rich_click as click

from saleroom import options
from saleroom.admin import copying
from saleroom.kernel.terminal import plain
from saleroom.options import EXIT_CODES

PASSWORD_BYTES_MAX = 4096
"""Longest line read as a password; what a password may be is the house's to say."""


@click.command(cls=options.Command, epilog=EXIT_CODES)
@options.database
@click.option(
    "--to", "revision", default="head", metavar="REVISION", help="Revision to go to. Default: head, the newest."
)
@options.config
def migrate(revision: str, config: str | None, database: str | None) -> None:
    """Bring the database's tables to a revision.

    Examples:

        saleroom migrate
        saleroom migrate --database sqlite:////srv/saleroom.db
        saleroom migrate --to 0001

    serve brings them to the newest by itself. An older revision drops what it has no room for.
    """
    settings = options.read_settings(config, database=database)
    from saleroom import opening

    click.echo(opening.migrate(settings, revision))


@click.group(epilog=EXIT_CODES)
def users() -> None:
    """Add and list users, set passwords.

    Examples:

        saleroom users add ada
        saleroom users list
        saleroom users password ada

    Each command reads the same settings as serve, so that it works on the same database.
    """


@users.command("add", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@options.database
@options.config
def add_user(name: str, config: str | None, database: str | None) -> None:
    """Add a user, also where registration is closed.

    Examples:

        saleroom users add ada
        saleroom users add ada < password.txt

    The password is asked for, or is the first line of standard input where that is no terminal.
    """
    settings = options.read_settings(config, database=database)
    password = _password()
    from saleroom.admin import users as accounts

    click.echo(accounts.add(settings, name, password))


@users.command("list", cls=options.Command, epilog=EXIT_CODES)
@options.database
@options.config
def list_users(config: str | None, database: str | None) -> None:
    """List all users.

    Examples:

        saleroom users list
        saleroom users list --database postgresql://ada:pw@db/saleroom

    One line for each: the name, a tab, and the instant of registration (UTC).
    """
    settings = options.read_settings(config, database=database)
    from saleroom.admin import users as accounts

    for name, created_at in accounts.everyone(settings):
        click.echo(f"{plain(name)}\t{created_at}")


@users.command("password", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@options.database
@options.config
def set_password(name: str, config: str | None, database: str | None) -> None:
    """Set a user's password.

    Examples:

        saleroom users password ada
        saleroom users password ada < password.txt

    The password is asked for, or is the first line of standard input where that is no terminal.
    """
    settings = options.read_settings(config, database=database)
    password = _password()
    from saleroom.admin import users as accounts

    click.echo(accounts.set_password(settings, name, password))


def _password() -> str:
    """Ask for a new password twice, or take one line of standard input where nobody is there to be asked."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt="The same again"))
    line = sys.stdin.buffer.readline(PASSWORD_BYTES_MAX)
    try:
        password = line.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        raise click.ClickException("the password on standard input is not UTF-8") from None
    if not password:
        raise click.ClickException("no password on standard input: give one as its first line")
    return password


COMMANDS: tuple[click.Command, ...] = (
    migrate,
    users,
    copying.backup,
    copying.restore,
    copying.export_house,
    copying.import_house,
)
