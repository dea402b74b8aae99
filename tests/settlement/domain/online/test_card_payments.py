"""Amounts as the card provider counts them, what is posted, and when it is asked again."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.settlement.domain.online.card_payments import (
    NOT_TAKEN,
    THREE_DECIMAL,
    ZERO_DECIMAL,
    OnlineState,
    PaymentPage,
    ProviderPayment,
    back_off,
    booked,
    from_minor,
    next_look,
    to_charge,
    to_minor,
)

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        ("10.000", "USD", 1000),
        ("500.000", "JPY", 500),
        ("500.500", "JPY", None),
        ("5.120", "KWD", 5120),
        ("5.124", "KWD", None),
        ("5.000", "ISK", 500),
        ("5.500", "ISK", None),
        ("10.450", "HUF", 1045),
        ("14.885", "EUR", None),
        ("0.000", "EUR", None),
        ("-1.000", "EUR", None),
        ("999999.990", "EUR", 99_999_999),
        ("1000000.000", "EUR", None),
        ("5.000", "UGX", None),
    ],
)
def test_the_provider_counts_in_its_own_minor_units(amount: str, currency: str, minor: int | None) -> None:
    """The examples of docs.stripe.com/currencies (2026-11-26): 10 USD, 500 JPY, 5.124 KWD, 5 ISK, 10.45 HUF; up to 8 digits."""
    assert minor == to_minor(Decimal(amount), currency)


@given(
    minor=st.integers(1, 99_999_999),
    currency=st.sampled_from(sorted({"EUR", "USD", "HUF", "TWD", *ZERO_DECIMAL, *THREE_DECIMAL} - NOT_TAKEN)),
)
def test_what_the_provider_counts_comes_back_the_same(minor: int, currency: str) -> None:
    """An amount of the provider is one of the house, and the same to it again; one whose last digit it refuses is none."""
    again = to_minor(from_minor(minor, currency), currency)
    assert again == (None if currency in THREE_DECIMAL and minor % 10 else minor)


@pytest.mark.parametrize(("left", "charged"), [("5.124", "5.120"), ("5.125", "5.130"), ("0.004", "0.000")])
def test_dinars_are_charged_in_two_decimals(left: str, charged: str) -> None:
    """Half up; other currencies are charged as they are owed."""
    assert Decimal(charged) == to_charge(Decimal(left), "KWD")
    assert Decimal(left) == to_charge(Decimal(left), "EUR")


def seen(amount: int, currency: str) -> ProviderPayment:
    """Return a payment that is paid."""
    return ProviderPayment(
        session="cs", sheet=PaymentPage.COMPLETE, paid=True, amount=amount, currency=currency, intent="pi"
    )


def test_a_rounded_payment_leaves_nothing_and_another_amount_rounds_nothing() -> None:
    """5.124 dinars are paid by 5.120: 0.004 less is owed. If something else came, or is open, nothing is rounded."""
    assert Decimal("-0.004") == booked(seen(5120, "KWD"), Decimal("5.120"), Decimal("5.124")).rounded
    assert Decimal("0.000") == booked(seen(5000, "KWD"), Decimal("5.120"), Decimal("5.124")).rounded
    assert Decimal("0.000") == booked(seen(5120, "KWD"), Decimal("5.120"), Decimal("9.000")).rounded
    found = booked(seen(1488, "EUR"), Decimal("14.880"), Decimal("0.000"))
    assert (Decimal("14.880"), Decimal("0.000")) == (found.received, found.rounded)


def test_a_payment_is_looked_at_less_often_as_it_gets_older() -> None:
    """A page within ten minutes, a refund within a day, a paid one within two weeks and for half a year; the others never."""

    def minutes(state: OnlineState, age: timedelta, *, under_way: bool = False) -> float | None:
        found = next_look(state, NOW - age, NOW, under_way=under_way)
        return None if found is None else (found - NOW) / timedelta(minutes=1)

    assert (1, 5, 10) == tuple(minutes(OnlineState.OPEN, timedelta(minutes=age)) for age in (0, 10, 90))
    assert 1440 == minutes(OnlineState.PAID, timedelta(days=9), under_way=True)
    assert (1440, 7200, 20160) == tuple(minutes(OnlineState.PAID, timedelta(days=age)) for age in (0, 10, 90))
    assert None is minutes(OnlineState.PAID, timedelta(days=181))
    assert None is minutes(OnlineState.EXPIRED, timedelta(0))
    assert None is minutes(OnlineState.UNCLEAR, timedelta(0))


def test_a_provider_that_is_away_is_left_alone_for_longer_each_time() -> None:
    """From one second to ten minutes, or as long as it asks for, up to an hour."""
    assert [1, 2, 4, 600, 30, 3600] == [
        back_off(0, 0), back_off(1, 0), back_off(2, 0), back_off(99, 0), back_off(0, 30), back_off(0, 10**6)
    ]  # fmt: skip
