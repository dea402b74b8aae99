"""Fees of a lot that is in several sales are borne once, and papers keep what they say (docs/rules.md, "After the hammer")."""

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.borne import FEES, as_on_paper, bears_fees, left_out, terms_on_paper
from saleroom.settlement.domain.journal import BilledResult, Result
from saleroom.settlement.domain.rates.bills import Hammer, Item, RateCard, bill

AT = datetime(2026, 11, 26, 12, tzinfo=UTC)
FEE = st.sampled_from([ZERO, Decimal("5.000")])
CARDS = st.builds(RateCard, entry=FEE, photo=FEE, unsold=FEE)


def settled(
    card: RateCard, gone: tuple[Item, ...] = (), consignor: int | None = 9, price: Decimal | None = None
) -> BilledResult:
    """Return what a lot has come to by a card, without some fees."""
    result = Result(
        buyer=None if price is None else 7,
        price=price,
        at=AT,
        consignor=consignor,
        scheme=None,
        version=1,
        left_out=gone,
    )
    return BilledResult(
        result=result, channel=Channel.ONLINE, bill=bill(card, Hammer(price=price, on=AT.date(), left_out=gone), 2)
    )


def fees(some: BilledResult) -> list[Item]:
    """Return the fees that a lot costs its consignor."""
    return [line.item for line in some.bill.consignor if line.item in FEES]


@given(st.lists(CARDS, min_size=2, max_size=4), st.lists(st.tuples(st.integers(0, 3), CARDS | st.none()), max_size=20))
def test_a_fee_is_borne_once_in_whatever_order_sales_are_looked_at(
    cards: list[RateCard], looks: list[tuple[int, RateCard | None]]
) -> None:
    """Also if a card changes, an entry is taken back, or a sale is looked at late: no fee is there twice.

    Once all were looked at twice, a fee is there if any card has it.
    """
    stands: dict[int, BilledResult] = {}
    cards = [*cards]

    def look(place: int) -> None:
        due, was = settled(cards[place]), stands.get(place)
        others = [one for other, one in stands.items() if other != place]
        gone = left_out(fees(due), was, others, 9)
        stands[place] = settled(cards[place], gone)
        assert not [
            item for item, count in Counter(item for one in stands.values() for item in fees(one)).items() if count > 1
        ]

    for place, card in looks:
        if card is not None:
            cards[place % len(cards)] = card
        look(place % len(cards))
    for place in (*range(len(cards)), *range(len(cards))):
        look(place)
    borne = {item for one in stands.values() for item in fees(one)}
    assert {item for card in cards for item in fees(settled(card))} == borne


def test_a_fee_of_another_consignor_is_not_the_same() -> None:
    """A consignor who brings the lot to another sale has borne nothing yet; the house's own lot bears nothing at all."""
    card = RateCard(entry=Decimal(5))
    mine, theirs = settled(card), settled(card, consignor=8)
    assert () == left_out(fees(mine), None, [theirs], 9)
    assert (Item.ENTRY,) == left_out(fees(mine), None, [mine], 9)
    assert () == left_out(fees(mine), mine, [mine], 9), "what is charged stays where it is"
    assert () == left_out(fees(mine), None, [settled(card, consignor=None)], None)


def test_a_fee_that_is_not_due_is_not_named() -> None:
    """A lot whose card has no fee is the same with and without another sale, so that its entry stays."""
    assert () == left_out([], None, [settled(RateCard(entry=Decimal(5)))], 9)


def test_papers_keep_what_they_say() -> None:
    """A lot that is on an invoice keeps the buyer's rate, one on a statement the seller's rate and the fees."""
    was = settled(RateCard(entry=Decimal(5)), price=Decimal(100)).result
    now = structs.replace(was, buyer_member=True, seller_member=True, left_out=(Item.ENTRY,))
    on = {"on_invoice": False, "on_statement": False, "with_fees": False}
    assert now == as_on_paper(now, was, **on)
    assert structs.replace(now, buyer_member=False) == as_on_paper(now, was, **on | {"on_invoice": True})
    assert structs.replace(was, buyer_member=True) == as_on_paper(now, was, **on | {"on_statement": True})
    assert was == as_on_paper(now, was, **on | {"on_invoice": True, "on_statement": True})
    other = structs.replace(now, price=Decimal(200))
    assert other == as_on_paper(other, was, **on | {"on_invoice": True, "on_statement": True}), "it is another hammer"


def test_papers_keep_the_card_and_the_scheme() -> None:
    """A card or a scheme that comes after a document holds when that is credited, or when the lot is somebody else's."""
    was = settled(RateCard(), price=Decimal(100)).result
    now = structs.replace(was, version=7, scheme=TaxScheme.MARGIN)
    assert now == terms_on_paper(now, was, on_invoice=False, on_statement=False)
    assert was == terms_on_paper(now, was, on_invoice=True, on_statement=False)
    assert was == terms_on_paper(now, was, on_invoice=False, on_statement=True)
    for names, on_invoice, on_statement in (
        ({"buyer": 99}, True, False),
        ({"consignor": 99}, False, True),
        ({"price": Decimal(101)}, True, True),
    ):
        other = structs.replace(now, **names)
        assert other == terms_on_paper(other, was, on_invoice=on_invoice, on_statement=on_statement)
    bought = structs.replace(now, buyer=99)
    kept = structs.replace(was, buyer=99)
    assert kept == terms_on_paper(bought, was, on_invoice=True, on_statement=True), "the statement still holds"


def test_a_statement_keeps_its_rates_for_another_buyer() -> None:
    """The lot of another paddle has the buyer's rate of that one, and what its consignor was told."""
    was = settled(RateCard(entry=Decimal(5)), price=Decimal(100)).result
    now = structs.replace(was, buyer=99, buyer_member=True, seller_member=True, left_out=(Item.ENTRY,))
    found = as_on_paper(now, was, on_invoice=True, on_statement=True, with_fees=True)
    assert structs.replace(was, buyer=99, buyer_member=True) == found


def test_an_entry_of_a_former_version_stands_if_it_says_the_same() -> None:
    """It said that all fees were left out: that is good on a statement, and where nothing is due."""
    was = structs.replace(settled(RateCard()).result, again=True)
    now = structs.replace(was, again=False, left_out=(Item.ENTRY,))
    assert was == as_on_paper(now, was, on_invoice=False, on_statement=False, with_fees=False)
    assert now == as_on_paper(now, was, on_invoice=False, on_statement=False, with_fees=True)
    assert was == as_on_paper(now, was, on_invoice=False, on_statement=True, with_fees=True)
    assert bears_fees(settled(RateCard(photo=Decimal(1)))) and not bears_fees(settled(RateCard()))
