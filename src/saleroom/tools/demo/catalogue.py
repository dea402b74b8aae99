"""What there is to sell: lots as a specialist describes them, in an order of their own for each seed, without end."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from saleroom.tools.demo.canvas import colour
from saleroom.tools.demo.pictures import THINGS, picture
from saleroom.tools.demo.vessels import Colours

FILE = Path(__file__).with_name("catalogue.toml")


@dataclass(frozen=True)
class Piece:
    """A thing for sale. `estimate` is what it may bring, from and to; `seed` makes its pictures its own."""

    thing: str
    name: str
    description: str
    estimate: tuple[int, int]
    colours: Colours
    seed: int

    def picture(self, view: int) -> bytes:
        """Draw it: one of VIEWS, from 0, as JPEG."""
        return picture(self.thing, self.colours, self.seed, view)


def pieces(seed: int) -> Iterator[Piece]:
    """Yield pieces without end: the whole catalogue, then again with other pictures. The same seed gives the same ones.

    No two of the same kind come close together, so that a page of a catalogue looks like one.
    """
    read = tomllib.loads(FILE.read_text("utf-8"))["lot"]
    chance = Random(seed)
    rounds = 0
    while True:
        order = list(THINGS)
        chance.shuffle(order)
        for turn in range(max(sum(lot["thing"] == thing for lot in read) for thing in THINGS)):
            for thing in order:
                of_kind = [lot for lot in read if lot["thing"] == thing]
                if turn < len(of_kind):
                    yield _piece(of_kind[turn], seed * 1000 + rounds)
        rounds += 1


def _piece(lot: dict[str, object], seed: int) -> Piece:
    thing, name, description, estimate = lot["thing"], lot["name"], lot["description"], lot["estimate"]
    one, other, third = (colour(text) for text in str(lot["colours"]).split())
    assert isinstance(estimate, list), "the file says so"
    low, high = estimate
    return Piece(str(thing), str(name), str(description).strip(), (low, high), (one, other, third), seed)
