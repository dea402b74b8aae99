"""The console of rich, without its own way to end a program."""

from __future__ import annotations

import errno
import os

from rich.console import Console


class ToolConsole(Console):
    """A console that leaves a closed output to its command. Rich exits with 1, and closes standard output."""

    def on_broken_pipe(self) -> None:
        """Raises BrokenPipeError."""
        self.quiet = True
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None
