"""The languages of the pages: which one a reader gets, its words, and how it writes money and numbers.

A language is a folder of `locale/` with a catalogue in it (`messages.po`); English is what the templates say themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from io import BytesIO
from pathlib import Path

from babel import Locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_currency, get_currency_precision
from babel.support import NullTranslations, Translations
from starlette.requests import HTTPConnection

from saleroom.doors.guard import cookie, header

FOLDER = Path(__file__).parent / "locale"
COOKIE = "saleroom_language"
SOURCE = "en"
"""The language of the templates."""


def N_(words: str) -> str:  # noqa: N802  # the name that gettext's tools know
    """Mark words for the catalogues; they are translated where they are shown."""
    return words


class Language:
    """One language with the house's currency."""

    def __init__(self, tag: str, translations: NullTranslations, currency: str) -> None:
        self.tag = tag
        self.locale = Locale.parse(tag, sep="-")
        self.translations = translations
        self.currency = currency

    @property
    def name(self) -> str:
        """What its speakers call it."""
        return (self.locale.get_display_name(self.locale) or self.tag).capitalize()

    def gettext(self, words: str, **values: object) -> str:
        """Return `words` in this language, with `values` put in for `%(name)s`."""
        said = str(self.translations.ugettext(words))
        return said % values if values else said

    def ngettext(self, one: str, many: str, count: int, **values: object) -> str:
        """Return the words that go with `count` in this language; `%(num)s` is the count."""
        return str(self.translations.ungettext(one, many, count)) % {"num": count, **values}

    def money(self, amount: str | Decimal) -> str:
        """Return a wire amount as readers of this language write the house's currency; never rounded.

        The currency's own decimals are always there, the others only where they are not nought.
        """
        exact = Decimal(amount)
        decimals = get_currency_precision(self.currency)
        exact = exact.normalize() if exact != exact.to_integral_value() else exact.quantize(Decimal(1))
        places = -int(exact.as_tuple().exponent)
        shown = exact.quantize(Decimal(1).scaleb(-max(places, decimals)))
        return format_currency(shown, self.currency, locale=self.locale, decimal_quantization=False)


class Languages:
    """All languages of a house."""

    def __init__(self, currency: str) -> None:
        self._by_tag: Mapping[str, Language] = {SOURCE: Language(SOURCE, NullTranslations(), currency)} | {
            file.parent.name: Language(file.parent.name, _catalogue(file), currency)
            for file in sorted(FOLDER.glob("*/messages.po"))
        }

    def __iter__(self) -> Iterator[Language]:
        return iter(self._by_tag.values())

    def of(self, request: HTTPConnection) -> Language:
        """Return the language that the reader chose, else the first one that the browser asks for and the house has."""
        chosen = self._by_tag.get(cookie(request.scope, COOKIE) or "")
        if chosen is not None:
            return chosen
        wanted = [
            part.partition(";")[0].strip() for part in (header(request.scope, b"accept-language") or "").split(",")
        ]
        for tag in wanted:
            found = self._by_tag.get(tag) or self._by_tag.get(tag.partition("-")[0])
            if found is not None:
                return found
        return self._by_tag[SOURCE]


def _catalogue(file: Path) -> NullTranslations:
    with file.open("rb") as opened:
        catalogue = read_po(opened, locale=file.parent.name)
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return Translations(compiled)
