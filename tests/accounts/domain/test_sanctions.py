"""Sanctions: who may impose which on whom, what they take, and when they end."""

from datetime import UTC, datetime, timedelta

import pytest

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import LastOwner, NotAboveThem, NotBarred, NotOneself
from saleroom.accounts.domain.rights import RIGHTS, STAFF_RIGHTS, Right, Role, rank
from saleroom.accounts.domain.sanctions import (
    BARRED_RIGHTS,
    Bar,
    Person,
    Sanction,
    in_force,
    refuse_end,
    refuse_to_lift,
    refuse_to_sanction,
)
from saleroom.kernel.errors import Barred, Contradiction

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("other", Role)
def test_nobody_sanctions_somebody_above_or_beside_them(role: Role, other: Role) -> None:
    """Only a user below can be sanctioned, whatever else is so."""
    by, on = Person(1, role), Person(2, other)
    if rank(other) < rank(role):
        refuse_to_sanction(by, on, other_owners=True)
    else:
        with pytest.raises(NotAboveThem):
            refuse_to_sanction(by, on, other_owners=True)


@pytest.mark.parametrize("role", Role)
def test_nobody_sanctions_themselves(role: Role) -> None:
    """The same user is refused before their roles are compared."""
    with pytest.raises(NotOneself):
        refuse_to_sanction(Person(1, role), Person(1, role), other_owners=True)


def test_the_command_line_stands_above_all_but_keeps_an_owner() -> None:
    """It may sanction an owner as long as another one, who is not barred, is left; it may sanction everybody else."""
    refuse_to_sanction(None, Person(1, Role.OWNER), other_owners=True)
    refuse_to_sanction(None, Person(1, Role.MANAGER), other_owners=False)
    with pytest.raises(LastOwner):
        refuse_to_sanction(None, Person(1, Role.OWNER), other_owners=False)


@pytest.mark.parametrize("kind", [Sanction.SUSPENSION, Sanction.BAN])
def test_a_bar_takes_bids_sales_questions_and_the_rights_of_staff(kind: Sanction) -> None:
    """What is left is to read one's own, to change the account and to watch lots."""
    for role in Role:
        barred = Account(id=1, username="ada", role=role, created_at=NOW, bar=Bar(kind, "Why", LATER))
        assert {Right.READ, Right.ACCOUNT, Right.WATCH} == barred.rights
        for right in RIGHTS[role] - barred.rights:
            with pytest.raises(Barred) as refused:
                barred.refuse_without(right)
            facts = {"sanction": kind.value, "reason": "Why", "until": LATER}
            assert facts == refused.value.facts
        for right in barred.rights:
            barred.refuse_without(right)
    assert {Right.ASK, Right.BID, Right.SELL} | STAFF_RIGHTS == BARRED_RIGHTS


def test_the_refusal_says_what_why_and_until_when() -> None:
    """The message has the state in words, the end if there is one, and the reason."""
    for bar, said in (
        (Bar(Sanction.BAN, "Shill bids"), "You are banned here: Shill bids"),
        (Bar(Sanction.SUSPENSION, "Unpaid", LATER), "You are suspended here until 2030-01-02T00:00:00.000000Z: Unpaid"),
    ):
        with pytest.raises(Barred) as refused:
            bar.refuse(Right.BID)
        assert said == refused.value.message


def test_a_bar_ends_at_its_end() -> None:
    """It is in force before its end and no longer from that instant on; without an end it stays."""
    bar = Bar(Sanction.BAN, "Why", LATER)
    assert bar == in_force(bar, LATER - timedelta(microseconds=1))
    assert None is in_force(bar, LATER) is in_force(None, NOW)
    endless = Bar(Sanction.BAN, "Why")
    assert endless == in_force(endless, NOW + timedelta(days=10_000))


@pytest.mark.parametrize(
    ("kind", "until", "fault"),
    [
        (Sanction.SUSPENSION, None, "end_required"),
        (Sanction.WARNING, LATER, "end_of_warning"),
        (Sanction.BAN, NOW, "end_in_past"),
        (Sanction.SUSPENSION, NOW - timedelta(days=1), "end_in_past"),
        (Sanction.SUSPENSION, LATER, None),
        (Sanction.BAN, LATER, None),
        (Sanction.BAN, None, None),
        (Sanction.WARNING, None, None),
    ],
)
def test_an_end_fits_its_sanction(kind: Sanction, until: datetime | None, fault: str | None) -> None:
    """A suspension has an end, a ban may have one, a warning has none, and no end has passed."""
    if fault is None:
        refuse_end(kind, until, NOW)
        return
    with pytest.raises(Contradiction) as refused:
        refuse_end(kind, until, NOW)
    assert [fault] == [one.code for one in refused.value.faults["until"]]


def test_only_a_bar_is_lifted() -> None:
    """Without one there is nothing to lift."""
    bar = Bar(Sanction.BAN, "Why")
    assert bar == refuse_to_lift(bar)
    with pytest.raises(NotBarred):
        refuse_to_lift(None)
