"""Roles and approvals: given to users by staff, and noted."""

from __future__ import annotations

from msgspec import structs

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.domain.rights import Right, Role, refuse_to_change_role
from saleroom.accounts.service import account_mails
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.audit import note
from saleroom.accounts.storage import accounts, people
from saleroom.storage.database import Transaction


def give_role(tx: Transaction, token: str, username: str, role: Role, reason: str = "") -> Account:
    """Give a user another role, and return the user.

    Raises Unauthenticated, MissingRight, UnknownUser, and as `domain.rights.refuse_to_change_role`.
    """
    by = authenticate(tx, token, Right.MANAGE_PEOPLE)
    owners = people.lock(tx, username, by.id)
    # Somebody else may have taken this user's own role until the rows were locked.
    return _give_role(tx, authenticate(tx, token, Right.MANAGE_PEOPLE), owners, username, role, reason)


def set_role(tx: Transaction, username: str, role: Role, reason: str = "") -> Account:
    """Give a user another role by the command line of the house. Raises UnknownUser or LastOwner."""
    return _give_role(tx, None, people.lock(tx, username, None), username, role, reason)


def _give_role(
    tx: Transaction, by: Account | None, locked: list[Account], username: str, role: Role, reason: str
) -> Account:
    user = _known(next((one for one in locked if one.username == username), None))
    others = any(one.role is Role.OWNER and one.bar is None and one.id != user.id for one in locked)
    own = by is not None and by.id == user.id
    barred = user.bar is not None
    refuse_to_change_role(None if by is None else by.role, user.role, role, other_owners=others, own=own, barred=barred)
    if user.role is role:
        return user
    accounts.set_role(tx, user.id, role)
    note(tx, by, Act.ROLE_CHANGED, user.id, {"role": user.role.value}, {"role": role.value}, reason)
    return structs.replace(user, role=role)


def approve_seller(tx: Transaction, token: str, username: str, *, approved: bool, reason: str = "") -> Account:
    """Approve a user as a seller, or take the approval back; return the user.

    Raises Unauthenticated, MissingRight or UnknownUser.
    """
    return _approve(tx, authenticate(tx, token, Right.APPROVE_SELLERS), username, reason, approved=approved)


def set_seller(tx: Transaction, username: str, *, approved: bool, reason: str = "") -> Account:
    """Approve a user as a seller by the command line of the house, or take the approval back. Raises UnknownUser."""
    return _approve(tx, None, username, reason, approved=approved)


def _approve(tx: Transaction, by: Account | None, username: str, reason: str, *, approved: bool) -> Account:
    user = _known(people.find(tx, username, lock=True))
    if (user.seller_since is not None) == approved:
        return user
    now = tx.now() if approved else None
    accounts.set_seller(tx, user.id, now)
    act = Act.SELLER_APPROVED if approved else Act.SELLER_WITHDRAWN
    note(tx, by, act, user.id, {"seller": not approved}, {"seller": approved}, reason)
    if approved:
        account_mails.tell(tx, user.id, "seller_approved")
    return structs.replace(user, seller_since=now)


def _known(user: Account | None) -> Account:
    if user is None:
        raise UnknownUser
    return user
