"""The fields of the editor: what is typed, as the API takes it, and what is stored, as the fields have it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from saleroom.bidding.domain.increments import DEFAULT_LADDER, TierView
from saleroom.kernel.errors import Fault
from saleroom.sales.domain.views import LotView
from saleroom.site.language import Language
from saleroom.site.local_times import read_local, write_local

_AMOUNTS = ("limitDefault", "startingPrice", "reservePrice", "estimateFrom", "estimateTo", "goal")
_MAY_BE_EMPTY = frozenset({"description", "venue", "contact"})
_NUMBERS = ("spacing",)
_BETWEEN = re.compile(r"[\s/;]+")
"""What stands between two levels: a comma may be in an amount."""
_STEPS = re.compile(r"[/;]")
_STEPS_FORMAT = Fault("steps_format", "must be one step, or steps by price, such as 0: 5 / 100: 10")


def value_of(language: Language, name: str, text: str) -> str | int | list[str] | list[TierView] | Fault | None:
    """Return the value of a field as the API takes it; None for an empty one that may be left out."""
    if name in _MAY_BE_EMPTY:
        return text.replace("\r\n", "\n")
    text = text.strip()
    if name == "levels":
        amounts = [language.parse_money(one) for one in _BETWEEN.split(text) if one]
        fault = next((one for one in amounts if isinstance(one, Fault)), None)
        return fault or [str(one) for one in amounts]
    if name == "increment":
        return _increments(language, text)
    if not text:
        return None
    if name in _AMOUNTS:
        amount = language.parse_money(text)
        return amount if isinstance(amount, Fault) else str(amount)
    return int(text) if name in _NUMBERS and text.isascii() and text.isdigit() and len(text) < 9 else text


def doubtful(language: Language, sent: Mapping[str, str]) -> list[str]:
    """Return the amounts of a form, as they were typed, that may mean thousands."""
    texts = [sent[name] for name in _AMOUNTS if name in sent]
    texts += _BETWEEN.split(sent.get("levels", ""))
    texts += re.split("[:/;]", sent.get("increment", ""))
    return [text.strip() for text in texts if doubts(language, [text])]


def doubts(language: Language, texts: Iterable[str]) -> list[str]:
    """Return how the amounts in `texts` were read, of those that may mean thousands."""
    read = [(text, language.parse_money(text)) for text in texts]
    said = [language.doubt(text, amount) for text, amount in read if not isinstance(amount, Fault)]
    return [one for one in said if one is not None]


def _increments(language: Language, text: str) -> str | list[TierView] | Fault:
    """Return the increments in a field as the API takes them: one step, or steps by price; the usual ones if it is empty."""
    if not text:
        return DEFAULT_LADDER.as_json
    tiers = list[TierView]()
    for part in _STEPS.split(text):
        start, colon, step = part.rpartition(":")
        amounts = [language.parse_money(one.strip()) for one in (start if colon else "0", step)]
        fault = next((one for one in amounts if isinstance(one, Fault)), None)
        if fault is not None:
            return fault
        if tiers and not colon:
            return _STEPS_FORMAT
        tiers.append(TierView(*map(str, amounts)))
    return tiers


def increments_text(language: Language, increment: str | Sequence[TierView]) -> str:
    """Return the increments of a sale as the field has them."""
    if isinstance(increment, str):
        return language.amount(increment)
    return " / ".join(f"{language.amount(tier.start)}: {language.amount(tier.step)}" for tier in increment)


def instant_of(text: str, zone: str, known: str) -> datetime | Fault | None:
    """Return the instant of a field in a time zone, filled in from the instant `known`; None for an empty one."""
    if not text.strip():
        return None
    found = read_local(text.strip(), zone, known)
    return found if isinstance(found, Fault) else found.at


def local_text(at: str | None) -> str:
    """Return an instant in UTC as its field has it."""
    return "" if at is None else write_local(datetime.fromisoformat(at))


def amount_text(language: Language, amount: str | None) -> str:
    """Return an amount as its field has it, in the reader's language."""
    return "" if amount is None else language.amount(amount)


def texts_of(language: Language, lot: LotView) -> dict[str, str]:
    """Return the fields of a lot as its form has them."""
    known: Mapping[str, Any] = {
        "label": lot.label,
        "name": lot.name,
        "description": lot.description,
        "category": lot.category,
        "consignor": lot.consignor,
        "taxScheme": lot.tax_scheme,
    }
    amounts = {
        "startingPrice": lot.starting_price,
        "reservePrice": lot.reserve_price,
        "estimateFrom": lot.estimate_from,
        "estimateTo": lot.estimate_to,
    }
    need = None if lot.need is None else [amount_text(language, level) for level in lot.need.levels]
    amounts["goal"] = None if lot.need is None else lot.need.goal
    known = {**known, "levels": None if need is None else " / ".join(need)}
    texts = {name: value if isinstance(value, str) else "" for name, value in known.items()}
    return texts | {
        name: amount_text(language, value if isinstance(value, str) else None) for name, value in amounts.items()
    }
