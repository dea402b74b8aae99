"""People as those who run the house see them: listed and searched."""

from __future__ import annotations

import re

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import people
from saleroom.accounts.storage.people import PeopleFilter
from saleroom.kernel.page import Page
from saleroom.storage.database import Transaction

_IN_NAMES = re.compile(r"[a-z0-9._-]*")
PAGE = 50
"""People of one page."""


def listed(
    tx: Transaction, token: str | None, which: PeopleFilter, limit: int = PAGE, after: str | None = None
) -> Page[Account, str]:
    """Return the people that `which` asks for, by name, after the name `after`. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ_PEOPLE)
    if not all(one is None or _IN_NAMES.fullmatch(one) for one in (which.text, after)):
        return Page([], None)  # PostgreSQL takes no NUL
    return people.page(tx, which, limit, after)


def one(tx: Transaction, token: str | None, username: str) -> Account:
    """Return a user. Raises Unauthenticated, MissingRight or UnknownUser."""
    authenticate(tx, token, Right.READ_PEOPLE)
    found = people.find(tx, username)
    if found is None:
        raise UnknownUser
    return found
