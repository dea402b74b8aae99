"""The journal: every lot balances, whatever its rates and its tax; and change is given in cash alone."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.journal import (
    CASH_STEPS,
    Account,
    BilledResult,
    Book,
    HandPayment,
    Method,
    Result,
    balances,
    in_cash,
    is_balanced,
    of_lot,
    of_money,
    of_netting,
    of_rounding,
    rest,
    reversed_,
    rounding,
    split,
)
from saleroom.settlement.domain.rates.bills import Hammer, RateCard, bill
from saleroom.settlement.domain.rates.cards import Version
from saleroom.settlement.domain.rates.choices import Choice, version_for
from tests.settlement.domain.rates.test_bills import cards, hammers

NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)


def settled(card: RateCard, hammer: Hammer, consignor: int | None, places: int) -> BilledResult:
    """Return what a lot has come to."""
    buyer = None if hammer.price is None else 7
    result = Result(buyer=buyer, price=hammer.price, at=NOON, consignor=consignor, scheme=hammer.scheme, version=1)
    return BilledResult(result=result, channel=hammer.channel, bill=bill(card, hammer, places))


@given(cards, hammers, st.sampled_from([None, 3]), st.integers(0, 3))
def test_every_lot_balances(card: RateCard, hammer: Hammer, consignor: int | None, places: int) -> None:
    """What the buyer pays is what the consignor gets, the house keeps and the state receives, to the last coin."""
    one = settled(card, hammer, consignor, places)
    postings = of_lot(one)
    assert is_balanced(postings)
    found = balances(postings)
    assert (ZERO if hammer.price is None else one.bill.due) == found.get(Account(Book.BUYERS, 7), ZERO)
    if consignor is not None:
        assert -one.bill.proceeds == found.get(Account(Book.CONSIGNORS, 3), ZERO)
        lines = (*one.bill.buyer, *((structs.replace(line, tax=-line.tax)) for line in one.bill.consignor))
        assert -sum((line.tax + line.hidden_tax for line in lines), ZERO) == found.get(Account(Book.TAX), ZERO)
    assert {ZERO} >= set(balances((*postings, *reversed_(postings))).values())


@given(
    st.decimals(-100, 1000, places=2),
    st.lists(
        st.builds(HandPayment, st.sampled_from(Method), st.decimals("0.01", 500, places=2)), min_size=1, max_size=5
    ),
)
def test_change_is_given_of_cash_alone(owed: Decimal, payments: list[HandPayment]) -> None:
    """What is kept is at most what is owed; the change is the rest; more than that by card or transfer is refused."""
    total, cash = (
        sum((one.amount for one in payments if one.method in methods), ZERO) for methods in ([*Method], [Method.CASH])
    )
    found = split(owed, payments)
    if total - cash > max(owed, ZERO):
        assert found is None
        return
    assert found is not None
    kept, change = found
    assert total == change + sum((one.amount for one in kept), ZERO)
    assert change == max(total - max(owed, ZERO), ZERO)
    assert all(one.amount > 0 for one in kept)
    assert all(is_balanced(of_money(Account(Book.BUYERS, 7), one.method, one.amount)) for one in kept)


def version(card: int, number: int, hours: int) -> Version:
    """Return a version that holds from so many hours after noon."""
    return Version(
        id=10 * card + number,
        gid=f"c{card}",
        name="",
        number=number,
        since=NOON + timedelta(hours=hours),
        card=RateCard(),
    )


@pytest.mark.parametrize(
    ("lot", "consignor", "sale", "held"),
    [
        ([], [], [], None),
        ([], [], [(1, -1)], 11),
        ([], [(2, -1)], [(1, -1)], 21),
        ([(1, -1)], [(2, -1)], [], 11),
        ([(1, -2), (None, -1)], [], [(2, -1)], 21),
        ([(1, 1)], [], [(2, -1)], 21),  # what is chosen later changes nothing
        ([], [], [(1, 3)], 12),  # but where nothing was chosen it holds as it was then
        ([], [], [(None, -1), (2, 1)], 21),
    ],
)
def test_the_card_that_was_chosen_at_the_hammer_holds(
    lot: list[tuple[int | None, int]],
    consignor: list[tuple[int | None, int]],
    sale: list[tuple[int | None, int]],
    held: int | None,
) -> None:
    """The lot goes before its consignor, the consignor before the sale, each as it was when the lot ended."""
    versions = {1: [version(1, 1, -5), version(1, 2, 2)], 2: [version(2, 1, -5)]}
    choices = [[Choice(card, NOON + timedelta(hours=hours)) for card, hours in made] for made in (lot, consignor, sale)]
    found = version_for(NOON, choices, versions)
    assert held == (None if found is None else found.id)


@given(
    st.decimals(-100, 1000, places=2),
    st.lists(
        st.builds(HandPayment, st.sampled_from(Method), st.decimals("0.01", 1000, places=2)), min_size=1, max_size=5
    ),
    st.sampled_from(["EUR", "CHF", "SEK"]),
)
def test_cash_is_rounded_once(owed: Decimal, payments: list[HandPayment], currency: str) -> None:
    """By half a coin at most, only for cash that pays all the rest, which is then of whole coins; the entry balances."""
    more, step = rounding(owed, payments, currency), CASH_STEPS.get(currency)
    if more == ZERO:
        return
    assert step is not None and abs(more) <= step / 2
    others = sum((one.amount for one in payments if one.method is not Method.CASH), ZERO)
    assert ZERO == (owed + more - others) % step
    found = split(owed + more, payments)
    assert found is not None
    assert owed + more == sum((one.amount for one in found[0]), ZERO)
    assert is_balanced(of_rounding(Account(Book.BUYERS, 7), more))


@example(Decimal("0.63"), [HandPayment(Method.CASH, Decimal("0.01"))], Method.CASH, "CHF")
@given(
    st.decimals(-100, 1000, places=2),
    st.lists(st.builds(HandPayment, st.sampled_from(Method), st.decimals("0.01", 300, places=2)), max_size=3),
    st.sampled_from([*Method]),
    st.sampled_from(["EUR", "CHF", "SEK"]),
)
def test_what_is_left_pays_the_rest(owed: Decimal, others: list[HandPayment], method: Method, currency: str) -> None:
    """With what is left, all is paid without change, if the others leave anything that the way can pay.

    Cash that no coins make up is rounded away from what is left by another way.
    """
    cash = [one.amount for one in others if one.method is Method.CASH]
    assume(method is Method.CASH or all(one == in_cash(one, currency) for one in cash))
    left = rest(owed, others, method, currency)
    if left == ZERO:
        return
    paid = [*others, HandPayment(method, left)]
    more = rounding(owed, paid, currency)
    assert split(owed + more, paid) == (paid, ZERO)
    assert owed + more == sum((one.amount for one in paid), ZERO)


@given(st.decimals("0.01", 1000, places=2))
def test_netting_balances(amount: Decimal) -> None:
    """What the buyer owes less is what the house owes less to the consignor."""
    buyer, consignor = Account(Book.BUYERS, 7), Account(Book.CONSIGNORS, 3)
    postings = of_netting(buyer, consignor, amount)
    assert is_balanced(postings)
    assert {buyer: -amount, consignor: amount} == balances(postings)
