"""Categories: the house's own names for kinds of lots, by which its lots are found."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from saleroom.kernel.errors import Contradiction, Fault
from saleroom.kernel.texts import hidden_fault, shown_fault

CATEGORIES_MAX = 100
CATEGORY_MAX = 60
"""The most characters of a category's name."""
_TRANSLATION = re.compile(r"([a-z]{2,3})=(.+)")


class Category(Struct, frozen=True):
    """A category. Auctions hold its `name`; `translations` are its names in other languages, by the language's code."""

    name: str
    translations: Mapping[str, str]


def read_categories(texts: Iterable[str]) -> tuple[Category, ...]:
    """Return categories from texts such as `Clocks` or `Clocks; de=Uhren`. Raises ValueError."""
    found = tuple(map(_read, texts))
    if len(found) > CATEGORIES_MAX:
        raise ValueError(f"write at most {CATEGORIES_MAX} categories")
    if len({one.name for one in found}) < len(found):
        raise ValueError("write each category once")
    return found


def shown_name(categories: Iterable[Category], name: str, language: str) -> str:
    """Return the name of a category in a language. One that the house no longer has keeps its name."""
    return next((one.translations.get(language, name) for one in categories if one.name == name), name)


def refuse_unknown(category: str | None, categories: Collection[str], was: str | None = None) -> None:
    """Raise Contradiction, field `category`, unless it is one of these, or none, or what the auction has already."""
    if category is None or category in categories or category == was:
        return
    known = f"must be one of: {', '.join(categories)}" if categories else "must be null: this house has no categories"
    raise Contradiction({"category": [Fault("unknown_category", known)]})


def _read(text: str) -> Category:
    name, *others = (part.strip() for part in text.split(";"))
    translations = [_TRANSLATION.fullmatch(other) for other in others]
    if None in translations:
        raise ValueError(f"{text!r} is no category: write Clocks, or Clocks; de=Uhren")
    found = Category(name, {match[1]: match[2].strip() for match in translations if match is not None})
    for one in (found.name, *found.translations.values()):
        if not 1 <= len(one) <= CATEGORY_MAX or hidden_fault(one, lines=False) or shown_fault(one):
            raise ValueError(f"write names of 1 to {CATEGORY_MAX} characters, all of which can be seen")
    return found
