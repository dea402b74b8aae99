"""The demo's catalogue: lots as a specialist describes them (catalogue.toml), with their pictures (pictures/).

`python -m scripts.demo_pictures` draws the pictures again.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

FOLDER = Path(__file__).parent
VIEWS = ("whole", "detail", "scale")
"""The pictures of each piece: all of it, a part from near, and beside a rule."""


@dataclass(frozen=True)
class Piece:
    """A thing for sale. `estimate` is the price range expected; `number` counts the pieces of the same kind from 1."""

    thing: str
    number: int
    name: str
    description: str
    estimate: tuple[int, int]
    colours: str

    def file(self, view: int) -> Path:
        """Return the file of one of VIEWS."""
        return FOLDER / "pictures" / f"{self.thing}-{self.number}-{VIEWS[view]}.webp"

    def picture(self, view: int) -> bytes:
        """Return one of VIEWS as WebP."""
        return self.file(view).read_bytes()


def catalogue() -> list[Piece]:
    """Return all pieces in the order of catalogue.toml."""
    counts: Counter[str] = Counter()
    found = []
    for lot in tomllib.loads((FOLDER / "catalogue.toml").read_text("utf-8"))["lot"]:
        counts[lot["thing"]] += 1
        low, high = lot["estimate"]
        description = lot["description"].strip()
        found.append(Piece(lot["thing"], counts[lot["thing"]], lot["name"], description, (low, high), lot["colours"]))
    return found


def pieces(seed: int) -> Iterator[Piece]:
    """Yield pieces without end: the whole catalogue, then all of it again. The same seed gives the same order.

    Two pieces of the same kind are never close together, so that a page of lots shows many kinds.
    """
    found = catalogue()
    chance = Random(seed)
    while True:
        kinds = list(dict.fromkeys(piece.thing for piece in found))
        chance.shuffle(kinds)
        yield from sorted(found, key=lambda piece: (piece.number, kinds.index(piece.thing)))
