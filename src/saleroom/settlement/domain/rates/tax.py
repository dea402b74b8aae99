"""Tax: the laws of countries with the dates from which they hold. Their sources are in docs/settlement.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Protocol, TypeVar

from msgspec import Struct

from saleroom.kernel.money import ZERO
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.rates.scales import Scale, Tier


class Country(StrEnum):
    """Whose law taxes a house; NONE is that of a house which charges no tax."""

    DE = "DE"
    AT = "AT"
    CH = "CH"
    UK = "UK"
    NONE = "none"


class Goods(StrEnum):
    """What kind of goods is sold: the law names it on paper, and some kinds have a lower rate."""

    SECOND_HAND = "second_hand"
    ART = "art"
    COLLECTORS = "collectors"
    ANTIQUES = "antiques"


class TaxRates(Struct, frozen=True):
    """The percentages that hold from a day on; `reduced` are those of goods with a lower rate."""

    since: date
    standard: Decimal
    reduced: Mapping[Goods, Decimal] = {}


class ResaleRight(Struct, frozen=True):
    """The artist's resale right from a day on: a share of the hammer price from `least` on, of `most` at most."""

    since: date
    least: Decimal
    most: Decimal
    scale: Scale

    def of(self, price: Decimal) -> Decimal:
        """Return the artist's share of a hammer price, not rounded."""
        return min(self.scale.of(price), self.most) if price >= self.least else ZERO


class TaxLaw(Struct, frozen=True):
    """The tax law of a country: its rates and resale rights by date, the latest last, and its words for paper.

    `words` are those of a tax scheme, `margin_words` those of the margin scheme by the kind of goods.
    """

    rates: tuple[TaxRates, ...] = ()
    resale_rights: tuple[ResaleRight, ...] = ()
    words: Mapping[TaxScheme, str] = {}
    margin_words: Mapping[Goods, str] = {}

    def standard(self, on: date) -> Decimal:
        """Return the standard percentage of a day."""
        rates = _holding(self.rates, on)
        return ZERO if rates is None else rates.standard

    def of_goods(self, goods: Goods, on: date) -> Decimal:
        """Return the percentage for goods that are sold with tax on the whole price."""
        rates = _holding(self.rates, on)
        return ZERO if rates is None else rates.reduced.get(goods, rates.standard)

    def resale_right(self, price: Decimal, on: date) -> Decimal:
        """Return the artist's share of a hammer price, not rounded."""
        right = _holding(self.resale_rights, on)
        return ZERO if right is None else right.of(price)

    def words_for(self, scheme: TaxScheme, goods: Goods) -> str | None:
        """Return what the law wants to be said on paper about a lot; None if nothing."""
        return self.margin_words.get(goods) if scheme in MARGIN else self.words.get(scheme)


MARGIN = (TaxScheme.MARGIN, TaxScheme.RESALE_RIGHT)
"""The schemes that tax only what the house earns. A lot with resale right is of the margin scheme otherwise."""


class _DatedRule(Protocol):
    @property
    def since(self) -> date: ...


_Of = TypeVar("_Of", bound=_DatedRule)


def _holding(dated: Sequence[_Of], on: date) -> _Of | None:
    return next((one for one in reversed(dated) if one.since <= on), None)


_RESALE_TIERS = tuple(
    Tier(Decimal(above), Decimal(percent))
    for above, percent in ((0, "4"), (50_000, "3"), (200_000, "1"), (350_000, "0.5"), (500_000, "0.25"))
)
"""Directive 2001/84/EC, article 4."""


def _resale_right(since: date, least: int) -> ResaleRight:
    scale = Scale(_RESALE_TIERS, cumulative=True)
    return ResaleRight(since, Decimal(least), Decimal("12500.000"), scale)


_REVERSE_DE = "Steuerschuldnerschaft des Leistungsempfängers"
_MARGIN_DE = {
    Goods.SECOND_HAND: "Gebrauchtgegenstände/Sonderregelung",
    Goods.ART: "Kunstgegenstände/Sonderregelung",
    Goods.COLLECTORS: "Sammlungsstücke und Antiquitäten/Sonderregelung",
    Goods.ANTIQUES: "Sammlungsstücke und Antiquitäten/Sonderregelung",
}

LAWS: Mapping[Country, TaxLaw] = {
    Country.DE: TaxLaw(
        rates=(
            TaxRates(date(2021, 1, 1), Decimal(19)),
            TaxRates(date(2025, 1, 1), Decimal(19), {Goods.ART: Decimal(7), Goods.COLLECTORS: Decimal(7)}),
        ),
        resale_rights=(_resale_right(date(2006, 11, 16), 400),),
        words={
            TaxScheme.REVERSE_CHARGE: _REVERSE_DE,
            TaxScheme.EXEMPT: "Steuerfreie Lieferung nach § 4 UStG",
            TaxScheme.NONE: "Kein Ausweis von Umsatzsteuer nach § 19 UStG",
        },
        margin_words=_MARGIN_DE,
    ),
    Country.AT: TaxLaw(
        rates=(TaxRates(date(1984, 1, 1), Decimal(20)),),
        resale_rights=(_resale_right(date(2006, 1, 1), 2_500),),
        words={
            TaxScheme.REVERSE_CHARGE: "Übergang der Steuerschuld auf den Leistungsempfänger",
            TaxScheme.EXEMPT: "Steuerfreie Lieferung nach § 6 UStG 1994",
            TaxScheme.NONE: "Umsatzsteuerfrei nach § 6 Abs. 1 Z 27 UStG 1994",
        },
        margin_words=_MARGIN_DE,
    ),
    Country.CH: TaxLaw(
        rates=(TaxRates(date(2018, 1, 1), Decimal("7.7")), TaxRates(date(2024, 1, 1), Decimal("8.1"))),
        words={
            TaxScheme.EXEMPT: "Von der Steuer befreit nach Art. 23 MWSTG",
            TaxScheme.NONE: "Nicht mehrwertsteuerpflichtig nach Art. 10 MWSTG",
        },
        margin_words=dict.fromkeys(Goods, "Margenbesteuerung nach Art. 24a MWSTG"),
    ),
    Country.UK: TaxLaw(
        rates=(TaxRates(date(2011, 1, 4), Decimal(20)),),
        resale_rights=(_resale_right(date(2024, 4, 1), 1_000),),
        words={
            TaxScheme.REVERSE_CHARGE: "Reverse charge: customer to account for VAT to HMRC",
            TaxScheme.EXEMPT: "Zero-rated export",
        },
        margin_words={
            Goods.SECOND_HAND: "Margin scheme - second-hand goods",
            Goods.ART: "Margin scheme - works of art",
            Goods.COLLECTORS: "Margin scheme - collectors' items and antiques",
            Goods.ANTIQUES: "Margin scheme - collectors' items and antiques",
        },
    ),
    Country.NONE: TaxLaw(),
}
"""The presets. A house asks its accountant which of them is its own."""
