"""Money from the bank, as rules: the numbers that payers write, what is sure, and what is the same payment."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec import structs

from saleroom.settlement.domain.bank.banking import (
    BankPayment,
    BankStatement,
    Certainty,
    Open,
    account_fault,
    digests,
    numbers_in,
    verdict,
)

PAYMENT = BankPayment(
    account="DE75512108001245126199", on=date(2026, 11, 20), amount=Decimal("125.000"), currency="EUR", payer="Ada"
)
INVOICE = Open(number="INV-2026-00012", currency="EUR", due=Decimal("125.000"), owed=Decimal("125.000"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INV-2026-00012", ("INV-2026-00012",)),
        ("Rechnung inv 2026 00012, danke", ("INV-2026-00012",)),
        ("INV202600012", ("INV-2026-00012",)),
        ("RE. INV/2026/000 12", ("INV-2026-00012",)),
        ("INV-2026-00012 15.12.2026", ("INV-2026-00012",)),
        ("INV-2026-123456", ("INV-2026-123456",)),
        ("INV-2026-00012 INV-2026-00013 INV-2026-00012", ("INV-2026-00012", "INV-2026-00013")),
        ("INV-2026-0001", ()),
        ("MAINV-2026-00012", ()),
        ("STM-2026-00012", ()),
        ("", ()),
    ],
)
def test_numbers_are_found_as_payers_write_them(text: str, expected: tuple[str, ...]) -> None:
    """Blanks, other marks, small letters and none at all between the parts; a number that is cut off is none."""
    assert expected == numbers_in([text])


@given(some.integers(2000, 2999), some.integers(1, 10**9 - 1), some.sampled_from(["-", " ", "", "/", ". "]))
def test_every_number_is_found(year: int, place: int, between: str) -> None:
    """Whatever the number, and whatever stands between its parts."""
    text = between.join(("INV", str(year), f"{place:05d}"))
    assert (f"INV-{year}-{place:05d}",) == numbers_in([f"Bill {text} thanks"])


def test_only_the_whole_amount_of_one_open_invoice_is_sure() -> None:
    """Another amount, another currency, two invoices, none, or one that is paid already is for a person."""
    assert Certainty.SURE is verdict(PAYMENT, [INVOICE])
    assert Certainty.DOUBTFUL is verdict(structs.replace(PAYMENT, amount=Decimal("125.010")), [INVOICE])
    assert Certainty.DOUBTFUL is verdict(structs.replace(PAYMENT, amount=Decimal("124.990")), [INVOICE])
    assert Certainty.DOUBTFUL is verdict(structs.replace(PAYMENT, currency="CHF"), [INVOICE])
    assert Certainty.DOUBTFUL is verdict(PAYMENT, [INVOICE, INVOICE])
    assert Certainty.DOUBTFUL is verdict(PAYMENT, [])
    paid = Open(number=INVOICE.number, currency="EUR", due=INVOICE.due, owed=Decimal("0.000"))
    assert Certainty.DOUBTFUL is verdict(PAYMENT, [paid])


def test_the_same_payment_is_known_in_any_file() -> None:
    """Two that look the same are two, in this order in each file; another payment beside them changes nothing."""
    other = BankPayment(account=PAYMENT.account, on=PAYMENT.on, amount=Decimal("1.000"), currency="EUR", payer="Ada")
    first, second = digests([PAYMENT, PAYMENT])
    assert first != second
    assert [first, digests([other])[0], second] == digests([PAYMENT, other, PAYMENT])


def test_a_statement_of_another_account_is_refused() -> None:
    """Only if the house has said which account is its own; a file that names none by IBAN may be of any."""
    statement = BankStatement((PAYMENT,), 0)
    assert None is account_fault(statement, PAYMENT.account) is account_fault(statement, None)
    written = " ".join((PAYMENT.account[:4].lower(), PAYMENT.account[4:]))
    assert None is account_fault(statement, written), "blanks and small letters do not matter"
    fault = account_fault(statement, "DE02120300000000202051")
    assert fault is not None and "other_account" == fault.code
    nameless = BankStatement((structs.replace(PAYMENT, account=""),), 0)
    assert None is account_fault(nameless, None)
    fault = account_fault(nameless, PAYMENT.account)
    assert fault is not None and "no_iban" == fault.code
