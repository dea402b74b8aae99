"""Charges that are given up, as rules."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from saleroom.bidding.domain.events import Channel
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.documents.crediting import OF_HOUSE, charges, without
from saleroom.settlement.domain.documents.drafting import BilledLot, buyer_lines, consignor_lines
from saleroom.settlement.domain.errors import LotChanged, NotOfHouse
from saleroom.settlement.domain.journal import BilledResult, Book, Result, balances, is_balanced, of_credit, of_lot
from saleroom.settlement.domain.rates.bills import Bearer, Bill, Hammer, Item, RateCard, bill
from saleroom.settlement.domain.rates.scales import Scale, Tier
from saleroom.settlement.domain.rates.tax import Country
from saleroom.settlement.domain.reports.reporting import taxes

AT = datetime(2026, 11, 26, tzinfo=UTC)


def flat(percent: str) -> Scale:
    """Return a scale of one percentage."""
    return Scale((Tier(Decimal("0.000"), Decimal(percent)),))


def settled(scheme: TaxScheme, price: str = "100.000", payer: Bearer = Bearer.BUYER) -> BilledResult:
    """Return what a lot of a consignor came to by a card with every charge."""
    card = RateCard(
        premium=flat("25.000"),
        commission=flat("10.000"),
        surcharges={Channel.ONLINE: Decimal("3.000")},
        entry=Decimal("1.000"),
        photo=Decimal("2.000"),
        insurance=Decimal("1.500"),
        donation=Decimal("2.000"),
        resale_right=payer,
        country=Country.DE,
    )
    amount = Decimal(price)
    result = Result(buyer=7, price=amount, at=AT, consignor=9, scheme=scheme, version=1)
    hammer = Hammer(price=amount, on=AT.date(), scheme=scheme)
    return BilledResult(result=result, channel=Channel.ONLINE, bill=bill(card, hammer, 2))


def test_what_a_document_says_must_be_what_is_charged() -> None:
    """A line is found by its place among those of its lot; another price is another lot, and a price is not given up."""
    made = settled(TaxScheme.STANDARD)
    written = buyer_lines([BilledLot(gid="lot", label="1", name="Vase", bill=made.bill)], "en")
    [premium] = charges(written, [1], made.bill.buyer)
    assert (Item.PREMIUM, Decimal("25.000"), Decimal("4.750")) == (premium.item, premium.amount, premium.tax)
    with pytest.raises(NotOfHouse):
        charges(written, [0, 1], made.bill.buyer)
    with pytest.raises(LotChanged):
        charges(written, [1], settled(TaxScheme.STANDARD, "101.000").bill.buyer)


@given(
    some.sampled_from(TaxScheme),
    some.sampled_from(Bearer),
    some.sets(some.sampled_from(sorted(OF_HOUSE))),
    some.booleans(),
)
def test_what_is_given_up_leaves_the_lot_without_it(
    scheme: TaxScheme, payer: Bearer, items: set[Item], buyer: bool
) -> None:
    """The lot and what is given up move together what the bill without it moves, balanced; the rows of tax agree."""
    made = settled(scheme, "1234.560", payer)
    written = (buyer_lines if buyer else consignor_lines)(
        [BilledLot(gid="lot", label="1", name="Vase", bill=made.bill)], "de"
    )
    side = made.bill.buyer if buyer else made.bill.consignor
    back = charges(written, [place for place, one in enumerate(side) if one.item in items], side)
    part = Bill(scheme=made.bill.scheme, buyer=back if buyer else (), consignor=() if buyer else back)
    credited = BilledResult(result=made.result, channel=made.channel, bill=part)
    left = BilledResult(result=made.result, channel=made.channel, bill=without(made.bill, part))
    assert is_balanced(of_credit(credited))
    moved = {account: amount for account, amount in balances([*of_lot(made), *of_credit(credited)]).items() if amount}
    assert balances(of_lot(left)) == moved
    tax = sum((amount for account, amount in moved.items() if account.book is Book.TAX), Decimal(0))
    assert -tax == sum(one.tax for one in taxes([(1, made.bill), (-1, part)]).values())
