"""Browsers that get messages, as rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Row, Select, delete, insert, select

from saleroom.accounts.storage.tables import auth_tokens
from saleroom.notices.domain.pushes import SUBSCRIPTIONS_MAX, NumberedSubscription, Subscription
from saleroom.notices.storage.tables import push_subscriptions
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


def add(tx: Transaction, user_id: int, token: str, given: Subscription) -> NumberedSubscription:
    """Store the subscription of the browser that is logged in by the token with this digest. The user's row is locked.

    A user who had the same browser before has it no longer, and of more than `SUBSCRIPTIONS_MAX` the oldest end.
    """
    login = select(auth_tokens.c.id).where(auth_tokens.c.token == token).scalar_subquery()
    ends = (push_subscriptions.c.endpoint == given.endpoint) | (push_subscriptions.c.token_id == login)
    tx.execute(delete(push_subscriptions).where(ends))
    row = {
        "user_id": user_id,
        "token_id": tx.execute(select(login)).scalar_one(),
        "endpoint": given.endpoint,
        "p256dh": given.p256dh,
        "auth": given.auth,
        "language": given.language,
        "created_at": tx.now(),
    }
    number = tx.execute(insert(push_subscriptions).returning(push_subscriptions.c.id), row).scalar_one()
    mine = select(push_subscriptions.c.id).where(push_subscriptions.c.user_id == user_id)
    older = mine.order_by(push_subscriptions.c.id.desc()).offset(SUBSCRIPTIONS_MAX)
    tx.execute(delete(push_subscriptions).where(push_subscriptions.c.id.in_(older)))
    return _subscribed(tx.execute(_found(tx).where(push_subscriptions.c.id == number)).one())


def of_user(tx: Transaction, user_id: int) -> list[NumberedSubscription]:
    """Return a user's subscriptions, the newest first."""
    mine = _found(tx).where(push_subscriptions.c.user_id == user_id)
    return [_subscribed(row) for row in tx.execute(mine.order_by(push_subscriptions.c.id.desc()))]


def get_many(tx: Transaction, numbers: Collection[int]) -> dict[int, NumberedSubscription]:
    """Return those of these subscriptions that have not ended, by number."""
    if not numbers:
        return {}
    found = tx.execute(_found(tx).where(bulk.among(tx, push_subscriptions.c.id, numbers)))
    return {row.id: _subscribed(row) for row in found}


def end(tx: Transaction, user_id: int, number: int) -> bool:
    """Delete a subscription of a user by its number; False if there is none."""
    this = (push_subscriptions.c.id == number, push_subscriptions.c.user_id == user_id)
    return tx.execute(delete(push_subscriptions).where(*this)).rowcount > 0


def end_all(tx: Transaction) -> int:
    """Forget the subscriptions of all users, and return how many there were."""
    return tx.execute(delete(push_subscriptions)).rowcount


def _found(tx: Transaction) -> Select[Any]:
    table = push_subscriptions
    return (
        select(table, auth_tokens.c.token, auth_tokens.c.agent)
        .join_from(table, auth_tokens, auth_tokens.c.id == table.c.token_id)
        .where(auth_tokens.c.expires_at > tx.now())
    )


def _subscribed(row: Row[Any]) -> NumberedSubscription:
    return NumberedSubscription(
        id=row.id,
        user_id=row.user_id,
        token=row.token,
        agent=row.agent,
        created_at=row.created_at,
        subscription=Subscription(endpoint=row.endpoint, p256dh=row.p256dh, auth=row.auth, language=row.language),
    )
