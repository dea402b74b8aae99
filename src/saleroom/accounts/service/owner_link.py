"""The first owner: a house without one gives a link, and the first who opens it while logged in becomes the owner."""

from __future__ import annotations

from msgspec import structs

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import InvalidOwnerLink
from saleroom.accounts.domain.owner_link import Sign, is_owner_code, owner_code
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.audit import note
from saleroom.accounts.storage import accounts, people
from saleroom.accounts.storage.people import PeopleFilter
from saleroom.storage import secrets
from saleroom.storage.database import Transaction


def has_owner(tx: Transaction) -> bool:
    """Return whether the house has an owner."""
    return bool(people.page(tx, PeopleFilter(role=Role.OWNER), 1).rows)


def make(tx: Transaction, sign: Sign) -> str | None:
    """Return the code of a new link; None if the house has an owner."""
    return None if has_owner(tx) else owner_code(tx.now(), sign)


def take(tx: Transaction, token: str, code: str, sign: Sign) -> Account:
    """Make the token's user the owner of a house without one. Raises Unauthenticated, MissingRight, Barred or InvalidOwnerLink.

    Of several who open a link at the same time one becomes the owner: each waits here for the one before.
    """
    account = authenticate(tx, token, Right.ACCOUNT)
    if account.bar is not None:
        account.bar.refuse(Right.MANAGE_PEOPLE)
    secrets.lock(tx)
    accounts.lock_user(tx, account.id)
    if has_owner(tx) or not is_owner_code(code, tx.now(), sign):
        raise InvalidOwnerLink
    accounts.set_role(tx, account.id, Role.OWNER)
    before, after = {"role": account.role.value}, {"role": Role.OWNER.value}
    note(tx, account, Act.ROLE_CHANGED, account.id, before, after, "by the owner link")
    return structs.replace(account, role=Role.OWNER)
