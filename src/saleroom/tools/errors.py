"""Why a tool cannot do its work, in words for a terminal."""

from __future__ import annotations


class WrongUsage(Exception):
    """An argument cannot be used. The message names it, and never repeats a password."""


class ToolError(Exception):
    """The work cannot be done. The message says why and what would help."""


class Stopped(ToolError):
    """Ctrl-C or SIGTERM ended the work before it was done. The message says what is left."""


class NoAnswer(ToolError):
    """A house or a broker gave no answer. The message says why in a few words; `kind` is one word for statistics."""

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.kind = kind


def not_a_house(url: str) -> ToolError:
    """Return the error for an address at which another server answers."""
    return ToolError(f"{url} answers, but not as an auction house does; give the address of its home page")
