"""Paper of a sale: its kinds, whom each is for, the forms of labels and cards, and what a label says (docs/paper.md)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from saleroom.accounts.domain.rights import Right

NAME_ON_LABEL_MAX = 120
"""A longer name ends with an ellipsis on a label."""
DIGEST_PATTERN = "[0-9a-f]{32}"
SKIP_MAX = 23
"""How many stickers of the first sheet may be gone."""
_RUN = re.compile(r"[^\s\u00ad\u200b-]{25,}")
"""A run of characters that no line breaks at."""
_PIECE = 12
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class PaperKind(StrEnum):
    """What can be printed of a sale."""

    CATALOGUE = "catalogue"
    LABELS = "labels"
    CARDS = "bid-cards"
    RUN_SHEET = "run-sheet"
    CLERK_SHEET = "clerk-sheet"
    RESULTS = "results"


NEEDED: Mapping[PaperKind, Right | None] = {
    PaperKind.CATALOGUE: None,
    PaperKind.LABELS: Right.CATALOGUE,
    PaperKind.CARDS: Right.ADMIT_BIDDERS,
    PaperKind.RUN_SHEET: Right.RUN_SALE,
    PaperKind.CLERK_SHEET: Right.RUN_SALE,
    PaperKind.RESULTS: None,
}
"""The right that each kind needs; None if anyone may have it of a sale that they may see. The buyers need one of their own."""
BUYERS_NEED = Right.RUN_SALE


class LabelForm(Struct, frozen=True):
    """A label in millimetres. `columns` is how many stand beside each other on a sheet of A4, 0 for a roll.

    `left` and `top` are the margins of the sheet, `gap` the space between two columns, and `inset` that around what is printed.
    """

    width: float
    height: float
    inset: float
    columns: int = 0
    left: float = 0
    top: float = 0
    gap: float = 0


LABEL_FORMS: Mapping[str, LabelForm] = {
    "a4-3x8": LabelForm(70, 37, 4, columns=3, top=0.5),
    "a4-2x7": LabelForm(99.1, 38.1, 4, columns=2, left=4.65, top=15.1, gap=2.5),
    "thermal-62x29": LabelForm(62, 29, 2),
    "thermal-57x32": LabelForm(57, 32, 2),
}
LAYOUTS: Mapping[PaperKind, tuple[str, ...]] = {
    PaperKind.CATALOGUE: ("photos", "words"),
    PaperKind.LABELS: tuple(LABEL_FORMS),
    PaperKind.CARDS: ("a4", "a5"),
}
"""The layouts of the kinds that have several; the first is meant if nobody says."""


def label_digest(number: str, name: str, sale: str, address: str) -> str:
    """Return the digest of what the label of a lot shows: it is printed again where this has changed."""
    shown = "\0".join((number, on_label(name), sale, address))
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def on_label(name: str) -> str:
    """Return the name of a lot as long as a label bears it."""
    return name if len(name) <= NAME_ON_LABEL_MAX else f"{name[: NAME_ON_LABEL_MAX - 1].rstrip()}…"


def printable(text: str) -> str:
    """Return a text that keeps its place on a page: long words can be broken, and no mark turns the direction of others."""
    return _RUN.sub(lambda run: _broken(run[0]), _DIRECTION.sub("", text))


def _broken(word: str) -> str:
    return "\u200b".join(word[start : start + _PIECE] for start in range(0, len(word), _PIECE))
