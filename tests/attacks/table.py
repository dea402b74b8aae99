"""An attack and its result."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.attacks.target import ON, Target


@dataclass(frozen=True)
class Attack:
    """An attack, by its row in the list of faults.

    `run` returns a sentence that says what was found, or None if the house held.
    """

    row: str
    name: str
    run: Callable[[Target], str | None]
    on: tuple[str, ...] = ON
