"""A terminal for a command: what it shows, and answers to its prompts."""

import io
import os
import re
import select
import termios
from typing import NamedTuple

from tests.patience import SECONDS_MAX
from tests.process import wait_until


class CommandResult(NamedTuple):
    """The exit code and the output of one command."""

    code: int
    out: str
    err: str


class MemoryTerminal(io.StringIO):
    """A terminal in memory."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def shown(terminal: int, pattern: str | None = None) -> str:
    """Return a terminal's output until it matches `pattern`, colours aside; without a pattern, until the command closes it."""
    text = ""
    while pattern is None or not re.search(pattern, re.sub(r"\x1b\[[0-9;]*m", "", text)):
        assert select.select([terminal], [], [], SECONDS_MAX)[0], f"nothing more is shown: {text}"
        try:
            text += os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # Linux reports the closed other end as an error
            assert pattern is None, text
            break
    return text


def answer(terminal: int, prompt: str, secret: str) -> str:
    """Enter a secret after `prompt`, once the terminal shows no input; return its output so far."""
    text = shown(terminal, prompt)
    wait_until(lambda: not termios.tcgetattr(terminal)[3] & termios.ECHO)
    os.write(terminal, f"{secret}\n".encode())
    return text
