"""What buying costs beside the hammer price, for bidders."""

from __future__ import annotations

from msgspec import Struct

from saleroom.settlement.domain.cards import ScaleView, amount_text, line_view, scale_view
from saleroom.settlement.domain.rates import Bill, RateCard


class CostLineView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of what a buyer would pay. A tax that is inside an amount is not shown to buyers."""

    item: str
    line_amount: str
    tax_percent: str
    line_tax: str
    member_rate: bool


class CostsView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a buyer pays beside the hammer price, by the rates of today; with a price, each line and the total in all.

    `due` is null without a price, and `member_due` unless members pay less or more.
    """

    premium: ScaleView
    member_premium: ScaleView | None
    surcharges: dict[str, str]
    country: str
    tax_scheme: str
    legal_words: str | None
    buyer_lines: list[CostLineView]
    due: str | None
    member_due: str | None


def costs_view(card: RateCard, found: Bill, is_priced: bool, for_members: Bill | None) -> CostsView:
    """Return what buying costs as JSON has it."""
    lines = [line_view(line) for line in found.buyer] if is_priced else []
    return CostsView(
        premium=scale_view(card.premium),
        member_premium=None if card.member_premium is None else scale_view(card.member_premium),
        surcharges={channel.value: amount_text(percent) for channel, percent in card.surcharges.items() if percent},
        country=card.country,
        tax_scheme=found.scheme,
        legal_words=found.words,
        buyer_lines=[
            CostLineView(
                item=line.item,
                line_amount=line.line_amount,
                tax_percent=line.tax_percent,
                line_tax=line.line_tax,
                member_rate=line.member_rate,
            )
            for line in lines
        ],
        due=amount_text(found.due) if is_priced else None,
        member_due=amount_text(for_members.due) if is_priced and for_members is not None else None,
    )
