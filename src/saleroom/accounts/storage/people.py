"""People as those who run the house find them: by name, role and standing, page by page."""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import select

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.accounts.storage.tables import users
from saleroom.storage.database import Transaction


class Which(Struct, frozen=True, kw_only=True):
    """Which people a list shows; None does not restrict. `text` is a part of the username."""

    text: str | None = None
    role: Role | None = None


def page(tx: Transaction, which: Which, limit: int, after: str | None = None) -> tuple[list[Account], str | None]:
    """Return up to `limit` people by name, from the name `after` onwards, and the name after which the next page begins."""
    some = select(*accounts.ACCOUNT).order_by(users.c.username).limit(limit + 1)
    if which.text:
        some = some.where(users.c.username.contains(which.text, autoescape=True))
    if which.role is not None:
        some = some.where(users.c.role == which.role.value)
    if after is not None:
        some = some.where(users.c.username > after)
    found = [accounts.account_of(row) for row in tx.execute(some)]
    return found[:limit], found[limit - 1].username if len(found) > limit else None
