"""What is paid of documents: each cent goes to one of them, the oldest first."""

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.documents.content import Payment
from saleroom.settlement.domain.documents.paying import before, progress

amounts = st.decimals(-500, 500, places=2)
DAY = date(2026, 11, 25)


@given(st.lists(amounts, max_size=6), amounts)
def test_money_goes_to_the_oldest_document_first(totals: list[Decimal], money: Decimal) -> None:
    """What is paid and what is open is the total; no more is paid than came; none is paid while one of before is open."""
    found = progress(totals, money)
    assert totals == [one.paid + one.open for one in found]
    owed = sum((max(total, ZERO) for total in totals), ZERO)
    assert min(max(money, ZERO), owed) == sum((one.paid for one in found), ZERO)
    is_open = False
    for one in found:
        assert not (is_open and one.paid)
        is_open = is_open or one.open > ZERO


@given(st.lists(amounts, max_size=6), st.decimals(0, 500, places=2))
def test_what_a_document_says_was_paid_before(moved: list[Decimal], amount: Decimal) -> None:
    """It is the amount, or all that was paid; the latest payments, in their order; nothing that the house paid."""
    payments = [Payment(on=DAY, amount=one, method=str(place)) for place, one in enumerate(moved)]
    found = before(payments, amount)
    assert min(amount, sum((one for one in moved if one > ZERO), ZERO)) == sum((one.amount for one in found), ZERO)
    assert all(one.amount > ZERO for one in found)
    assert [int(one.method) for one in found] == sorted(int(one.method) for one in found)
