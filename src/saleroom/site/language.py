"""The languages of the pages: which one a reader gets, its words, and how it writes money, numbers and instants.

A language is a folder of `locale/` with a catalogue (`messages.po`). The templates themselves are in English. The words come
from the catalogue. If the browser names a region, amounts and instants are written as there: `de-CH` gets German words and
Swiss amounts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from babel import Locale
from babel.dates import format_date, format_time
from babel.localedata import normalize_locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from babel.support import NullTranslations, Translations
from babel.units import format_unit
from starlette.requests import HTTPConnection

from saleroom.http.requests import cookie, header
from saleroom.kernel.currency import with_currency
from saleroom.kernel.errors import Fault
from saleroom.site import amounts

FOLDER = Path(__file__).parent / "locale"
COOKIE = "saleroom_language"
COOKIE_SECONDS = 365 * 86_400
SOURCE = "en"
"""The language of the templates."""
_REGIONS = {SOURCE: "en-GB"}
"""The region of a language if the browser names none: English with the 24-hour clock."""
RANGES_MAX = 50
"""How many of a browser's languages are looked at."""
WRITTEN_MAX = 4096
"""Cached amounts, instants and durations. Without the cache, CLDR's rules take half of the time of a page."""
_RANGE = re.compile(r"([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,8}|\*)[ \t]*(?:;[ \t]*[Qq]=([01](?:\.[0-9]{0,3})?))?")
"""A language with its quality (RFC 9110, 12.4.2 and 12.5.4)."""
_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_SIZES = ((2**30, "gigabyte"), (2**20, "megabyte"), (2**10, "kilobyte"), (1, "byte"))


def N_(words: str) -> str:  # noqa: N802  # the name that gettext's tools know
    """Mark words for the catalogues. They are translated when they are shown."""
    return words


MONEY_FAULTS = {
    "money_format": N_("Enter an amount such as %(example)s."),
    "money_negative": N_("An amount cannot be below zero."),
    "money_decimals": N_("An amount has three decimals at most."),
    "money_digits": N_("An amount has seventeen digits before the decimals at most."),
}
"""The sentences about a faulty amount, by the code of the fault."""
_MEANT = N_("Did you mean %(meant)s? Amounts are written like %(example)s here.")
_DOUBT = N_("%(text)s is read as %(amount)s. If you mean %(meant)s, write %(right)s.")
_UNSURE = N_("%(text)s may mean %(amount)s or %(meant)s. Write %(exact)s or %(right)s.")


class TranslatedFault(Fault):
    """A fault whose message is a whole sentence in the reader's language."""

    __slots__ = ()


class Language:
    """One language as it is written in one region, with the house's currency.

    `tag` names both (BCP 47, as `de-CH`); `catalogue` is the tag of the words alone (`de`).
    """

    def __init__(self, catalogue: str, locale: Locale, translations: NullTranslations, currency: str) -> None:
        self.catalogue = catalogue
        self.tag = str(locale).replace("_", "-")
        self.locale = locale
        self.translations = translations
        self.currency = currency
        self.right_to_left = locale.character_order == "right-to-left"

    @property
    def name(self) -> str:
        """The name of the language in the language itself."""
        own = Locale.parse(self.catalogue, sep="-")
        return (own.get_display_name(own) or self.catalogue).capitalize()

    def gettext(self, words: str, **values: object) -> str:
        """Return `words` in this language, with `values` put in for `%(name)s`."""
        translation = str(self.translations.ugettext(words))
        return translation % values if values else translation

    def ngettext(self, one: str, many: str, count: int, **values: object) -> str:
        """Return the singular or plural for `count` in this language; `%(num)s` is the count."""
        return str(self.translations.ungettext(one, many, count)) % {"num": count, **values}

    def number(self, number: int | Decimal) -> str:
        """Return a number as this language writes it, with separators of thousands; never rounded."""
        return format_decimal(number, locale=self.locale, decimal_quantization=False)

    def percent(self, share: str | Decimal) -> str:
        """Return a wire amount of per cent as this language writes it, without zeros at the end; it stays on one line."""
        return f"{self.number(Decimal(share).normalize())}\u00a0%"

    def money(self, amount: str | Decimal) -> str:
        """Return a wire amount as readers of this language write the house's currency; never rounded.

        The currency's own decimals are always shown, further ones only if they are not zero.
        """
        return _money(self, Decimal(amount))

    def money_in(self, amount: str | Decimal, currency: str) -> str:
        """Return a wire amount in any currency, as `money` writes that of the house."""
        return with_currency(Decimal(amount), currency, self.locale)

    def amount(self, amount: str | Decimal) -> str:
        """Return a wire amount as it stands in a field: without currency and separators of thousands."""
        return amounts.write_bare(Decimal(amount), self.currency, self.locale)

    def parse_money(self, text: str) -> Decimal | Fault:
        """Return the exact amount of `text`, otherwise the fault in it; both in this language.

        The currency may stand beside the amount. Another language's notation is refused, with a suggestion if there is a
        likely one; the amount is never guessed.
        """
        found = amounts.read(text, self.currency, self.locale)
        if isinstance(found, Decimal):
            return found
        if not text.strip():
            return TranslatedFault("required", self.gettext("Please fill this in."))
        meant = amounts.read(amounts.swapped(text), self.currency, self.locale)
        if found.code == "money_format" and isinstance(meant, Decimal):
            words = self.gettext(_MEANT, meant=self.amount(meant), example=self.example)
        else:
            words = self.gettext(MONEY_FAULTS[found.code]) % {"example": self.example}
        return TranslatedFault(found.code, words)

    def doubt(self, text: str, amount: Decimal) -> str | None:
        """Return how the `text` of an amount was read, if its writer may have meant thousands; otherwise None."""
        meant = amounts.in_thousands(text, amount, self.currency, self.locale)
        if meant is None:
            return None
        facts = {
            "text": text.strip(),
            "amount": self.money(amount),
            "meant": self.money(meant),
            "right": self.amount(meant),
        }
        return self.gettext(_DOUBT, **facts)

    def parse_sure_money(self, text: str) -> Decimal | Fault:
        """Return what `parse_money` does, but a fault if the writer may have meant thousands: for a form that acts at once."""
        amount = self.parse_money(text)
        meant = None if isinstance(amount, Fault) else amounts.in_thousands(text, amount, self.currency, self.locale)
        if isinstance(amount, Fault) or meant is None:
            return amount
        exact, right = self.amount(amount), self.amount(meant)
        if self.doubt(exact, amount) is not None:
            return TranslatedFault("money_doubt", self.gettext(_MEANT, meant=right, example=self.example))
        facts = {"text": text.strip(), "amount": self.money(amount), "meant": self.money(meant)}
        return TranslatedFault("money_doubt", self.gettext(_UNSURE, **facts, exact=exact, right=right))

    @property
    def example(self) -> str:
        """How an amount is written in a field, such as `1.234,50`."""
        return amounts.example(self.currency, self.locale)

    def when(self, at: datetime | str) -> tuple[str, ...]:
        """Return the date and the time of an instant (or its text on the wire) in UTC, to the second, with the zone."""
        return _when(self, datetime.fromisoformat(at) if isinstance(at, str) else at)

    def planned(self, at: datetime | str) -> tuple[str, ...]:
        """Return an instant that people have chosen, as `when` does, but with seconds only if they are not zero."""
        return _when(self, datetime.fromisoformat(at) if isinstance(at, str) else at, planned=True)

    def day(self, on: str) -> str:
        """Return a day, from its text on the wire."""
        return format_date(date.fromisoformat(on), "medium", locale=self.locale)

    def duration(self, seconds: int) -> str:
        """Return seconds in the largest unit that is exact, such as `2 minutes` or `90 seconds`."""
        return _duration(self, seconds)

    def size(self, count: int) -> str:
        """Return a number of bytes in the largest unit that it fills, rounded down because it is a limit."""
        size, unit = next((row for row in _SIZES if count >= row[0]), _SIZES[-1])
        return format_unit(count // size, f"digital-{unit}", "short", locale=self.locale)


class Languages:
    """All languages of a house."""

    def __init__(self, currency: str, folder: Path = FOLDER) -> None:
        """Read the catalogues below `folder`."""
        self.currency = currency
        found = {file.parent.name.replace("_", "-"): _catalogue(file) for file in sorted(folder.glob("*/messages.po"))}
        self._catalogues: Mapping[str, NullTranslations] = {SOURCE: NullTranslations()} | found
        self._made: dict[tuple[str, str], Language] = {}

    def __iter__(self) -> Iterator[Language]:
        return (self._language(tag, tag) for tag in self._catalogues)

    def __contains__(self, tag: str) -> bool:
        return tag in self._catalogues

    def of(self, request: HTTPConnection) -> Language:
        """Return the language that the reader chose, otherwise the one that the browser prefers of those of the house."""
        return self.negotiate(header(request.scope, b"accept-language") or "", cookie(request.scope, COOKIE))

    def negotiate(self, accepted: str, chosen: str | None = None) -> Language:
        """Return the `chosen` language, otherwise the best for a field `Accept-Language`, otherwise English.

        The region comes from the browser in any case.
        """
        wanted = self._wanted(accepted)
        first = wanted[0][0] if wanted else SOURCE
        catalogue = chosen if chosen is not None and chosen in self else first
        return self._language(catalogue, next((tag for found, tag in wanted if found == catalogue), catalogue))

    def _wanted(self, accepted: str) -> list[tuple[str, str]]:
        """Return the catalogues that match, each with the browser's tag, the best first (RFC 4647, 3.4)."""
        ranges = [
            match.groups("1")
            for part in accepted.split(",", RANGES_MAX)[:RANGES_MAX]
            if (match := _RANGE.fullmatch(part.strip(" \t")))
        ]
        qualities = {tag.lower(): min(float(quality), 1.0) for tag, quality in ranges}
        folders = {tag.lower(): tag for tag in self._catalogues}
        folders |= {"*": next((tag for tag in self._catalogues if qualities.get(tag.lower()) != 0), SOURCE)}
        found = []
        # Sorting is stable: of equal qualities the first wins.
        for tag in sorted((tag for tag in qualities if qualities[tag] > 0), key=lambda tag: -qualities[tag]):
            folder = next((folders[part] for part in _shortened(tag) if part in folders), None)
            if folder is not None:
                found.append((folder, folder if tag == "*" else tag))
        return found

    def _language(self, catalogue: str, tag: str) -> Language:
        """Return the language of `catalogue` in the region of `tag`. CLDR's regions bound the number of languages in memory."""
        tags = _shortened(_REGIONS.get(tag, tag))
        name = next((name for part in tags if (name := normalize_locale(part.replace("-", "_")))), SOURCE)
        made = self._made.get((catalogue, name))
        if made is None:
            made = Language(catalogue, Locale.parse(name), self._catalogues[catalogue], self.currency)
            self._made[catalogue, name] = made
        return made


@lru_cache(WRITTEN_MAX)
def _money(language: Language, amount: Decimal) -> str:
    return with_currency(amount, language.currency, language.locale)


@lru_cache(WRITTEN_MAX)
def _when(language: Language, at: datetime, *, planned: bool = False) -> tuple[str, ...]:
    if planned and not at.second:
        time = f"{format_time(at, 'short', tzinfo=UTC, locale=language.locale)} UTC"
    else:
        time = format_time(at, "long", tzinfo=UTC, locale=language.locale)
    day = format_date(at.astimezone(UTC), "medium", locale=language.locale)
    order = str(language.locale.datetime_formats["medium"]).replace("'", "")
    return tuple(part.format(time, day) for part in order.split())


@lru_cache(WRITTEN_MAX)
def _duration(language: Language, seconds: int) -> str:
    size, unit = next(row for row in _UNITS if seconds % row[0] == 0) if seconds else _UNITS[-1]
    return format_unit(seconds // size, f"duration-{unit}", "long", locale=language.locale)


def _shortened(tag: str) -> Iterator[str]:
    """Return a tag with ever fewer subtags: `de-at-1996`, `de-at`, `de`."""
    parts = tag.split("-")
    return ("-".join(parts[:count]) for count in range(len(parts), 0, -1))


def _catalogue(file: Path) -> NullTranslations:
    with file.open("rb") as source:
        catalogue = read_po(source)
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return Translations(compiled)
