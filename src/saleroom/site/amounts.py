"""Money as people write it: from text in a Babel locale and a currency to an exact amount, and into a field."""

from __future__ import annotations

import re
from decimal import Decimal

from babel import Locale
from babel.numbers import (
    format_decimal,
    get_currency_symbol,
    get_decimal_symbol,
    get_group_symbol,
)

from saleroom.kernel.currency import decimals, shown
from saleroom.kernel.errors import Fault
from saleroom.kernel.money import parse_money

TEXT_MAX = 64
"""A longer text is not an amount: 20 digits with everything around them are shorter."""
_SPACE = "[ \u00a0\u2009\u202f]"
"""Spaces between thousands, in every language; some are thin or do not break."""
_APOSTROPHE = "['\u2019]"
_MARKS = re.compile("[\u061c\u200e\u200f]")
"""Marks of direction, which some languages put around an amount."""
_DASHES = "--?|[\u2010-\u2015\u2212]"
"""Dashes in place of the decimals, as in `300,-` and `300.--`: a whole amount."""
_GROUPED = re.compile("([1-9][0-9]{0,2})[.,]([0-9]{3})")
"""A number that has thousands in some notation, and in another one three decimals."""
_EXAMPLE = Decimal("1234.5")


def write_bare(amount: Decimal, currency: str, locale: Locale) -> str:
    """Return an amount as it stands in a field: without currency and separators of thousands."""
    return str(shown(amount, currency)).replace(".", get_decimal_symbol(locale))


def example(currency: str, locale: Locale) -> str:
    """Return an example of an amount in a field, with thousands and the currency's decimals."""
    places = decimals(currency)
    return format_decimal(_EXAMPLE if places else int(_EXAMPLE), f"#,##0.{'0' * places}", locale)


def read(text: str, currency: str, locale: Locale) -> Decimal | Fault:
    """Return the amount of `text` in this language, with or without the currency; otherwise the fault in it.

    Thousands are all grouped or not grouped at all. Dashes may stand in place of the decimals. Another language's notation
    is refused, never guessed.
    """
    number = _number(text, currency, locale) if len(text) <= TEXT_MAX else ""
    groups = "|".join(_grouped(mark, *locale.decimal_formats[None].grouping) for mark in _marks(locale))
    decimal = re.escape(get_decimal_symbol(locale))
    match = re.fullmatch(f"(-?)((?:{groups})|[0-9]+)(?:{decimal}([0-9]+)|(?:{decimal}|[.])(?:{_DASHES}))?", number)
    if match is None:
        # This makes the fault that the rules of money have for text that is not an amount.
        return parse_money("")
    sign, whole, fraction = match.groups()
    return parse_money(sign + re.sub("[^0-9]", "", whole) + (f".{fraction}" if fraction else ""))


def notation(currency: str, locale: Locale) -> dict[str, str | int | list[str]]:
    """Return how amounts are written in a language, for scripts that read them as `read` does."""
    own = get_group_symbol(locale)
    groups = {"\u00a0", "\u2009", "\u202f"} | ({"'", "\u2019"} if re.fullmatch(_APOSTROPHE, own) else {own})
    signs = {currency, get_currency_symbol(currency, locale), get_currency_symbol(currency, "en")}
    return {
        "decimal": get_decimal_symbol(locale),
        "decimals": decimals(currency),
        "groups": sorted(groups),
        "signs": sorted(signs),
    }


def swapped(text: str) -> str:
    """Return `text` with point and comma exchanged: the likely meaning of another language's notation."""
    return text.translate({ord("."): ",", ord(","): "."})


def in_thousands(text: str, amount: Decimal, currency: str, locale: Locale) -> Decimal | None:
    """Return what `text`, which is `amount` here, is in a notation where its decimals are thousands, such as 12,500 in German.

    None if that cannot be meant: no currency of three decimals has such a doubt.
    """
    grouped = None if decimals(currency) == 3 else _GROUPED.fullmatch(_number(text, currency, locale))
    meant = None if grouped is None else parse_money("".join(grouped.groups()))
    return meant if isinstance(meant, Decimal) and meant > amount else None


def _number(text: str, currency: str, locale: Locale) -> str:
    """Return `text` without the currency, which may stand on either side as a code or a sign."""
    text = _MARKS.sub("", text).strip()
    names = {currency, get_currency_symbol(currency, locale), get_currency_symbol(currency, "en")}
    signs = "|".join(re.escape(_MARKS.sub("", name)) for name in sorted(names))
    return re.sub(f"^(?:{signs}){_SPACE}*|{_SPACE}*(?:{signs})$", "", text, count=1, flags=re.IGNORECASE)


def _marks(locale: Locale) -> set[str]:
    """Return the patterns of the separators of thousands."""
    own = get_group_symbol(locale)
    return {_SPACE, _APOSTROPHE if re.fullmatch(_APOSTROPHE, own) else re.escape(own)}


def _grouped(mark: str, last: int, others: int) -> str:
    """Return the pattern of a whole number in groups, such as 12.345.678, or 1,23,45,678 if `others` is 2."""
    return f"[0-9]{{1,{others}}}(?:{mark}[0-9]{{{others}}})*{mark}[0-9]{{{last}}}"
