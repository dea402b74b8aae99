"""Contacts: a user's own, and those of the two whom a sale joins."""

from __future__ import annotations

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts, contacts
from saleroom.storage.database import Transaction


def own(tx: Transaction, token: str) -> str:
    """Return the caller's contact, or an empty text. Raises Unauthenticated."""
    user_id = authenticate(tx, token, Right.ACCOUNT).id
    return contacts.of_users(tx, [user_id]).get(user_id, "")


def change(tx: Transaction, token: str, contact: str) -> None:
    """Replace the caller's contact; an empty one takes it away. Raises Unauthenticated."""
    account = authenticate(tx, token, Right.ACCOUNT)
    accounts.lock_user(tx, account.id)
    contacts.put(tx, account.id, contact)


def of_two(tx: Transaction, own: int, other: int) -> tuple[str, str]:
    """Return the contacts of a winner and a seller; an empty one was not given. The caller knows that both may see them."""
    found = contacts.of_users(tx, [own, other])
    return found.get(own, ""), found.get(other, "")
