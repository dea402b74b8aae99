"""Refusals and faults as values, and every sentence of the rules, repeated here because people act on them."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from saleroom.accounts.domain.accounts import parse_password, parse_username
from saleroom.bidding.domain import selling
from saleroom.bidding.domain.errors import AlreadyLeading
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


def test_what_is_invalid_says_all_its_faults() -> None:
    """The message has each fault of each field, with the field's name."""
    refused = Invalid({"a": [Fault("x", "must be"), Fault("y", "must not be")], "b": [Fault("z", "is")]})
    assert "a: must be; a: must not be; b: is" == refused.message == str(refused)
    assert {"a": [Fault("x", "must be")]} == Invalid.one("a", "x", "must be").faults


FORMAT = 'must be an amount such as "12.50": digits, at most one point, nothing else'
STARTING, RESERVE = "must be at least the starting price", "must be at least the reserve price"
NARROW = "must be no more than 8 times as wide as high, or as high as wide"
Said = tuple[str, str, dict[str, Any]]


def _tiers(*rows: tuple[str, str]) -> list[Tier]:
    return [Tier(Decimal(start), Decimal(step)) for start, step in rows]


def _draft(**terms: Any) -> Callable[[], object]:
    return lambda: selling.create("gid", ADA, Draft(name="Clock", starting_price=eur("100"), **terms), T0)


SAID: list[tuple[str, Callable[[], Any], list[Said]]] = [
    ("money", lambda: parse_money("x"), [("money_format", FORMAT, {})]),
    ("money", lambda: parse_money("-1"), [("money_negative", "must not be negative", {})]),
    ("money", lambda: parse_money("1.2345"), [("money_decimals", "must have at most 3 decimals", {})]),
    ("money", lambda: parse_money("01"), [("money_format", "must be written without leading zeros", {})]),
    ("money", lambda: parse_money("01.5"), [("money_format", "must be written without leading zeros", {})]),
    ("money", lambda: parse_money("9" * 18), [("money_digits", "must have at most 17 digits before the point", {})]),
    (
        "name",
        lambda: parse_username("a b"),
        [("username_format", "must be 3 to 32 characters of a-z, 0-9, '.', '_' and '-'", {})],
    ),
    (
        "password",
        lambda: parse_password("x"),
        [("password_length", "must have 8 to 256 characters", {"least": 8, "most": 256})],
    ),
    ("no tiers", lambda: ladder_faults([]), [("ladder_empty", "must have at least one tier", {})]),
    (
        "tiers",
        lambda: ladder_faults(_tiers(*((f"{50 - n}", "0") for n in range(51)))),
        [
            ("ladder_too_long", "must have at most 50 tiers", {"most": 50}),
            ("ladder_start", "the first tier must be from 0", {}),
            ("ladder_order", "each tier must be from a higher price than the one before", {}),
            ("step_not_positive", "every step must be above 0", {}),
        ],
    ),
    (
        "large",
        lambda: size_fault(10_000, 6_001),
        [("image_too_large", "must have at most 60 million pixels", {"most": 60})],
    ),
    (
        "small",
        lambda: size_fault(15, 16),
        [("image_too_small", "must be at least 16 pixels wide and high", {"least": 16})],
    ),
    ("narrow", lambda: size_fault(16, 129), [("image_too_narrow", NARROW, {"most": 8})]),
    (
        "photos",
        lambda: refuse_bad_list([str(n) for n in range(13)]),
        [("too_many_photos", "must be at most 12", {"most": 12})],
    ),
    ("photos", lambda: refuse_bad_list(["a", "a"]), [("repeated", "must each be given once", {})]),
    ("reserve", _draft(reserve_price=eur("1")), [("below_starting_price", STARTING, {})]),
    (
        "buy now",
        _draft(reserve_price=eur("100"), buy_now_price=eur("1")),
        [("below_starting_price", STARTING, {}), ("below_reserve_price", RESERVE, {})],
    ),
    (
        "end",
        _draft(ends_at=T0, starts_at=T0),
        [("not_in_future", "must be in the future", {}), ("not_after_start", "must be after the start", {})],
    ),
    (
        "cap",
        _draft(ends_at=after(9), soft_close=SoftClose(1, 1, after(8))),
        [("cap_before_end", "its cap must not be before the end", {})],
    ),
]


@pytest.mark.parametrize(("about", "act", "said"), SAID)
def test_each_fault_says_what_would_be_right(about: str, act: Callable[[], Any], said: list[Said]) -> None:
    """Each fault has its code, its sentence, and the sentence's numbers as facts."""
    found: Any = None

    def ask() -> None:
        nonlocal found
        found = act()

    refused = refusal(ask)
    if isinstance(refused, Invalid):
        found = [fault for faults in refused.faults.values() for fault in faults]
    faults = found if isinstance(found, list) else [found]
    assert said == [(fault.code, fault.message, fault.facts) for fault in faults], about
