"""Rate cards as a house keeps them: by name, in versions; and the JSON of cards and bills."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from saleroom.kernel.instants import instant
from saleroom.settlement.domain.rates.bills import Bill, Charge, RateCard
from saleroom.settlement.domain.rates.scales import Scale

NAME_MAX = 100
CARDS_MAX, VERSIONS_MAX = 200, 500


class Version(Struct, frozen=True, kw_only=True):
    """A version of a rate card, which is never changed: a change is another version. `id` is the store's number."""

    id: int
    gid: str
    name: str
    number: int
    since: datetime
    card: RateCard


class RateTierView(Struct, frozen=True):
    """A tier of a scale."""

    above: str
    percent: str


class ScaleView(Struct, frozen=True):
    """A percentage that changes with the price."""

    tiers: list[RateTierView]
    cumulative: bool
    minimum: str


class RateCardView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A rate card in its latest version, for staff."""

    card: str
    card_name: str
    card_version: int
    since: str
    premium: ScaleView
    commission: ScaleView
    member_premium: ScaleView | None
    member_commission: ScaleView | None
    surcharges: dict[str, str]
    entry_fee: str
    photo_fee: str
    unsold_fee: str
    insurance: str
    donation: str
    resale_right: str
    country: str
    goods: str
    tax_scheme: str


class LineView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of a bill; what a consignor bears is negative. `hidden_tax` is for staff alone."""

    item: str
    line_amount: str
    tax_percent: str
    line_tax: str
    hidden_tax: str
    member_rate: bool


class BillView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a lot costs its buyer and brings its consignor."""

    tax_scheme: str
    legal_words: str | None
    buyer_lines: list[LineView]
    due: str
    consignor_lines: list[LineView]
    proceeds: str


class PreviewView(BillView, frozen=True, kw_only=True, rename="camel"):
    """What a hammer price would cost and bring. `member_bill` is that for members; null if the rates of all hold for them."""

    member_bill: BillView | None


def card_view(version: Version) -> RateCardView:
    """Return a rate card as JSON has it."""
    card = version.card
    return RateCardView(
        card=version.gid,
        card_name=version.name,
        card_version=version.number,
        since=instant(version.since),
        premium=scale_view(card.premium),
        commission=scale_view(card.commission),
        member_premium=None if card.member_premium is None else scale_view(card.member_premium),
        member_commission=None if card.member_commission is None else scale_view(card.member_commission),
        surcharges={channel.value: amount_text(percent) for channel, percent in card.surcharges.items()},
        entry_fee=amount_text(card.entry),
        photo_fee=amount_text(card.photo),
        unsold_fee=amount_text(card.unsold),
        insurance=amount_text(card.insurance),
        donation=amount_text(card.donation),
        resale_right=card.resale_right,
        country=card.country,
        goods=card.goods,
        tax_scheme=card.scheme,
    )


def bill_view(bill: Bill) -> BillView:
    """Return a bill as JSON has it."""
    return BillView(
        tax_scheme=bill.scheme,
        legal_words=bill.words,
        buyer_lines=[_line(line) for line in bill.buyer],
        due=amount_text(bill.due),
        consignor_lines=[_line(line) for line in bill.consignor],
        proceeds=amount_text(bill.proceeds),
    )


def preview_view(bill: Bill, for_members: Bill | None) -> PreviewView:
    """Return a bill and that of members as JSON has them."""
    shown = {name: getattr(bill_view(bill), name) for name in BillView.__struct_fields__}
    return PreviewView(**shown, member_bill=None if for_members is None else bill_view(for_members))


def _line(line: Charge) -> LineView:
    return LineView(
        item=line.item,
        line_amount=amount_text(line.amount),
        tax_percent=amount_text(line.rate),
        line_tax=amount_text(line.tax),
        hidden_tax=amount_text(line.hidden_tax),
        member_rate=line.member,
    )


def scale_view(scale: Scale) -> ScaleView:
    """Return a scale as JSON has it."""
    tiers = [RateTierView(amount_text(tier.above), amount_text(tier.percent)) for tier in scale.tiers]
    return ScaleView(tiers, scale.cumulative, amount_text(scale.minimum))


def amount_text(amount: Decimal) -> str:
    """Return an amount or a percentage as JSON has it, with three decimals."""
    return f"{amount:.3f}"
