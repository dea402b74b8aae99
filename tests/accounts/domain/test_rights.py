"""Rights: the table of roles, and the scopes of tokens."""

import pytest

from saleroom.accounts.domain.errors import LastOwner, NotAboveThem, OnlyStaffSells, RoleAboveOwn, SellerNotApproved
from saleroom.accounts.domain.rights import (
    MEANINGS,
    RIGHTS,
    SCOPE_RIGHTS,
    STAFF_RIGHTS,
    Right,
    Role,
    Scope,
    Sellers,
    is_staff,
    rank,
    refuse_to_change_role,
    refuse_to_offer,
    refuse_without,
    rights_of,
)
from saleroom.accounts.web import words
from saleroom.kernel.errors import MissingRight


def test_every_role_and_right_is_in_its_table() -> None:
    """No role is without a row, no right without words, and the owner has them all."""
    assert set(Role) == set(RIGHTS)
    assert list(Right) == list(MEANINGS)
    assert set(Scope) == set(SCOPE_RIGHTS)
    assert frozenset(Right) == RIGHTS[Role.OWNER]


def test_pages_use_the_same_words() -> None:
    """The translated words for each right are those of the API in English."""
    assert MEANINGS == words.RIGHTS


def test_everybody_may_do_what_a_member_may() -> None:
    """Staff may bid and sell like anyone, and nobody lacks the right to read their own."""
    for role in Role:
        assert RIGHTS[Role.MEMBER] <= RIGHTS[role]
        assert is_staff(role) == (role is not Role.MEMBER)
    assert STAFF_RIGHTS == RIGHTS[Role.OWNER] - RIGHTS[Role.MEMBER]


def test_a_higher_role_has_no_fewer_rights() -> None:
    """Only those who hold a right, or stand above one who does, can give a role that has it."""
    for role in Role:
        for lower in Role:
            if rank(lower) < rank(role) and role in (Role.OWNER, Role.MANAGER):
                assert RIGHTS[lower] <= RIGHTS[role]
    assert rank(Role.OWNER) > rank(Role.MANAGER) > rank(Role.CLERK) == rank(Role.CASHIER) > rank(Role.MEMBER)


@pytest.mark.parametrize("role", Role)
def test_a_token_has_the_rights_that_its_scopes_leave(role: Role) -> None:
    """The rights of a token are those of the role which its scopes have too; a scope adds none, and none leaves the account."""
    assert RIGHTS[role] == rights_of(role)
    assert frozenset() == rights_of(role, frozenset())
    for scope in Scope:
        assert RIGHTS[role] & SCOPE_RIGHTS[scope] == rights_of(role, frozenset({scope}))
        assert Right.READ in SCOPE_RIGHTS[scope]
    assert RIGHTS[role] - {Right.ACCOUNT} == rights_of(role, frozenset(Scope))


def test_a_missing_right_is_named() -> None:
    """The refusal names the right by its code and in words."""
    refuse_without(Right.VOID_BIDS, Role.AUCTIONEER)
    with pytest.raises(MissingRight) as refused:
        refuse_without(Right.VOID_BIDS, Role.MEMBER)
    assert "You may not void bids here; ask those who run the house." == refused.value.message
    assert {"right": "void_bids", "needs": None} == refused.value.facts
    with pytest.raises(MissingRight):
        refuse_without(Right.BID, Role.OWNER, frozenset({Scope.READ}))


CHANGES: list[tuple[Role | None, Role, Role, int, type[Exception] | None]] = [
    (Role.OWNER, Role.MEMBER, Role.OWNER, 1, None),
    (Role.OWNER, Role.OWNER, Role.MEMBER, 2, None),
    (Role.OWNER, Role.OWNER, Role.MEMBER, 1, LastOwner),
    (Role.OWNER, Role.OWNER, Role.OWNER, 1, None),
    (Role.MANAGER, Role.MEMBER, Role.MANAGER, 1, None),
    (Role.MANAGER, Role.MEMBER, Role.OWNER, 1, RoleAboveOwn),
    (Role.MANAGER, Role.OWNER, Role.MEMBER, 2, RoleAboveOwn),
    (Role.CLERK, Role.MEMBER, Role.CASHIER, 1, None),
    (Role.CLERK, Role.MANAGER, Role.MEMBER, 1, RoleAboveOwn),
    (Role.MANAGER, Role.MANAGER, Role.MEMBER, 1, NotAboveThem),
    (Role.CLERK, Role.CASHIER, Role.MEMBER, 1, NotAboveThem),
    (Role.MEMBER, Role.MEMBER, Role.CLERK, 1, RoleAboveOwn),
    (None, Role.MEMBER, Role.OWNER, 0, None),
    (None, Role.OWNER, Role.MEMBER, 1, LastOwner),
    (None, Role.OWNER, Role.MEMBER, 2, None),
]
"""Who changes a role from what to what in a house with so many owners, and the refusal."""


@pytest.mark.parametrize(("by", "was", "now", "owners", "refusal"), CHANGES)
def test_a_role_is_changed_by_those_who_stand_above(
    by: Role | None, was: Role, now: Role, owners: int, refusal: type[Exception] | None
) -> None:
    """The old role is below that of anyone who changes it, the new one is not above it, and the last owner stays."""
    if refusal is None:
        refuse_to_change_role(by, was, now, other_owners=owners > 1)
        return
    with pytest.raises(refusal):
        refuse_to_change_role(by, was, now, other_owners=owners > 1)


def test_staff_may_give_up_their_own_role() -> None:
    """A manager may become a member by their own act; nobody beside them can do that to them."""
    refuse_to_change_role(Role.MANAGER, Role.MANAGER, Role.MEMBER, other_owners=True, own=True)
    with pytest.raises(RoleAboveOwn):
        refuse_to_change_role(Role.MANAGER, Role.MANAGER, Role.OWNER, other_owners=True, own=True)


def test_the_role_of_a_barred_user_is_changed_from_above() -> None:
    """Those beside a barred user do not change the role, those above and the command line do."""
    for by, was in ((Role.MANAGER, Role.MANAGER), (Role.OWNER, Role.OWNER), (Role.CLERK, Role.CASHIER)):
        with pytest.raises(NotAboveThem):
            refuse_to_change_role(by, was, Role.MEMBER, other_owners=True, barred=True)
        refuse_to_change_role(None, was, Role.MEMBER, other_owners=True, barred=True)
    refuse_to_change_role(Role.OWNER, Role.MANAGER, Role.MEMBER, other_owners=False, barred=True)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("approved", [True, False])
def test_who_may_offer_lots(role: Role, approved: bool) -> None:
    """Everyone where everyone sells; staff everywhere; an approved member where approved sellers sell."""
    refuse_to_offer(Sellers.EVERYONE, role, approved=approved)
    for sellers, refusal in ((Sellers.APPROVED, SellerNotApproved), (Sellers.STAFF, OnlyStaffSells)):
        if is_staff(role) or (approved and sellers is Sellers.APPROVED):
            refuse_to_offer(sellers, role, approved=approved)
            continue
        with pytest.raises(refusal):
            refuse_to_offer(sellers, role, approved=approved)
