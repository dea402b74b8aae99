"""The owner's commands on a house outside the service: on its tables, its users, and copies of it.

Each reads the settings and prints its result. Heavy modules are imported only by the command that uses them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import rich_click as click

from saleroom import options
from saleroom.kernel.terminal import plain
from saleroom.options import EXIT_CODES

if TYPE_CHECKING:
    from saleroom.settings import Settings

PASSWORD_BYTES_MAX = 4096
"""The longest line read as a password; the house has its own bound."""


_file = click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
file_or_stream = click.argument(
    "file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True)
)


class _Roles(click.Choice[str]):
    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        """Return nothing of the choices, so that the message is one line."""
        return ""


ROLE = _Roles(("owner", "manager", "auctioneer", "clerk", "cashier", "cataloguer", "member"))
"""The roles of the domain, which is not imported before a command runs. A test compares them."""
_reason = click.option("--reason", default="", metavar="TEXT", help="Why, for the audit log.")
force_option = click.option("--force", is_flag=True, help="Replace an existing file.")


@click.command(cls=options.Command, epilog=EXIT_CODES)
@click.option(
    "--to", "revision", default="head", metavar="REVISION", help="Revision to go to. Default: head, the newest."
)
@options.house
def migrate(settings: Settings, revision: str) -> None:
    """Bring the database's tables to a revision.

    Examples:

        saleroom migrate
        saleroom migrate --database sqlite:////srv/saleroom.db
        saleroom migrate --to 0001

    serve brings them to the newest by itself. An older revision drops the data that it has no room for.
    """
    from saleroom import opening

    click.echo(opening.migrate(settings, revision))


@click.group(epilog=EXIT_CODES)
def users() -> None:
    """Add and list users, set passwords, give roles, approve sellers.

    Examples:

        saleroom users add ada --role owner
        saleroom users list
        saleroom users role bob clerk
        saleroom users password ada

    Each command reads the same settings as serve, so that it works on the same database.
    """


@users.command("add", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@click.option("--role", type=ROLE, default="member", help="Role in the house. Default: member.")
@options.house
def add_user(settings: Settings, name: str, role: str) -> None:
    """Add a user, even while registration is closed.

    Examples:

        saleroom users add ada
        saleroom users add ada --role owner < password.txt

    On a terminal the command asks for the password; otherwise the password is the first line of standard input.
    """
    from saleroom.admin import users as accounts

    accounts.refuse_to_add(settings, name)
    click.echo(accounts.add(settings, name, _password(), role))


@users.command("list", cls=options.Command, epilog=EXIT_CODES)
@click.option("--search", "text", default="", metavar="TEXT", help="Only users with this text in their name.")
@click.option("--role", type=ROLE, help="Only users with this role.")
@options.house
def list_users(settings: Settings, text: str, role: str | None) -> None:
    """List users.

    Examples:

        saleroom users list
        saleroom users list --role owner
        saleroom users list --search ada --database postgresql://ada:pw@db/saleroom

    One line for each, with tabs between: the name, the time of registration (UTC), and the role.
    """
    from saleroom.admin import users as accounts

    for row in accounts.everyone(settings, text, role):
        click.echo("\t".join(map(plain, row)))


@users.command("role", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@click.argument("role", metavar="ROLE", type=ROLE)
@_reason
@options.house
def give_role(settings: Settings, name: str, role: str, reason: str) -> None:
    """Give a user another role; saleroom roles says what each may do.

    Examples:

        saleroom users role ada owner
        saleroom users role bob clerk --reason "at the desk from May on"

    It counts from the user's next request on. The last owner of a house stays one.
    """
    from saleroom.admin import users as accounts

    click.echo(accounts.give_role(settings, name, role, reason))


@users.command("approve", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@click.option("--withdraw", is_flag=True, help="Take the approval back.")
@_reason
@options.house
def approve_seller(settings: Settings, name: str, withdraw: bool, reason: str) -> None:
    """Approve a user as a seller, for a house whose setting sellers is approved.

    Examples:

        saleroom users approve ada
        saleroom users approve ada --withdraw --reason "two lots never came"
    """
    from saleroom.admin import users as accounts

    click.echo(accounts.approve(settings, name, reason, approved=not withdraw))


@users.command("password", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@options.house
def set_password(settings: Settings, name: str) -> None:
    """Set a user's password.

    Examples:

        saleroom users password ada
        saleroom users password ada < password.txt

    On a terminal the command asks for the password; otherwise the password is the first line of standard input.
    """
    from saleroom.admin import users as accounts

    accounts.refuse_unknown(settings, name)
    click.echo(accounts.set_password(settings, name, _password()))


def _password() -> str:
    """Ask for a new password twice, or read one line of standard input if that is no terminal."""
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


@click.command(cls=click.RichCommand, epilog=EXIT_CODES)
def roles() -> None:
    """Show what each role may do.

    Examples:

        saleroom roles

    One line for each right, with tabs between: the right, what it is for, and the roles that have it.
    """
    from saleroom.admin import users as accounts

    for row in accounts.roles():
        click.echo("\t".join(row))


@click.group(epilog=EXIT_CODES)
def audit() -> None:
    """Read the audit log: what staff did, on whom or what, and why.

    Examples:

        saleroom audit list
        saleroom audit export audit.ndjson
    """


@audit.command("list", cls=options.Command, epilog=EXIT_CODES)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, help="How many entries. Default: 50.")
@click.option("--user", metavar="NAME", help="Only acts by this user or on this user.")
@click.option("--act", metavar="ACT", help="Only such acts, such as role.changed; docs/people.md lists them.")
@options.house
def list_audit(settings: Settings, limit: int, user: str | None, act: str | None) -> None:
    """List the latest entries, the latest first.

    Examples:

        saleroom audit list
        saleroom audit list --user ada --limit 10
        saleroom audit list --act role.changed

    One line for each, with tabs between: when (UTC), who, what, on whom or what, the change, and the reason.
    """
    from saleroom.admin import audit as log

    for row in log.newest(settings, limit, user, act):
        click.echo("\t".join(map(plain, row)))


@audit.command("export", cls=options.Command, epilog=EXIT_CODES)
@file_or_stream
@force_option
@options.house
def export_audit(settings: Settings, file: Path, force: bool) -> None:
    """Write the whole log as lines of JSON, the earliest entry first.

    Examples:

        saleroom audit export audit.ndjson
        saleroom audit export - | gzip > audit.ndjson.gz
    """
    from saleroom.admin import audit as log

    target = or_stream(file, sys.stdout.buffer)
    click.echo(log.export(settings, target, force=force), err=target is not file)


@click.command(cls=options.Command, epilog=EXIT_CODES)
@_file
@force_option
@options.house
def backup(settings: Settings, file: Path, force: bool) -> None:
    """Copy the database to a file, while the house serves.

    Examples:

        saleroom backup /srv/backups/monday.db
        saleroom backup monday.db --force --database sqlite:////srv/saleroom.db

    The copy is checked: it is complete, and its ledgers verify. Only its owner can read the file. On PostgreSQL the
    command names the tool of PostgreSQL that does this.
    """
    from saleroom.admin import backups

    try:
        backups.backup(settings, file, force=force, say=click.echo)
    except backups.NotSqlite as error:
        raise click.UsageError(str(error)) from None


@click.command(cls=options.Command, epilog=EXIT_CODES)
@_file
@options.house
def restore(settings: Settings, file: Path) -> None:
    """Replace the database by a backup; the service must be stopped.

    Examples:

        saleroom restore /srv/backups/monday.db
        saleroom restore monday.db --database sqlite:////srv/saleroom.db

    The backup is checked and brought up to date first. The old database is kept beside it, under a name with the date.
    """
    from saleroom.admin import backups

    try:
        backups.restore(settings, file, say=click.echo)
    except backups.NotSqlite as error:
        raise click.UsageError(str(error)) from None


@click.command("export", cls=options.Command, epilog=EXIT_CODES)
@file_or_stream
@force_option
@options.house
def export_house(settings: Settings, file: Path, force: bool) -> None:
    """Write the whole house as lines of JSON, the same from SQLite and PostgreSQL.

    Examples:

        saleroom export house.ndjson
        saleroom export - | gzip > house.ndjson.gz

    The file has digests of passwords and tokens, and private data: only its owner can read it.
    """
    from saleroom.admin import transfers

    target = or_stream(file, sys.stdout.buffer)
    transfers.export(settings, target, force=force, say=lambda line: click.echo(line, err=target is not file))


@click.command("import", cls=options.Command, epilog=EXIT_CODES)
@file_or_stream
@options.house
def import_house(settings: Settings, file: Path) -> int:
    """Read an exported house into an empty database: all of it or nothing.

    Examples:

        saleroom import house.ndjson --database postgresql://ada:pw@db/saleroom
        gunzip < house.ndjson.gz | saleroom import -

    The tables are created first. All data is checked, and every ledger verified, before the import is committed. Then photos
    go to the store, if the setting photo_store names one.
    """
    from saleroom.admin import photo_moves, transfers

    transfers.import_(settings, or_stream(file, sys.stdin.buffer), say=click.echo)
    if settings.photo_place:
        return photo_moves.move(settings, photo_moves.To.STORE, say=click.echo)
    return 0


def or_stream(file: Path, stream: BinaryIO) -> Path | BinaryIO:
    """Return the file, or the stream if that is `-`. Raises ClickException if it is closed."""
    if str(file) != "-":
        return file
    if stream.name == os.devnull:  # `__main__` has opened it in place of the closed one
        raise click.ClickException("the standard stream for - is closed; name a file")
    return stream


@click.command(
    cls=options.Command,
    epilog="Exit codes: 0 no fault, perhaps warnings; 1 a fault; 2 wrong usage.",
)
@click.option("--backups", metavar="FOLDER", help="Folder of the backups; the newest must not be older than 26 hours.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
@options.database
@options.config
def doctor(backups: str | None, database: str | None, config: str | None, *, json: bool) -> int:
    """Look for what stops a house or soon will, and say the remedy for each.

    Examples:

        saleroom doctor
        saleroom doctor --config house.toml --backups /var/backups/saleroom
        saleroom doctor --json

    It checks the settings, the database, its tables and its clock, the broker, the mail server, the store of photos, the
    certificate of public_url, ports, disk, files with secrets, and backups. It may run beside the house. It shows no secret.
    """
    from saleroom.admin import doctor as doctors

    return doctors.examine(config, {"database": database}, backups, json=json, say=click.echo)


COMMANDS: tuple[click.Command, ...] = (
    migrate,
    users,
    roles,
    audit,
    backup,
    restore,
    export_house,
    import_house,
    doctor,
)
