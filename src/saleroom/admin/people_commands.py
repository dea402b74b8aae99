"""The commands of `saleroom users` on standing and staff: second factors, sanctions, invitations, owner, export, erasure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from saleroom import options
from saleroom.admin.commands import COMMANDS, ROLE, file_or_stream, force_option, or_stream, users
from saleroom.options import EXIT_CODES

if TYPE_CHECKING:
    from saleroom.admin.users import Link
    from saleroom.settings import Settings

__all__ = ["COMMANDS"]

_why = click.option("--reason", required=True, metavar="TEXT", help="Why. The user reads it.")
_DAYS = click.IntRange(1, 36500)


@users.command("codes-off", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@options.house
def switch_codes_off(settings: Settings, name: str) -> None:
    """Switch a user's one-time codes off.

    Examples:

        saleroom users codes-off ada
        saleroom users codes-off ada --database postgresql://ada:pw@db/saleroom

    For a user who has lost the app and the recovery codes. Make sure that it is the user who asks: afterwards the password
    alone logs in.
    """
    from saleroom.admin import users as accounts

    click.echo(accounts.switch_codes_off(settings, name))


@users.command("passkeys-off", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@options.house
def remove_passkeys(settings: Settings, name: str) -> None:
    """Remove all passkeys of a user.

    Examples:

        saleroom users passkeys-off ada
        saleroom users passkeys-off ada --database postgresql://ada:pw@db/saleroom

    For a user who has lost a device with a passkey and cannot log in to remove it. Where the device is logged in, it stays
    so: `saleroom users password` logs out everywhere.
    """
    from saleroom.admin import users as accounts

    click.echo(accounts.remove_passkeys(settings, name))


@users.command("log-out", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name", required=False)
@click.option("--everybody", is_flag=True, help="All users of the house.")
@click.option("--reason", default="", help="Why, for the audit log.")
@options.house
def log_out(settings: Settings, name: str | None, everybody: bool, reason: str) -> None:
    """End all sessions of a user, or of everybody, and revoke their access tokens.

    Examples:

        saleroom users log-out bob --reason "his phone was stolen"
        saleroom users log-out --everybody --reason "a backup was stolen"

    It counts at once, in every process. They log in again by their passwords.
    """
    from saleroom.admin import users as accounts

    if (name is None) is not everybody:
        raise click.UsageError("Give the name of a user, or --everybody.")
    click.echo(accounts.log_out(settings, name, reason))


@users.command("warn", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@_why
@options.house
def warn(settings: Settings, name: str, reason: str) -> None:
    """Warn a user, who sees the warning on every page until it is read.

    Examples:

        saleroom users warn bob --reason "please be polite to sellers"
    """
    from saleroom.admin import users as accounts

    click.echo(accounts.sanction(settings, name, "warning", reason, None))


@users.command("suspend", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@_why
@click.option("--days", required=True, metavar="NUMBER", type=_DAYS, help="How long.")
@options.house
def suspend(settings: Settings, name: str, reason: str, days: int) -> None:
    """Suspend a user for some days: no bids, purchases, lots or questions.

    Examples:

        saleroom users suspend bob --days 7 --reason "two lots were not paid for"

    It counts at once, in every process. The user's earlier acts stay.
    """
    from saleroom.admin import users as accounts

    click.echo(accounts.sanction(settings, name, "suspension", reason, days))


@users.command("ban", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@_why
@click.option("--days", metavar="NUMBER", type=_DAYS, help="How long. Default: without an end.")
@options.house
def ban(settings: Settings, name: str, reason: str, days: int | None) -> None:
    """Ban a user: no bids, purchases, lots or questions.

    Examples:

        saleroom users ban bob --reason "bids on own lots"
        saleroom users ban bob --days 90 --reason "bids on own lots"

    It counts at once, in every process. The user's earlier acts stay.
    """
    from saleroom.admin import users as accounts

    click.echo(accounts.sanction(settings, name, "ban", reason, days))


@users.command("lift", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@_why
@options.house
def lift(settings: Settings, name: str, reason: str) -> None:
    """Lift the suspension or the ban of a user.

    Examples:

        saleroom users lift bob --reason "he has paid"
    """
    from saleroom.admin import users as accounts

    click.echo(accounts.lift(settings, name, reason))


@users.command("export", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@file_or_stream
@force_option
@options.house
def export_user(settings: Settings, name: str, file: Path, force: bool) -> None:
    """Write all that the house holds about a user as a ZIP.

    Examples:

        saleroom users export ada ada.zip
        saleroom users export ada - > ada.zip

    JSON files and the photos, with a README. Secrets are left out. Only the owner of the file can read it.
    """
    from saleroom.admin import person_export

    target = or_stream(file, sys.stdout.buffer)
    click.echo(person_export.export(settings, name, target, force=force), err=target is not file)


@users.command("erase", cls=options.Command, epilog=EXIT_CODES)
@click.argument("name")
@click.option("--reason", default="", metavar="TEXT", help="Why, for the audit log.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.house
def erase(settings: Settings, name: str, reason: str, yes: bool) -> None:
    """Erase a user for good: a pseudonym takes the place of the name.

    Examples:

        saleroom users erase bob
        saleroom users erase bob --yes --reason "he has asked for it"

    Refused while they offer a running lot or have a bid on one. Ledgers of older houses keep names.
    """
    from saleroom.admin import users as accounts

    if not yes:
        accounts.refuse_unknown(settings, name)
        options.confirm(f"Erase {name} for good?")
    click.echo(accounts.erase(settings, name, reason))


@users.command("owner-link", cls=options.Command, epilog=EXIT_CODES)
@options.house
def owner_link(settings: Settings) -> None:
    """Print a link that makes anyone who opens it, once logged in, the owner of a house without one.

    Examples:

        saleroom users owner-link
        saleroom users owner-link --database postgresql://ada:pw@db/saleroom

    It is good for 24 hours and for one person. Without a browser: saleroom users add NAME --role owner.
    """
    from saleroom.admin import users as accounts

    _show(accounts.owner_link(settings))


@users.command("invite", cls=options.Command, epilog=EXIT_CODES)
@click.argument("role", metavar="ROLE", type=ROLE)
@options.house
def invite(settings: Settings, role: str) -> None:
    """Print a link that gives a role to anyone who takes it, with a new account or the one they have.

    Examples:

        saleroom users invite clerk

    It is good for 7 days and for one person, also if registration is closed. The back office lists and revokes it.
    """
    from saleroom.admin import users as accounts

    _show(accounts.invite(settings, role))


def _show(link: Link) -> None:
    """Print a link, and beside the output what may be wrong about it."""
    click.echo(link.url)
    if link.is_guess:
        click.echo(
            "No house serves now, so the address is that of the settings. Its port may be another one.", err=True
        )
