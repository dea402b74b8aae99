"""Refusals and faults as values, and every sentence of the rules, repeated here because people act on them."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from saleroom.accounts.domain.accounts import parse_password, parse_username
from saleroom.bidding.domain import selling
from saleroom.bidding.domain.errors import AlreadyLeading, AuctionChanged
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.domain.increments import Tier, ladder_faults
from saleroom.bidding.domain.photos import refuse_bad_list, size_fault
from saleroom.bidding.domain.selling import Draft
from saleroom.kernel.errors import Fault, Invalid, Refusal, TooManyRequests
from saleroom.kernel.money import parse_money
from tests.bidding.domain.examples import ADA, after, eur, refusal
from tests.bidding.domain.playing import T0


def test_a_refusal_says_its_sentence() -> None:
    """The message is the docstring's first line or the given one; as text it is the same, and the facts are kept."""
    assert "Too many tries; wait a while, then try again." == TooManyRequests().message == str(TooManyRequests())
    refused = AlreadyLeading("Not so.", minimum_bid=Decimal(3))
    assert ("Not so.", "Not so.", {"minimum_bid": Decimal(3)}) == (refused.message, str(refused), refused.facts)
    assert "Not so." == AuctionChanged("Not so.").message


def test_a_refusal_without_any_words_is_a_fault_of_ours() -> None:
    """A refusal whose class has no docstring cannot be made, so that a missing one is noticed."""

    class SilentRefusal(Refusal):
        __doc__ = None

    with pytest.raises(IndexError):
        SilentRefusal()


def test_faults_are_the_same_where_they_say_the_same() -> None:
    """Faults with the same code and message are equal, also in a set; facts do not count, as they follow from these."""
    one, same = Fault("a", "b", most=1), Fault("a", "b")
    assert one == same
    assert hash(one) == hash(same)
    assert hash(one) != hash(Fault("a", "c"))
    assert 2 == len({one, same, Fault("a", "c")})
    for other in (Fault("a", "c"), Fault("c", "b"), "a", None):
        assert one != other


def test_the_message_has_all_faults() -> None:
    """The message has each fault of each field, with the field's name."""
    refused = Invalid({"a": [Fault("x", "must be"), Fault("y", "must not be")], "b": [Fault("z", "is")]})
    assert "a: must be; a: must not be; b: is" == refused.message == str(refused)
    assert {"a": [Fault("x", "must be")]} == Invalid.one("a", "x", "must be").faults


FORMAT = 'must be an amount such as "12.50": digits, at most one point, nothing else'
STARTING, RESERVE = "must be at least the starting price", "must be at least the reserve price"
NARROW = "must be no more than 8 times as wide as high, or as high as wide"


def said(message: str, *, code: str, **facts: Any) -> tuple[str, str, dict[str, Any]]:
    """Return a fault as it is told."""
    return message, code, facts


def _tiers(*rows: tuple[str, str]) -> list[Tier]:
    return [Tier(Decimal(start), Decimal(step)) for start, step in rows]


def _draft(**terms: Any) -> Callable[[], object]:
    return lambda: selling.create("gid", ADA, Draft(name="Clock", starting_price=eur("100"), **terms), T0)


SAID: list[tuple[Callable[[], Any], list[Any]]] = [
    (lambda: parse_money("x"), [said(FORMAT, code="money_format")]),
    (lambda: parse_money("-1"), [said("must not be negative", code="money_negative")]),
    (lambda: parse_money("1.2345"), [said("must have at most 3 decimals", code="money_decimals")]),
    (lambda: parse_money("01"), [said("must be written without leading zeros", code="money_format")]),
    (lambda: parse_money("01.5"), [said("must be written without leading zeros", code="money_format")]),
    (lambda: parse_money("9" * 18), [said("must have at most 17 digits before the point", code="money_digits")]),
    (
        lambda: parse_username("a b"),
        [said("must be 3 to 32 characters of a-z, 0-9, '.', '_' and '-'", code="username_format")],
    ),
    (
        lambda: parse_password("x"),
        [said("must have 8 to 256 characters", code="password_length", least=8, most=256)],
    ),
    (lambda: ladder_faults([]), [said("must have at least one tier", code="ladder_empty")]),
    (
        lambda: ladder_faults(_tiers(*((f"{50 - n}", "0") for n in range(51)))),
        [
            said("must have at most 50 tiers", code="ladder_too_long", most=50),
            said("the first tier must be from 0", code="ladder_start"),
            said("each tier must be from a higher price than the one before", code="ladder_order"),
            said("every step must be above 0", code="step_not_positive"),
        ],
    ),
    (
        lambda: size_fault(10_000, 6_001),
        [said("must have at most 60 million pixels", code="image_too_large", most=60)],
    ),
    (
        lambda: size_fault(15, 16),
        [said("must be at least 16 pixels wide and high", code="image_too_small", least=16)],
    ),
    (lambda: size_fault(16, 129), [said(NARROW, code="image_too_narrow", most=8)]),
    (
        lambda: refuse_bad_list([str(n) for n in range(13)]),
        [said("must be at most 12", code="too_many_photos", most=12)],
    ),
    (lambda: refuse_bad_list(["a", "a"]), [said("must each be given once", code="repeated")]),
    (_draft(reserve_price=eur("1")), [said(STARTING, code="below_starting_price")]),
    (
        _draft(reserve_price=eur("100"), buy_now_price=eur("1")),
        [said(STARTING, code="below_starting_price"), said(RESERVE, code="below_reserve_price")],
    ),
    (
        _draft(ends_at=T0, starts_at=T0),
        [said("must be in the future", code="not_in_future"), said("must be after the start", code="not_after_start")],
    ),
    (
        _draft(ends_at=after(9), soft_close=SoftClose(1, 1, after(8))),
        [said("its cap must not be before the end", code="cap_before_end")],
    ),
]


@pytest.mark.parametrize(("act", "told"), SAID)
def test_each_fault_says_what_would_be_right(act: Callable[[], Any], told: list[Any]) -> None:
    """Each fault has its code, its sentence, and the sentence's numbers as facts."""
    found: Any = None

    def ask() -> None:
        nonlocal found
        found = act()

    refused = refusal(ask)
    if isinstance(refused, Invalid):
        found = [fault for faults in refused.faults.values() for fault in faults]
    faults = found if isinstance(found, list) else [found]
    assert told == [said(fault.message, code=fault.code, **fault.facts) for fault in faults]
