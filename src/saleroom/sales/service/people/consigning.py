"""Consignors: those who bring lots to sales; added, changed, listed."""

from __future__ import annotations

import secrets
from typing import Any

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts
from saleroom.kernel.identifiers import GID_BYTES
from saleroom.kernel.instants import instant
from saleroom.sales.domain.consignors import subject_of
from saleroom.sales.domain.errors import CodeTaken, UnknownConsignor
from saleroom.sales.domain.views import ConsignorView
from saleroom.sales.service.people.own_lots import refuse_account
from saleroom.sales.storage import consignors, lots
from saleroom.sales.storage.consignors import Consignor
from saleroom.storage.database import Transaction

LISTED_MAX = 1_000


def add(tx: Transaction, token: str, code: str, name: str, contact: str, username: str | None) -> ConsignorView:
    """Add a consignor. Raises Unauthenticated, MissingRight, CodeTaken or UnknownUser."""
    staff = authenticate(tx, token, Right.CATALOGUE)
    if consignors.find(tx, code) is not None:
        raise CodeTaken
    gid = secrets.token_urlsafe(GID_BYTES)
    consignors.add(tx, gid, code, name, contact, _user(tx, username))
    audit.note(tx, staff, Act.CONSIGNOR_ADDED, subject_of(code), {}, {})
    return _view(_known(tx, code))


def change(tx: Transaction, token: str, code: str, changes: dict[str, Any]) -> ConsignorView:
    """Change what is said of a consignor.

    The user who is a consignor decides for them, and says where their money goes. So only staff that may pay it out takes a
    consignor from one user, or gives one to a user once a lot of theirs is over.
    Raises Unauthenticated, MissingRight, UnknownConsignor, UnknownUser or ConsignorBids.
    """
    staff = authenticate(tx, token, Right.CATALOGUE)
    found = _known(tx, code)
    said = {name: value for name, value in changes.items() if name != "username"}
    if "username" in changes:
        said["user_id"] = _user(tx, changes["username"])
        if said["user_id"] != found.user_id:
            refuse_account(tx, found.id, said["user_id"])
            if found.user_id is not None or lots.is_any_over(tx, found.id):
                staff.refuse_without(Right.SETTLE)
    consignors.change(tx, found.id, said)
    audit.note(tx, staff, Act.CONSIGNOR_CHANGED, subject_of(code), {}, {})
    return _view(_known(tx, code))


def listed(tx: Transaction, token: str | None) -> list[ConsignorView]:
    """Return the consignors, by code. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.CATALOGUE)
    return [_view(one) for one in consignors.listed(tx, LISTED_MAX)]


def _known(tx: Transaction, code: str) -> Consignor:
    found = consignors.find(tx, code)
    if found is None:
        raise UnknownConsignor
    return found


def _user(tx: Transaction, username: str | None) -> int | None:
    if username is None:
        return None
    found = accounts.find_login(tx, username)
    if found is None:
        raise UnknownUser
    return found.account.id


def _view(one: Consignor) -> ConsignorView:
    return ConsignorView(
        code=one.code, name=one.name, contact=one.contact, username=one.username, created_at=instant(one.created_at)
    )
