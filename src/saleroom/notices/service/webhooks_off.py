"""Switching webhooks off: what waits for one is dropped, and its owner hears of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from saleroom.accounts.storage import mail_addresses
from saleroom.notices.domain.webhooks import Off, Webhook
from saleroom.notices.storage import webhooks
from saleroom.outbox import store
from saleroom.outbox.kinds import Sign
from saleroom.outbox.message import WEBHOOK, Message, Word
from saleroom.storage.database import Transaction

OFF_MAIL = "webhook_off"
DROPPED = "The webhook was switched off."
DELETED = "The webhook was deleted."


def switch_off(tx: Transaction, number: int, why: Off) -> bool:
    """Switch a webhook off for a reason other than its owner's wish, and tell its owner; False if it is off already."""
    hook = webhooks.get_many(tx, [number]).get(number)
    if hook is None or not webhooks.switch_off(tx, number, why):
        return False
    store.drop_all(tx, WEBHOOK, hook.user_id, str(number), DROPPED)
    given = mail_addresses.find(tx, hook.user_id)
    if given is not None and given.verified_at is not None:
        facts = {"host": host_of(hook), "why": why.value}
        key = f"{OFF_MAIL}:{number}:{tx.now().timestamp()}"
        store.post(tx, Message(kind=OFF_MAIL, key=key, receiver=hook.user_id, facts=facts, language=given.language))
    return True


def host_of(hook: Webhook) -> str:
    """Return the host of a webhook, which is no secret, other than its path."""
    return urlsplit(hook.url).hostname or ""


def off_context(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    """Return what the mail about a webhook that was switched off says."""
    return word.facts
