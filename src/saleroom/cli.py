"""The command line: `serve` calls `starting.py`, the tools have folders of their names, the owner's commands are in `admin/`.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage or settings, 130 stopped by a signal. A failure is one line on standard
error. SIGPIPE ends a command whose output nobody reads any more.
Heavy modules are imported only by the command that uses them, so that `--version` and a mistyped command answer at once.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import rich_click as click

from saleroom import __version__, options
from saleroom.admin import archive_commands, commands, key_commands, notice_commands, people_commands, photo_commands
from saleroom.kernel.terminal import plain
from saleroom.options import EXIT_CODES, STOPPED
from saleroom.runtime import cycles

if TYPE_CHECKING:
    from saleroom.tools.looking import Secret

LINE_LENGTH_MAX = 4000
"""The longest message of a command that fails."""


@click.group(epilog=EXIT_CODES)
@click.rich_config({"padding_helptext_first_line": (0, 1, 1, 0), "text_paragraph_linebreaks": "\n\n"})
@click.version_option(__version__, prog_name="saleroom", message="%(prog)s %(version)s")
def cli() -> None:
    """Run an auction house of your own.

    Examples:

        saleroom serve
        saleroom users add ada
        saleroom serve --help

    Every setting is also an environment variable, such as SALEROOM_PORT, and a line of a TOML file (--config).
    """


@cli.command(cls=options.Command, epilog=EXIT_CODES)
@options.setting("host", "ADDRESS")
@options.setting("port", "NUMBER")
@options.database
@options.setting("mqtt", "URL|embedded|off")
@options.setting("workers", "NUMBER")
@options.setting("registration", "open|closed")
@options.config
def serve(config: str | None, **flags: str | None) -> int:
    """Serve the auction house until SIGTERM or Ctrl-C.

    Examples:

        saleroom serve
        saleroom serve --host 0.0.0.0 --port 8000
        saleroom serve --database postgresql://ada:pw@db/saleroom --workers 2
        saleroom serve --mqtt mqtts://broker.example --config house.toml

    The database's tables are brought up to date first. Requests under way at the end are finished.
    """
    settings = options.read_settings(config, **flags)
    from saleroom import starting

    return starting.serve(settings)


@cli.command(cls=options.Command, epilog=EXIT_CODES)
@options.setting("house", "URL[,URL]")
@options.setting("host", "ADDRESS")
@options.setting("port", "NUMBER")
@options.config
def edge(config: str | None, **flags: str | None) -> int:
    """Serve the streams of a house to many readers, until SIGTERM or Ctrl-C.

    Examples:

        saleroom edge --house http://127.0.0.1:9000 --port 9100
        saleroom edge --house http://10.0.0.1:9000,http://10.0.0.2:9000 --host 0.0.0.0 --port 9100
        saleroom edge --config edge.toml

    An edge follows each stream of the house once, however many read it, and has the same addresses and ids. It has no
    database, and gets only what the house shows to everybody. docs/edge.md says how a proxy leads readers to it.
    """
    settings = options.read_settings(config, **flags)
    from saleroom.edge import command

    return command.serve(settings)


@cli.command(
    "load",
    cls=options.ToolCommand,
    epilog="Exit codes: 0 done, 1 a violation, or the test could not be done, 2 wrong usage, 130 stopped.",
)
@click.argument("url", metavar="URL")
@click.option("--bidders", default=50, metavar="NUMBER", type=click.IntRange(1, 20_000), help="Bidders. Default: 50.")
@click.option("--lots", default=10, metavar="NUMBER", type=click.IntRange(1, 10_000), help="Lots. Default: 10.")
@click.option(
    "--seconds", default=30, metavar="NUMBER", type=click.IntRange(1, 86_400), help="How long to bid. Default: 30."
)
@click.option(
    "--rate",
    metavar="NUMBER",
    type=click.FloatRange(0, min_open=True),
    help="Bids per second by all bidders. Default: as fast as answers come.",
)
@click.option("--json", "json_file", metavar="FILE", type=click.Path(dir_okay=False), help="File for all figures.")
@commands.force_option
@click.option("--key-file", metavar="FILE", type=click.Path(dir_okay=False), help="File whose first line is the key.")
def load_house(url: str, json_file: str | None, force: bool, key_file: str | None, **given: Any) -> int:
    """Try a running house before a sale night: many bidders, many lots, and a judge.

    Examples:

        saleroom load http://127.0.0.1:9000
        saleroom load https://bids.example --bidders 200 --lots 50 --seconds 60
        saleroom load https://bids.example --rate 100 --json result.json --key-file key.txt

    The house needs the setting load_key. The key comes from --key-file, from SALEROOM_LOAD_KEY, or from a prompt. The test
    uses only HTTP. Its lots are real ones whose names say that they are a test; they are closed at the end.
    """
    from saleroom.tools.load import command

    key = command.read_key(os.environ, key_file)
    if key is None and not sys.stdin.isatty():
        raise click.UsageError("no key: set SALEROOM_LOAD_KEY, or give --key-file")
    return command.run(url, key or _prompt("Load key"), json_file, force=force, **given)


def _prompt(what: str) -> Callable[[], str]:
    """Return what asks for a secret at a terminal."""
    return lambda: str(click.prompt(what, hide_input=True))


@cli.command(
    "watch",
    cls=options.ToolCommand,
    context_settings={"ignore_unknown_options": True},  # a gid may begin with a hyphen
    epilog="Exit codes: 0 the lot or the sale is over, now or already, or Ctrl-C; 1 it cannot be watched; 2 wrong usage.",
)
@click.argument("url", metavar="URL")
@click.argument("gid", metavar="[GID]", required=False)
@click.option("--sale", metavar="GID", help="Watch one sale of many lots: its events, the block, and its lots.")
@click.option("--json", is_flag=True, help="Print the events themselves, one JSON object a line.")
@click.option("--screen", is_flag=True, help="Use the whole terminal, and restore it at the end.")
@click.option("--after", metavar="ID", help="Start after this event; 0 is the start of the log. HTTP only.")
@click.option("--prefix", metavar="TEXT", help="The prefix of all MQTT topics. Default: saleroom/.")
@click.option("--ca-file", metavar="FILE", help="Authorities (PEM) to trust instead of the system's.")
@click.option("--password-file", metavar="FILE", help="File whose first line is the password for the MQTT broker.")
@click.option("--currency", metavar="CODE", help="The currency of the amounts. Default: asked of the house, over HTTP.")
def watch_house(url: str, json: bool, screen: bool, **given: Any) -> int:
    """Watch a house live, or one lot or one sale until it is over; Ctrl-C ends the watch.

    Examples:

        saleroom watch http://127.0.0.1:9000
        saleroom watch https://bids.example k3X9mQ2vTa1_ --json
        saleroom watch https://bids.example/lots/k3X9mQ2vTa1_
        saleroom watch https://bids.example --sale Nq7_sT3wXy0Z
        saleroom watch https://bids.example/catalogues/Nq7_sT3wXy0Z
        saleroom watch mqtt://127.0.0.1 --sale Nq7_sT3wXy0Z --currency EUR
        saleroom watch mqtts://ada@broker.example --password-file password.txt

    After a lost connection the watch reconnects. Over HTTP it misses nothing; over MQTT it names the missed events. If
    standard output is no terminal, it prints a line for each event, and messages about the watch go to standard error.
    """
    from saleroom.tools.watch import command

    return command.run(command.read_options(url, states=not json, **given), json=json, screen=screen)


@cli.command(
    "verify",
    cls=options.ToolCommand,
    epilog="Exit codes: 0 all is in order; 1 it is not, or cannot be read; 2 wrong usage or settings.",
)
@click.argument("ledger", metavar="[FILE|URL]", required=False)
@click.option("--receipt", metavar="TEXT|FILE", help="A receipt, or a file with it or with the answer to a bid.")
@click.option("--key", metavar="FILE|URL", help="The house's keys, for --receipt. Default: asked of the URL's house.")
@click.option(
    "--database",
    "own",
    metavar="[URL]",
    is_flag=False,
    flag_value="",
    help="Check a database, by default that of the settings.",
)
@click.option("--currency", metavar="CODE", help="The currency of the amounts. Default: asked of the URL's house.")
@click.option("--json", is_flag=True, help="Print one JSON object.")
@options.config
def verify_ledger(ledger: str | None, own: str | None, json: bool, config: str | None, **given: str | None) -> int:
    """Verify an auction's ledger without trusting the house, or a whole database.

    Examples:

        saleroom verify sale.ndjson
        saleroom verify https://bids.example/auctions/k3X9mQ2vTa1_ --receipt receipt.txt
        saleroom verify sale.ndjson --receipt receipt.txt --key https://bids.example
        saleroom verify --database

    It checks the chain of hashes and decides every event again by the rules. It prints the winner, the price, and the reason
    for each decision, or the first line at which the ledger breaks. docs/ledger.md explains the checks.
    """
    if own is not None:
        if ledger is not None or any(one is not None for one in given.values()):
            raise click.UsageError("--database takes no ledger and no receipt: a house's own database is checked whole")
        settings = options.read_settings(config, database=own or None)
        from saleroom.admin import verification

        return verification.verify(settings, json=json, say=click.echo)
    if ledger is None:
        raise click.UsageError("nothing to verify: give a ledger's file, an auction's address, or --database")
    from saleroom.tools.verify import command

    return command.run(command.read_options(ledger, **given), json=json)


@cli.command(
    "demo",
    cls=options.ToolCommand,
    epilog="Exit codes: 0 ended by Ctrl-C or SIGTERM; 1 the house could not be shown; 2 wrong usage.",
)
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1.")
@click.option(
    "--port", metavar="NUMBER", type=click.IntRange(0, 65535), help="Default: 9000, or a free one if 9000 is taken."
)
@click.option("--lots", default=20, metavar="NUMBER", type=click.IntRange(1, 200), help="Lots at a time. Default: 20.")
@click.option(
    "--speed", default=1.0, metavar="NUMBER", type=click.FloatRange(0.1, 20), help="2 is twice as fast. Default: 1."
)
@click.option("--seed", default=1, metavar="NUMBER", type=click.IntRange(0), help="Other lots and bidders. Default: 1.")
def demo_house(**given: Any) -> int:
    """Show a furnished house: lots with pictures, people who bid, a lot that closes every minute.

    Examples:

        saleroom demo
        saleroom demo --port 8000 --speed 3
        saleroom demo --host 0.0.0.0 --seed 7

    It runs until Ctrl-C, with its own database in a temporary folder. It ignores your settings and touches no house of yours.
    """
    from saleroom.tools.demo import command

    return command.run(command.DemoOptions(**given))


@cli.group("catalogue", epilog=EXIT_CODES)
def catalogue() -> None:
    """Import the catalogue of a sale into a running house, or export it.

    Examples:

        saleroom catalogue import https://bids.example/sales/k3X9mQ2vTa1_ catalogue.csv --dry-run
        saleroom catalogue export https://bids.example/sales/k3X9mQ2vTa1_ catalogue.xlsx

    Both need the access token of somebody who may edit catalogues. It comes from --token-file, from HOUSE_TOKEN, or from
    a prompt.
    """


def _token(token_file: str | None) -> Secret:
    """Return the access token, or what asks for it. Raises WrongUsage, and UsageError if nobody is there to be asked."""
    from saleroom.tools.catalogue import command

    token = command.read_token(os.environ, token_file)
    if token is None and not sys.stdin.isatty():
        raise click.UsageError("no token: set HOUSE_TOKEN, or give --token-file")
    return token or _prompt("Access token")


_token_file = click.option(
    "--token-file", metavar="FILE", type=click.Path(dir_okay=False), help="File whose first line is the access token."
)


@catalogue.command(
    "import",
    cls=options.ToolCommand,
    epilog="Exit codes: 0 done, or nothing would stop it; 1 there are faults, or it failed; 2 wrong usage.",
)
@click.argument("url", metavar="URL")
@click.argument("sheet", metavar="[FILE]", required=False, type=click.Path(dir_okay=False))
@click.option("--photos", metavar="FILE", type=click.Path(dir_okay=False), help="ZIP of photos, such as 12A-2.jpg.")
@click.option("--dry-run", is_flag=True, help="Change nothing, and say what would change.")
@_token_file
def import_catalogue(url: str, sheet: str | None, photos: str | None, dry_run: bool, token_file: str | None) -> int:
    """Import lots and photos into the sale at URL, from CSV or XLSX and a ZIP.

    Examples:

        saleroom catalogue import https://bids.example/sales/k3X9mQ2vTa1_ catalogue.csv --dry-run
        saleroom catalogue import https://bids.example/sales/k3X9mQ2vTa1_ catalogue.xlsx --photos photos.zip
        saleroom catalogue import https://bids.example/sales/k3X9mQ2vTa1_ --photos photos.zip --token-file token.txt

    Rows find their lots by label, so a second import changes only what differs. With a fault in any row nothing is imported.
    """
    from saleroom.tools.catalogue import command

    return command.run_import(url, sheet, _token(token_file), photos=photos, dry_run=dry_run)


@catalogue.command("export", cls=options.ToolCommand, epilog=EXIT_CODES)
@click.argument("url", metavar="URL")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option(
    "--language", default="en", metavar="en|de", type=click.Choice(["en", "de"]), help="Of headings. Default: en."
)
@click.option("--results", is_flag=True, help="Export prices and winners instead of the catalogue.")
@commands.force_option
@_token_file
def export_catalogue(url: str, file: str, language: str, results: bool, force: bool, token_file: str | None) -> int:
    """Export the catalogue of the sale at URL as CSV or XLSX, by the name of the file.

    Examples:

        saleroom catalogue export https://bids.example/sales/k3X9mQ2vTa1_ catalogue.xlsx
        saleroom catalogue export https://bids.example/sales/k3X9mQ2vTa1_ katalog.csv --language de
        saleroom catalogue export https://bids.example/sales/k3X9mQ2vTa1_ results.csv --results --force
    """
    from saleroom.tools.catalogue import command

    click.echo(command.run_export(url, file, _token(token_file), language=language, results=results, force=force))
    return 0


for _command in (
    *people_commands.COMMANDS,
    notice_commands.notices,
    key_commands.keys,
    *archive_commands.COMMANDS,
    photo_commands.photos,
):
    cli.add_command(_command)


def main(args: list[str] | None = None) -> int:
    """Run one command and return its exit code. Only a bug leaves a traceback.

    If the reader of its output, such as `head`, has seen enough, SIGPIPE ends the process, as it ends other programs of Unix.
    """
    _escape_what_is_lacking()
    cycles.look_rarely()
    broken: BaseException | None
    try:
        code = _run(args)
        sys.stdout.flush()
    except BrokenPipeError as error:
        broken = error
    except SystemExit as ended:
        # rich_click ends every command so whose pipe is broken, be it that of the output or a connection.
        broken = ended.__context__
        if not isinstance(broken, BrokenPipeError):
            raise
    else:
        return code
    if options.has_no_reader(sys.stdout) or options.has_no_reader(sys.stderr):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.raise_signal(signal.SIGPIPE)
    return _failed(options.said(broken), 1)


def _run(args: list[str] | None) -> int:
    try:
        return cli.main(args, prog_name="saleroom", standalone_mode=False) or 0
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "saleroom"
        return _failed(f"{error.format_message()} (see {command} --help)", error.exit_code)
    except click.ClickException as error:
        return _failed(error.format_message(), error.exit_code)
    except click.Abort:
        return _failed("stopped", STOPPED)
    except Exception as error:
        code = options.code_of(error)
        if code is None:
            raise
        return _failed(options.said(error), code)


def _escape_what_is_lacking() -> None:
    """Let a character that the encoding of a standard stream lacks become an escape. Otherwise a list would end at it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _failed(message: str, code: int) -> int:
    for line in message.splitlines():
        click.echo(f"saleroom: {plain(line, LINE_LENGTH_MAX)}", err=True)
    return code
