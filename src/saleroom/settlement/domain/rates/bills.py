"""Rate cards: what a hammer price costs and brings, line by line (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import partial

from msgspec import Struct, structs

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.rates.scales import Scale, inside, part, rounded
from saleroom.settlement.domain.rates.tax import LAWS, MARGIN, Country, Goods, TaxLaw


class Bearer(StrEnum):
    """Who bears the artist's resale right."""

    BUYER = "buyer"
    CONSIGNOR = "consignor"


class RateCard(Struct, frozen=True, kw_only=True):
    """What a house takes, and the law that taxes it. Percentages are of the hammer price, fees of each lot.

    `surcharges` are added to the premium by the channel of the winning bid. `entry` and `photo` are taken of every lot,
    `unsold` of those that are not sold, `insurance` and `donation` of those that are. `goods` are what is sold by it.
    `member_premium` and `member_commission` are the scales of members; None where these pay and bear what all do.
    """

    premium: Scale = Scale()
    commission: Scale = Scale()
    member_premium: Scale | None = None
    member_commission: Scale | None = None
    surcharges: Mapping[Channel, Decimal] = {}
    entry: Decimal = ZERO
    photo: Decimal = ZERO
    unsold: Decimal = ZERO
    insurance: Decimal = ZERO
    donation: Decimal = ZERO
    resale_right: Bearer = Bearer.CONSIGNOR
    country: Country = Country.NONE
    goods: Goods = Goods.SECOND_HAND
    scheme: TaxScheme = TaxScheme.NONE

    @classmethod
    def first_of(cls, country: str, vat_id: str) -> RateCard:
        """Return a card without rates, for a house in a country (ISO 3166); with a VAT number it is taxed by the law there."""
        law = next((one for one in Country if one.value == {"GB": "UK"}.get(country, country)), Country.NONE)
        return cls() if law is Country.NONE or not vat_id else cls(country=law, scheme=TaxScheme.STANDARD)

    @property
    def law(self) -> TaxLaw:
        """The law that taxes it."""
        return LAWS[self.country]

    @property
    def has_member_rates(self) -> bool:
        """Whether members pay or bear something else than all others."""
        return self.member_premium is not None or self.member_commission is not None


class Item(StrEnum):
    """What a line is about."""

    HAMMER = "hammer"
    PREMIUM = "premium"
    SURCHARGE = "surcharge"
    RESALE_RIGHT = "resale_right"
    COMMISSION = "commission"
    ENTRY = "entry"
    PHOTO = "photo"
    UNSOLD = "unsold"
    INSURANCE = "insurance"
    DONATION = "donation"


OF_MARGIN = frozenset({Item.PREMIUM, Item.SURCHARGE, Item.COMMISSION})
"""What the house earns by the margin scheme: the tax is inside these amounts, also where it rounds to 0."""


class Charge(Struct, frozen=True, kw_only=True):
    """One line: an amount, and the tax that comes on top of it, each rounded once.

    `rate` is the percentage of that tax. `hidden_tax` is the tax inside the amount by the margin scheme, which no paper may
    show. An amount that a consignor bears is negative. `member` says that it is by the scale of members.
    """

    item: Item
    amount: Decimal
    rate: Decimal = ZERO
    tax: Decimal = ZERO
    hidden_tax: Decimal = ZERO
    member: bool = False

    @property
    def total(self) -> Decimal:
        """The amount with its tax."""
        return self.amount + self.tax


class Bill(Struct, frozen=True, kw_only=True):
    """What a lot costs its buyer and brings its consignor; no line of a buyer if it is not sold.

    `words` is what the law wants to be said of it on paper.
    """

    scheme: TaxScheme
    buyer: tuple[Charge, ...]
    consignor: tuple[Charge, ...]
    words: str | None = None

    @property
    def due(self) -> Decimal:
        """What the buyer owes."""
        return sum((line.total for line in self.buyer), ZERO)

    @property
    def proceeds(self) -> Decimal:
        """What the consignor gets; negative if they owe."""
        return sum((line.total for line in self.consignor), ZERO)


class Hammer(Struct, frozen=True, kw_only=True):
    """How a lot ended: `price` is None if it is not sold; `channel` is that of the winning bid.

    `scheme` is the tax scheme of the lot, None for that of the rate card. `left_out` are fees that the lot has borne in another
    sale. The buyer and the seller may be members.
    """

    price: Decimal | None
    on: date
    left_out: tuple[Item, ...] = ()
    buyer_member: bool = False
    seller_member: bool = False
    channel: Channel = Channel.ONLINE
    scheme: TaxScheme | None = None


def bill(card: RateCard, hammer: Hammer, places: int) -> Bill:
    """Return what a lot costs and brings, in a currency whose minor unit has so many decimals."""
    scheme = _scheme(card, hammer)
    charges = _Charges(card, hammer, scheme, partial(rounded, places=places))
    return Bill(
        scheme=scheme,
        buyer=tuple(line for line in charges.of_buyer() if line.amount),
        consignor=tuple(line for line in charges.of_consignor() if line.amount and line.item not in hammer.left_out),
        words=card.law.words_for(scheme, card.goods),
    )


def _scheme(card: RateCard, hammer: Hammer) -> TaxScheme:
    if card.country is Country.NONE:
        return TaxScheme.NONE
    return card.scheme if hammer.scheme is None else hammer.scheme


def _scale(for_all: Scale, for_members: Scale | None, *, is_member: bool) -> tuple[Scale, bool]:
    """Return the scale that holds, and whether it is that of members."""
    return (for_all, False) if for_members is None or not is_member else (for_members, True)


class _Charges(Struct, frozen=True):
    """The lines of a lot. The margin scheme hides tax in the shares of both sides; services are taxed on top otherwise."""

    card: RateCard
    hammer: Hammer
    scheme: TaxScheme
    round: Callable[[Decimal], Decimal]

    def of_buyer(self) -> Iterator[Charge]:
        price = self.hammer.price
        if price is None:
            return
        yield self._of_goods(Item.HAMMER, price)
        yield self._premium(price)
        yield self._of_goods(Item.SURCHARGE, part(price, self.card.surcharges.get(self.hammer.channel, ZERO)))
        if self.card.resale_right is Bearer.BUYER:
            yield Charge(item=Item.RESALE_RIGHT, amount=self._share_of_artist(price))

    def of_consignor(self) -> Iterator[Charge]:
        card, price = self.card, self.hammer.price
        if price is not None:
            yield Charge(item=Item.HAMMER, amount=self.round(price))
            yield self._commission(price)
            if card.resale_right is Bearer.CONSIGNOR:
                yield Charge(item=Item.RESALE_RIGHT, amount=-self._share_of_artist(price))
            yield self._service(Item.INSURANCE, part(price, card.insurance))
            yield Charge(item=Item.DONATION, amount=-self.round(part(price, card.donation)))
        if price is None:
            yield self._service(Item.UNSOLD, card.unsold)
        yield self._service(Item.ENTRY, card.entry)
        yield self._service(Item.PHOTO, card.photo)

    def _of_goods(self, item: Item, exact: Decimal) -> Charge:
        """Return a line of the price that the buyer pays for the goods."""
        amount = self.round(exact)
        if self.scheme in MARGIN:
            return Charge(item=item, amount=amount, hidden_tax=self._hidden(amount) if item in OF_MARGIN else ZERO)
        rate = self.card.law.of_goods(self.card.goods, self.hammer.on) if self.scheme is TaxScheme.STANDARD else ZERO
        return Charge(item=item, amount=amount, rate=rate, tax=self.round(part(amount, rate)))

    def _premium(self, price: Decimal) -> Charge:
        scale, member = _scale(self.card.premium, self.card.member_premium, is_member=self.hammer.buyer_member)
        return structs.replace(self._of_goods(Item.PREMIUM, scale.of(price)), member=member)

    def _commission(self, price: Decimal) -> Charge:
        """Return the seller's commission. By the margin scheme it is part of the margin, so no tax comes on top."""
        scale, member = _scale(self.card.commission, self.card.member_commission, is_member=self.hammer.seller_member)
        if self.scheme not in MARGIN:
            return structs.replace(self._service(Item.COMMISSION, scale.of(price)), member=member)
        amount = self.round(scale.of(price))
        return Charge(item=Item.COMMISSION, amount=-amount, hidden_tax=self._hidden(amount), member=member)

    def _service(self, item: Item, exact: Decimal) -> Charge:
        rate = ZERO if self.scheme is TaxScheme.NONE else self._standard
        amount = self.round(exact)
        return Charge(item=item, amount=-amount, rate=rate, tax=-self.round(part(amount, rate)))

    def _hidden(self, amount: Decimal) -> Decimal:
        return self.round(inside(amount, self._standard))

    def _share_of_artist(self, price: Decimal) -> Decimal:
        right = self.scheme is TaxScheme.RESALE_RIGHT
        return self.round(self.card.law.resale_right(price, self.hammer.on)) if right else ZERO

    @property
    def _standard(self) -> Decimal:
        return self.card.law.standard(self.hammer.on)
