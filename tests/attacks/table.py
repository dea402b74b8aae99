"""What an attack is, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.attacks.target import ON, Target


@dataclass(frozen=True)
class Attack:
    """An attack, by the row of the list of faults that it was first seen in.

    `run` returns a sentence that says what was found, or None where the house held.
    """

    row: str
    name: str
    run: Callable[[Target], str | None]
    on: tuple[str, ...] = ON
