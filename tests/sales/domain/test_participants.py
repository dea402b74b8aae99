"""The people of a sale: who may bid, up to what, under which paddle; and two who are one."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.accounts.domain.accounts import parse_username
from saleroom.bidding.domain.errors import BeyondLimit, NotRegistered, RegistrationDeclined, RegistrationPending
from saleroom.bidding.domain.paddles import name_of
from saleroom.kernel.errors import Refusal
from saleroom.kernel.parties import Party
from saleroom.sales.domain.errors import BidsStay, NoRegistration, PaddleFixed, PaddleTaken, SaleOver
from saleroom.sales.domain.participants import (
    HOUSE_PADDLES,
    Exposure,
    Participant,
    Standing,
    choose_paddle,
    free_paddle,
    merged,
    on_registration,
    refuse_beyond,
    refuse_to_bid,
    second_name,
)
from saleroom.sales.domain.sale import Names, Registration, SaleStatus
from tests.bidding.domain.examples import eur
from tests.bidding.domain.playing import T0
from tests.sales.domain.examples import a_sale

AMOUNTS = st.integers(0, 1000).map(Decimal)


def one(number: int = 1, **more: Any) -> Participant:
    """Return a participant, approved unless `more` says otherwise."""
    user = Party(number, f"user{number}")
    said = {"standing": Standing.APPROVED, "registered_at": T0, **more}
    return Participant(id=number, gid=f"p{number}", sale_id=1, user=user, **said)


def code(refused: Any, *args: Any) -> str | None:
    """Return the code of the refusal, None without one."""
    try:
        refused(*args)
    except Refusal as refusal:
        return refusal.code
    return None


def test_who_registers_is_approved_or_waits() -> None:
    """An open sale approves up to its limit, one with approval lets people wait, and one for everybody takes nobody."""
    limit = eur("500")
    assert (Standing.APPROVED, None) == on_registration(a_sale(registration=Registration.OPEN), None)
    assert (Standing.LIMITED, limit) == on_registration(
        a_sale(registration=Registration.OPEN, limit_default=limit), None
    )
    assert (Standing.PENDING, limit) == on_registration(
        a_sale(registration=Registration.APPROVAL, limit_default=limit), None
    )
    with pytest.raises(NoRegistration):
        on_registration(a_sale(), None)


def test_a_second_registration_changes_nothing() -> None:
    """Who is a participant stays what they are; somebody who is declined hears why; a sale that is over takes nobody."""
    sale = a_sale(registration=Registration.OPEN)
    assert (Standing.LIMITED, eur("7")) == on_registration(sale, one(standing=Standing.LIMITED, limit=eur("7")))
    with pytest.raises(RegistrationDeclined) as refused:
        on_registration(sale, one(standing=Standing.DECLINED, reason="Owes us."))
    assert {"sale": "sale", "reason": "Owes us."} == refused.value.facts
    with pytest.raises(SaleOver):
        on_registration(structs.replace(sale, status=SaleStatus.CLOSED), None)


@pytest.mark.parametrize("registration", list(Registration))
@pytest.mark.parametrize("names", list(Names))
def test_who_may_bid(registration: Registration, names: Names) -> None:
    """Strangers bid where nobody registers and usernames are shown; approved ones everywhere; declined ones nowhere."""
    sale = a_sale(registration=registration, names=names)
    is_open = registration is Registration.NONE and names is Names.USERNAMES
    assert (None if is_open else NotRegistered.code) == code(refuse_to_bid, sale, None)
    pending = one(standing=Standing.PENDING)
    assert (None if is_open else RegistrationPending.code) == code(refuse_to_bid, sale, pending)
    assert RegistrationDeclined.code == code(refuse_to_bid, sale, one(standing=Standing.DECLINED, reason="No."))
    for standing in (Standing.APPROVED, Standing.LIMITED):
        assert code(refuse_to_bid, sale, one(standing=standing)) is None


def test_a_refusal_names_the_figures() -> None:
    """Somebody who leads by 300 and has bought for 100 can go to 600 of 1000 elsewhere, and to 900 where they lead."""
    exposure = Exposure({1: eur("300"), 2: eur("100")})
    refuse_beyond(eur("1000"), exposure, 3, eur("600"))
    refuse_beyond(eur("1000"), exposure, 1, eur("900"))
    with pytest.raises(BeyondLimit) as refused:
        refuse_beyond(eur("1000"), exposure, 3, eur("600.001"))
    figures = {"limit": eur("1000"), "exposure": eur("400"), "asked": eur("600.001"), "left": eur("600")}
    assert figures == refused.value.facts


@given(AMOUNTS, st.dictionaries(st.integers(1, 4), AMOUNTS), st.integers(1, 5), AMOUNTS)
def test_nobody_passes_the_limit(limit: Decimal, held: dict[int, Decimal], lot: int, asked: Decimal) -> None:
    """After a bid that is not refused the exposure is within the limit, and what is left can be bid, and nothing above it."""
    exposure = Exposure(held)
    left = limit - exposure.beside(lot)
    refused = code(refuse_beyond, limit, exposure, lot, asked)
    assert (refused is None) == (max(asked, exposure.on(lot)) <= left)
    if refused is None:
        assert Exposure({**held, lot: max(asked, exposure.on(lot))}).total <= limit


@given(st.sets(st.integers(1, 130)))
def test_a_free_paddle_is_free_and_not_reserved(taken: set[int]) -> None:
    """The next paddle is the lowest one that nobody has and that staff do not keep for themselves."""
    found = free_paddle(taken)
    assert found not in taken and found not in HOUSE_PADDLES
    assert all(number in taken for number in range(HOUSE_PADDLES.stop, found))


def test_staff_choose_a_paddle() -> None:
    """Any number that nobody has, also a reserved one; none is changed under which others have seen bids."""
    assert 7 == choose_paddle(7, None, {8}, has_bid=False)
    assert 9 == choose_paddle(None, 9, {8}, has_bid=True) == choose_paddle(9, 9, set(), has_bid=True)
    assert HOUSE_PADDLES.stop == choose_paddle(None, None, set(), has_bid=True)
    with pytest.raises(PaddleTaken) as refused:
        choose_paddle(8, None, {8, 100}, has_bid=False)
    assert {"paddle": 8, "free": 101} == refused.value.facts
    with pytest.raises(PaddleFixed):
        choose_paddle(7, 9, set(), has_bid=True)


def test_a_paddle_as_a_name() -> None:
    """It is the name of everybody in a sale of paddles, and of guests in every sale."""
    usernames, paddles = a_sale(), a_sale(names=Names.PADDLES)
    assert [None, "#12"] == [second_name(sale, one(paddle=12)) for sale in (usernames, paddles)]
    assert ["#12", "#12"] == [second_name(sale, one(paddle=12, is_guest=True)) for sale in (usernames, paddles)]
    assert second_name(paddles, one()) is None


def test_two_who_are_one() -> None:
    """Who has bid keeps the paddle, the lower limit holds, a refusal to admit holds, and bids of two accounts stay apart."""
    guest = one(1, is_guest=True, paddle=12, limit=eur("500"), standing=Standing.LIMITED, name="Ada", contact="0171")
    user = one(2, paddle=100, limit=eur("900"), standing=Standing.LIMITED)
    both = merged(guest, user, source_has_bid=True, target_has_bid=False)
    assert (2, 12, eur("500"), "Ada", "0171", False) == (
        both.user.id,
        both.paddle,
        both.limit,
        both.name,
        both.contact,
        both.is_guest,
    )
    assert 100 == merged(guest, user, source_has_bid=False, target_has_bid=True).paddle
    assert 100 == merged(guest, user, source_has_bid=False, target_has_bid=False).paddle
    declined = merged(
        one(3, standing=Standing.DECLINED, reason="Owes us."), user, source_has_bid=False, target_has_bid=True
    )
    assert (Standing.DECLINED, "Owes us.") == (declined.standing, declined.reason)
    waits = merged(
        one(3, standing=Standing.PENDING), one(4, standing=Standing.PENDING), source_has_bid=False, target_has_bid=False
    )
    assert Standing.PENDING is waits.standing
    for source, has_bid in ((guest, True), (one(3), False)):
        with pytest.raises(BidsStay):
            merged(source, user, source_has_bid=True, target_has_bid=has_bid)


STANDINGS = st.sampled_from(list(Standing))


@given(STANDINGS, STANDINGS, st.none() | AMOUNTS, st.none() | AMOUNTS)
def test_a_merger_lets_nobody_go_further(
    first: Standing, second: Standing, one_limit: Decimal | None, other_limit: Decimal | None
) -> None:
    """Somebody who was declined stays so, and a limit that held for one of the two holds for the one that is left."""
    made = [
        one(number, standing=standing, limit=limit, reason="No.")
        for number, standing, limit in ((1, first, one_limit), (2, second, other_limit))
    ]
    both = merged(*made, source_has_bid=False, target_has_bid=False)
    if Standing.DECLINED in (first, second):
        assert not both.may_bid
    limits = [each.limit for each in made if each.may_bid and each.limit is not None]
    if both.may_bid and limits:
        assert both.limit == min(limits) and both.standing is Standing.LIMITED


@given(st.integers(1, 99_999))
def test_a_paddle_is_no_username(paddle: int) -> None:
    """No program can take a paddle for a username."""
    assert not isinstance(parse_username(name_of(paddle)), str)
