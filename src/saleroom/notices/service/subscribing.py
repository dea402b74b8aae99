"""Subscribing: which browsers of a user get messages. A subscription ends with the login of its browser."""

from __future__ import annotations

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate, token_digest
from saleroom.accounts.storage import accounts
from saleroom.kernel.errors import Fault, Invalid
from saleroom.notices.domain.errors import UnknownSubscription
from saleroom.notices.domain.pushes import NumberedSubscription, Subscription
from saleroom.notices.storage import pushes
from saleroom.outbox import store
from saleroom.outbox.message import PUSH
from saleroom.storage.database import Transaction

ENDED = "The browser gets no messages any more."


def subscriptions(tx: Transaction, token: str) -> list[tuple[NumberedSubscription, bool]]:
    """Return the browsers of the holder of `token`, each with whether it is the one of this token.

    Raises Unauthenticated or MissingRight.
    """
    user_id, digest = authenticate(tx, token, Right.READ).id, token_digest(token)
    return [(one, one.token == digest) for one in pushes.of_user(tx, user_id)]


def subscribe(tx: Transaction, token: str, given: Subscription, fault: Fault | None = None) -> NumberedSubscription:
    """Let a browser get messages until the login of `token` ends.

    Raises Unauthenticated or MissingRight, or Invalid with the `fault` of its address, if there is one.
    """
    user_id = authenticate(tx, token, Right.ACCOUNT).id
    if fault is not None:
        raise Invalid({"endpoint": [fault]})
    accounts.lock_user(tx, user_id)
    return pushes.add(tx, user_id, token_digest(token), given)


def unsubscribe(tx: Transaction, token: str, number: int) -> None:
    """End a subscription of the holder of `token`. Raises Unauthenticated, MissingRight or UnknownSubscription."""
    user_id = authenticate(tx, token, Right.ACCOUNT).id
    if not end(tx, user_id, number):
        raise UnknownSubscription


def end(tx: Transaction, user_id: int, number: int) -> bool:
    """Delete a subscription, and drop what still waits for it; False if there is none."""
    if not pushes.end(tx, user_id, number):
        return False
    store.drop_all(tx, PUSH, user_id, str(number), ENDED)
    return True
