"""People as those who run the house find them: by name, role and standing, page by page."""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import or_, select

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.storage import accounts
from saleroom.accounts.storage.tables import users
from saleroom.kernel.page import Page, page_of
from saleroom.storage.database import Transaction


class PeopleFilter(Struct, frozen=True, kw_only=True):
    """Which people a list shows; None does not restrict. `text` is a part of the username, `barred` by what they are barred."""

    text: str | None = None
    role: Role | None = None
    barred: Sanction | None = None


def find(tx: Transaction, username: str, *, lock: bool = False) -> Account | None:
    """Return the user with this name; with `lock`, locked until the transaction ends."""
    found = select(*accounts.ACCOUNT).where(users.c.username == username)
    row = tx.execute(found.with_for_update(key_share=True) if lock else found).first()
    return None if row is None else accounts.account_of(row, tx.now())


def lock(tx: Transaction, username: str, by_id: int | None) -> list[Account]:
    """Return all owners, the user of this name and the user `by_id`, locked until the transaction ends, by number.

    Anyone who changes a role locks all owners, so that two owners do not take each other's role at the same time.
    """
    these = or_(users.c.role == Role.OWNER.value, users.c.username == username, users.c.id == by_id)
    found = select(*accounts.ACCOUNT).where(these).order_by(users.c.id).with_for_update(key_share=True)
    rows = tx.execute(found).all()
    now = tx.now()
    return [accounts.account_of(row, now) for row in rows]


def page(tx: Transaction, which: PeopleFilter, limit: int, after: str | None = None) -> Page[Account, str]:
    """Return up to `limit` people by name, from the name `after` onwards, and the name after which the next page begins.

    A user of the house's own, such as the floor of live sales, is nobody: its name begins with `#`, which nobody can choose.
    """
    now = tx.now()
    some = select(*accounts.ACCOUNT).where(users.c.username.not_like("#%")).order_by(users.c.username).limit(limit + 1)
    if which.text:
        some = some.where(users.c.username.contains(which.text, autoescape=True))
    if which.role is not None:
        some = some.where(users.c.role == which.role.value)
    if after is not None:
        some = some.where(users.c.username > after)
    if which.barred is not None:
        some = some.where(
            users.c.barred == which.barred.value, or_(users.c.barred_until.is_(None), users.c.barred_until > now)
        )
    found = [accounts.account_of(row, now) for row in tx.execute(some)]
    return page_of(found, limit, lambda one: one.username)
