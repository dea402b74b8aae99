"""The parts that all commands share: options for settings, and errors in words.

Every command imports this module, even `--version`. Heavy modules are therefore imported only by the function that uses them.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

import rich_click as click

if TYPE_CHECKING:
    from saleroom.settings import Settings

STOPPED = 130
"""The exit code after Ctrl-C, by which a shell knows it, and after SIGTERM."""
EXIT_CODES = "Exit codes: 0 done, 1 refused or failed, 2 wrong usage or settings, 130 stopped."


class _StoppedTool(click.ClickException):
    """A tool was stopped by a signal, and has said what is left."""

    exit_code = STOPPED


def confirm(question: str) -> None:
    """Ask whether to go on. Raises Abort for no, and ClickException if nobody is there to answer, as in a job of cron."""
    try:
        click.confirm(question, abort=True)
    except click.Abort as error:
        if isinstance(error.__context__, EOFError):
            click.echo()
            raise click.ClickException("nobody answers; nothing was done; --yes goes on without asking") from None
        raise


class ToolCommand(click.RichCommand):
    """A command of `tools`, whose errors become messages and exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises UsageError for wrong usage, and ClickException for a failure."""
        from saleroom.tools.errors import Stopped, ToolError, WrongUsage

        try:
            with _sigterm_as_ctrl_c():
                return super().invoke(ctx)
        except WrongUsage as error:
            raise click.UsageError(str(error), ctx) from None
        except Stopped as error:
            raise _StoppedTool(str(error)) from None
        except ToolError as error:
            raise click.ClickException(str(error)) from None


class Command(click.RichCommand):
    """A command whose options take their help from the table of settings, when help is asked for."""

    def get_help(self, ctx: click.Context) -> str:
        """Fill in the help of each option from its setting, then render."""
        from saleroom.settings import explain

        for option in self.params:
            if isinstance(option, click.Option) and option.help is None and option.name is not None:
                option.help = explain(option.name)
        return super().get_help(ctx)


def setting(name: str, metavar: str) -> Callable[[Any], Any]:
    """Return an option for the setting `name`, whose value the settings check."""
    return click.option(f"--{name}", name, metavar=metavar)


database = setting("database", "URL")
config = click.option("--config", metavar="FILE", help="TOML file with settings; docs/settings.md lists them.")


def house(command: Callable[..., Any]) -> Any:
    """Give a command the options for its house, and their settings in place of the options."""

    @database
    @config
    @wraps(command)
    def with_settings(config: str | None, database: str | None, **given: Any) -> Any:
        with _sigterm_as_ctrl_c():
            return command(settings=read_settings(config, database=database), **given)

    return with_settings


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, so that nothing of a copy or an export is left behind."""
    if threading.current_thread() is not threading.main_thread():  # only that one may say what a signal does
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    """End by the handler of Ctrl-C, which asyncio may have set. Programs that a shell starts by `&` ignore it."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


def read_settings(config: str | None, **flags: str | None) -> Settings:
    """Read all settings. Raises SettingsError."""
    from saleroom.settings import load

    return load(flags, os.environ, config)


def has_no_reader(stream: TextIO) -> bool:
    """Return whether a stream is a pipe that is closed at its other end."""
    reader = select.poll()
    reader.register(stream.fileno(), 0)
    return bool(reader.poll(0))


def code_of(error: Exception) -> int | None:
    """Return the exit code for an error that is no bug."""
    from saleroom.kernel.errors import Refusal
    from saleroom.settings import SettingsError

    if isinstance(error, SettingsError | UnicodeEncodeError):
        return 2
    return 1 if isinstance(error, Refusal | OSError) else None


def said(error: BaseException) -> str:
    """Return the words of a refusal, or what is wrong with which file or text."""
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object[error.start : error.end]!a} is not text in UTF-8; write it as such"
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    if error.filename is None:
        return error.strerror
    return f"{error.filename}: {error.strerror}"
