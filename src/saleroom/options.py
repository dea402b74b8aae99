"""What the commands of the command line share: flags for settings, and how these are read.

It is imported for every command, `--version` too: heavy modules only where they are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from saleroom.settings import Settings

EXIT_CODES = "Exit codes: 0 done, 1 refused or failed, 2 wrong usage or settings."


class Command(click.RichCommand):
    """A command whose options take their help from the table of settings, and only when it is asked for."""

    def get_help(self, ctx: click.Context) -> str:
        """Fill in what each option's setting says of itself, then render."""
        from saleroom.settings import explain

        for option in self.params:
            if isinstance(option, click.Option) and option.help is None and option.name is not None:
                option.help = explain(option.name)
        return super().get_help(ctx)


def setting(name: str, metavar: str) -> Callable[[Any], Any]:
    """A flag for the setting `name`; the settings check its value."""
    return click.option(f"--{name}", name, metavar=metavar)


database = setting("database", "URL")
config = click.option("--config", metavar="FILE", help="TOML file with settings; docs/settings.md lists them.")


def read_settings(config: str | None, **flags: str | None) -> Settings:
    """Read all settings. Raises SettingsError."""
    from saleroom.settings import load

    return load(flags, os.environ, config)
