"""Webhooks of a user: made, listed, changed, tested, deleted; and what became of what was posted to them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from msgspec import Struct

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right, refuse_without
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts
from saleroom.kernel.instants import instant
from saleroom.notices.domain.errors import TooManyWebhooks, UnknownWebhook, WebhookOff
from saleroom.notices.domain.webhooks import (
    LASTS,
    OLD_SECRET_LASTS,
    SENT_AGAIN,
    TEST,
    TEST_SECONDS,
    WEBHOOKS_MAX,
    Off,
    Scope,
    Webhook,
    secret,
    shown_secret,
)
from saleroom.notices.service.webhooks_off import DELETED, DROPPED, host_of
from saleroom.notices.storage import webhooks
from saleroom.outbox import store
from saleroom.outbox.message import WEBHOOK, Message, Word
from saleroom.storage.database import Transaction

SALT_BYTES = 16
Key = Callable[[], bytes]
"""What the secrets of webhooks follow from. Raises DatabaseUnavailable while the secret of the house is not known."""


class WebhookChange(Struct, frozen=True, kw_only=True):
    """A change of a webhook; what is None stays."""

    url: str | None = None
    kinds: tuple[str, ...] | None = None
    on: bool | None = None


class WithSecret(Struct, frozen=True):
    """A webhook with its secret, which is shown once."""

    webhook: Webhook
    secret: str


class Deliveries(Struct, frozen=True):
    """What was posted to a webhook, the latest first. The next page starts before `following`; None without one."""

    webhook: Webhook
    words: Sequence[Word]
    following: int | None


def own(tx: Transaction, token: str) -> list[Webhook]:
    """Return the webhooks of the token's user. Raises Unauthenticated or MissingRight: addresses may hold secrets."""
    return webhooks.of_user(tx, authenticate(tx, token, Right.ACCOUNT).id)


def make(
    tx: Transaction,
    token: str,
    key: Key,
    url: str,
    kinds: tuple[str, ...],
    scope: Scope,
    *,
    form: bool = False,
) -> WithSecret:
    """Make a webhook of the token's user, and return it with its secret.

    A `form` that is sent again within a minute, by a double click or a reload, makes no second one.
    Raises Unauthenticated, MissingRight or TooManyWebhooks.
    """
    holder = authenticate(tx, token, Right.ACCOUNT)
    if scope is Scope.HOUSE:
        refuse_without(Right.POST_EVENTS, holder.role)
    accounts.lock_user(tx, holder.id)
    found = webhooks.of_user(tx, holder.id)
    since = tx.now() - SENT_AGAIN
    for one in found if form else ():
        if (one.url, one.kinds, one.scope) == (url, kinds, scope) and one.created_at > since:
            return _with_secret(one, key)
    if len(found) >= WEBHOOKS_MAX:
        raise TooManyWebhooks(limit=WEBHOOKS_MAX)
    _begin_reading(tx)
    made = webhooks.add(tx, holder.id, url, kinds, scope, secrets.token_hex(SALT_BYTES))
    _note(tx, holder, Act.WEBHOOK_ADDED, made)
    return _with_secret(made, key)


def change(tx: Transaction, token: str, number: int, change: WebhookChange) -> Webhook:
    """Change a webhook of the token's user, and return it. Raises Unauthenticated, MissingRight or UnknownWebhook."""
    holder, found = _own(tx, token, number)
    values: dict[str, object] = {}
    if change.url is not None:
        values["url"] = change.url
    if change.kinds is not None:
        values["kinds"] = change.kinds
    if change.on is True and found.off is not None:
        if found.scope is Scope.HOUSE:
            refuse_without(Right.POST_EVENTS, holder.role)
        _begin_reading(tx)
        values |= {"off": None, "off_at": None}
    elif change.on is False and found.off is None:
        values |= {"off": Off.OWNER, "off_at": tx.now()}
        store.drop_all(tx, WEBHOOK, holder.id, str(number), DROPPED)
    if values:
        webhooks.change(tx, number, values)
        _note(tx, holder, Act.WEBHOOK_CHANGED, found)
    return _found(tx, holder.id, number)


def rotate(tx: Transaction, token: str, number: int, key: Key, *, form: bool = False) -> WithSecret:
    """Give a webhook a new secret; the one before signs too for a day. Raises Unauthenticated, MissingRight, UnknownWebhook.

    A `form` that is sent again within a minute rotates no further: otherwise the secret that the server has would end at once.
    """
    holder, found = _own(tx, token, number)
    if form and found.old_until is not None and found.old_until - OLD_SECRET_LASTS > tx.now() - SENT_AGAIN:
        return _with_secret(found, key)
    until = tx.now() + OLD_SECRET_LASTS
    values = {"salt": secrets.token_hex(SALT_BYTES), "old_salt": found.salt, "old_until": until}
    webhooks.change(tx, number, values)
    return _with_secret(_found(tx, holder.id, number), key)


def test(tx: Transaction, token: str, number: int) -> None:
    """Post a test to a webhook, and try at once what waits for another try; a repeat within seconds does nothing.

    Raises Unauthenticated, MissingRight, UnknownWebhook or WebhookOff.
    """
    holder, found = _own(tx, token, number)
    if found.off is not None:
        raise WebhookOff
    now = tx.now()
    message = Message(
        kind=TEST,
        key=f"{TEST}:{number}:{int(now.timestamp()) // TEST_SECONDS}",
        receiver=holder.id,
        address=str(number),
        facts={"at": instant(now), "data": {"text": "A test of this webhook."}},
        channel=WEBHOOK,
        lasts=LASTS,
    )
    if store.post(tx, message):
        store.try_now(tx, WEBHOOK, holder.id, str(number))


def delete(tx: Transaction, token: str, number: int) -> None:
    """Delete a webhook: nothing that waits is posted any more. Raises Unauthenticated, MissingRight or UnknownWebhook."""
    holder, found = _own(tx, token, number)
    store.drop_all(tx, WEBHOOK, holder.id, str(number), DELETED)
    webhooks.remove(tx, number)
    _note(tx, holder, Act.WEBHOOK_DELETED, found)


def deliveries(tx: Transaction, token: str, number: int, limit: int, before: int | None = None) -> Deliveries:
    """Return what was posted to a webhook. Raises Unauthenticated, MissingRight or UnknownWebhook."""
    holder = authenticate(tx, token, Right.ACCOUNT)
    found = _found(tx, holder.id, number)
    words = store.to_webhook(tx, holder.id, str(number), limit + 1, before)
    return Deliveries(found, words[:limit], words[limit - 1].id if len(words) > limit else None)


def _own(tx: Transaction, token: str, number: int) -> tuple[Holder, Webhook]:
    """Return the token's user, who is locked, and a webhook of theirs."""
    holder = authenticate(tx, token, Right.ACCOUNT)
    accounts.lock_user(tx, holder.id)
    return holder, _found(tx, holder.id, number)


def _found(tx: Transaction, user_id: int, number: int) -> Webhook:
    found = webhooks.find(tx, user_id, number)
    if found is None:
        raise UnknownWebhook
    return found


def _begin_reading(tx: Transaction) -> None:
    """Let the log be read from now on, if no webhook was on: while none is, the reader stands still."""
    if not webhooks.any_on(tx):
        webhooks.begin_at_end(tx)


def _with_secret(webhook: Webhook, key: Key) -> WithSecret:
    return WithSecret(webhook, shown_secret(secret(key(), webhook.salt)))


def _note(tx: Transaction, by: Holder, act: Act, webhook: Webhook) -> None:
    """Note what staff does with webhooks for the whole house; those for oneself are one's own business."""
    if webhook.scope is Scope.HOUSE:
        audit.note(tx, by, act, f"webhook {webhook.id}", {}, {"host": host_of(webhook)})
