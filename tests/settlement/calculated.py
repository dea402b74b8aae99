"""What a lot costs and brings, calculated a second time: with fractions, and straight from the rules."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from saleroom.bidding.domain.events import Channel
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.journal import Book
from saleroom.settlement.domain.rates.bills import Bearer, Item, RateCard
from saleroom.settlement.domain.rates.scales import Scale
from saleroom.settlement.domain.rates.tax import Country, Goods

ZERO = Fraction(0)


EARNED = {
    Item.PREMIUM: Book.PREMIUM,
    Item.SURCHARGE: Book.PREMIUM,
    Item.RESALE_RIGHT: Book.RESALE_RIGHT,
    Item.COMMISSION: Book.COMMISSION,
    Item.ENTRY: Book.FEES,
    Item.PHOTO: Book.FEES,
    Item.UNSOLD: Book.FEES,
    Item.INSURANCE: Book.FEES,
    Item.DONATION: Book.DONATIONS,
}
STANDARD = {
    Country.DE: Fraction(19),
    Country.AT: Fraction(20),
    Country.CH: Fraction("8.1"),
    Country.UK: Fraction(20),
    Country.NONE: ZERO,
}
LEAST = {Country.DE: 400, Country.AT: 2_500, Country.UK: 1_000}
MARGIN = (TaxScheme.MARGIN, TaxScheme.RESALE_RIGHT)


@dataclass(frozen=True)
class CalculatedLine:
    """A line as the rules say it: positive is what is paid to the house, but for the consignor's price."""

    item: Item
    amount: Fraction
    tax: Fraction = ZERO
    hidden: Fraction = ZERO


class Rules:
    """Rules 1 to 7 of docs/rules.md, "After the hammer", a second time."""

    def __init__(
        self,
        card: RateCard,
        scheme: TaxScheme | None,
        price: Decimal | None,
        channel: Channel,
        places: int,
        members: tuple[bool, bool] = (False, False),
    ):
        buys, sells = members
        self.premium = card.member_premium if buys and card.member_premium is not None else card.premium
        self.commission = card.member_commission if sells and card.member_commission is not None else card.commission
        self.card, self.places, self.channel = card, places, channel
        self.price = None if price is None else Fraction(price)
        self.standard = STANDARD[card.country]
        self.scheme = TaxScheme.NONE if card.country is Country.NONE else scheme or card.scheme

    def half_up(self, amount: Fraction) -> Fraction:
        """Return an amount in whole minor units."""
        units = amount * 10**self.places
        sign = -1 if units < 0 else 1
        return Fraction(sign * int(abs(units) + Fraction(1, 2)), 10**self.places)

    def of_scale(self, scale: Scale, price: Fraction) -> Fraction:
        """Return what a scale comes to."""
        tiers = [(Fraction(one.above), Fraction(one.percent)) for one in scale.tiers]
        least = Fraction(scale.minimum)
        if not scale.cumulative or not tiers:
            percents = [percent for above, percent in tiers if price > above]
            return max(price * percents[-1] / 100, least) if percents else least
        ends = [above for above, _ in tiers[1:]] + [price]
        pieces = (
            max(min(price, end) - above, ZERO) * percent for (above, percent), end in zip(tiers, ends, strict=True)
        )
        return max(sum(pieces, ZERO) / 100, least)

    def artist(self) -> Fraction:
        """Return the artist's share (Directive 2001/84/EC, article 4)."""
        price, least = self.price, LEAST.get(self.card.country)
        if self.scheme is not TaxScheme.RESALE_RIGHT or price is None or least is None or price < least:
            return ZERO
        found = max(price - 500_000, ZERO) / 400
        for above, end, percent in (
            (0, 50_000, 4),
            (50_000, 200_000, 3),
            (200_000, 350_000, 1),
            (350_000, 500_000, 0.5),
        ):
            found += max(min(price, Fraction(end)) - above, ZERO) * Fraction(percent) / 100
        return self.half_up(min(found, Fraction(12_500)))

    def buyer(self) -> list[CalculatedLine]:
        """Return what the buyer owes."""
        if self.price is None:
            return []
        card, price = self.card, self.price
        percent = ZERO
        if self.scheme is TaxScheme.STANDARD:
            reduced = card.country is Country.DE and card.goods in (Goods.ART, Goods.COLLECTORS)
            percent = Fraction(7) if reduced else self.standard
        surcharge = Fraction(card.surcharges.get(self.channel, Decimal(0)))
        found = []
        for item, exact in (
            (Item.HAMMER, price),
            (Item.PREMIUM, self.of_scale(self.premium, price)),
            (Item.SURCHARGE, price * surcharge / 100),
        ):
            amount = self.half_up(exact)
            hidden = self.inside(amount) if item is not Item.HAMMER else ZERO
            found.append(CalculatedLine(item, amount, self.half_up(amount * percent / 100), hidden))
        if card.resale_right is Bearer.BUYER:
            found.append(CalculatedLine(Item.RESALE_RIGHT, self.artist()))
        return [one for one in found if one.amount]

    def consignor(self) -> list[CalculatedLine]:
        """Return what the consignor gets, the price, and bears, all else."""
        card, price = self.card, self.price
        found = []
        if price is None:
            found.append(self.service(Item.UNSOLD, Fraction(card.unsold)))
        else:
            found.append(CalculatedLine(Item.HAMMER, self.half_up(price)))
            commission = self.of_scale(self.commission, price)
            if self.scheme in MARGIN:
                amount = self.half_up(commission)
                found.append(CalculatedLine(Item.COMMISSION, amount, ZERO, self.inside(amount)))
            else:
                found.append(self.service(Item.COMMISSION, commission))
            if card.resale_right is Bearer.CONSIGNOR:
                found.append(CalculatedLine(Item.RESALE_RIGHT, self.artist()))
            found.append(self.service(Item.INSURANCE, price * Fraction(card.insurance) / 100))
            found.append(CalculatedLine(Item.DONATION, self.half_up(price * Fraction(card.donation) / 100)))
        found += [self.service(Item.ENTRY, Fraction(card.entry)), self.service(Item.PHOTO, Fraction(card.photo))]
        return [one for one in found if one.amount]

    def service(self, item: Item, exact: Fraction) -> CalculatedLine:
        """Return a line for what the house does for a consignor."""
        amount = self.half_up(exact)
        percent = ZERO if self.scheme is TaxScheme.NONE else self.standard
        return CalculatedLine(item, amount, self.half_up(amount * percent / 100))

    def inside(self, amount: Fraction) -> Fraction:
        """Return the tax inside an amount by the margin scheme."""
        return self.half_up(amount * self.standard / (100 + self.standard)) if self.scheme in MARGIN else ZERO
