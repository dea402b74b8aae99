"""What buying costs beside the hammer price, for bidders."""

from __future__ import annotations

from msgspec import Struct

from saleroom.settlement.domain.rates.bills import Bill, Charge, RateCard
from saleroom.settlement.domain.rates.cards import ScaleView, amount_text, scale_view


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


def costs_view(card: RateCard, for_all: Bill, for_members: Bill) -> CostsView:
    """Return what buying costs as JSON has it. The bills have no lines of a buyer without a price."""
    has_members = card.member_premium is not None
    return CostsView(
        premium=scale_view(card.premium),
        member_premium=scale_view(card.member_premium) if card.member_premium is not None else None,
        surcharges={channel.value: amount_text(percent) for channel, percent in card.surcharges.items() if percent},
        country=card.country,
        tax_scheme=for_all.scheme,
        legal_words=for_all.words,
        buyer_lines=[_line(line) for line in for_all.buyer],
        due=_due(for_all),
        member_due=_due(for_members) if has_members else None,
    )


def _due(found: Bill) -> str | None:
    return amount_text(found.due) if found.buyer else None


def _line(line: Charge) -> CostLineView:
    return CostLineView(
        item=line.item,
        line_amount=amount_text(line.amount),
        tax_percent=amount_text(line.rate),
        line_tax=amount_text(line.tax),
        member_rate=line.member,
    )
