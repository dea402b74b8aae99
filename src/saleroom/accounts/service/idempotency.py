"""Idempotency: a repeated request has one effect, and gets its first answer again."""

from __future__ import annotations

from collections.abc import Callable

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.accounts.storage import idempotency
from saleroom.accounts.storage.idempotency import AcceptedRequest
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain


def once(tx: Transaction, account: Account, key: IdempotencyKey | None, act: Callable[[], bytes]) -> bytes:
    """Return the answer of `act`, or the first answer if a request of `account` with this key was accepted before.

    A refused request is not stored, so a repeat of it runs again. Raises IdempotencyMismatch, TryAgain if the same request was
    accepted while this one waited for a lock, and as `act` does.
    """
    if key is None:
        return act()
    answer = recall(tx, account, key)
    if answer is not None:
        return answer
    try:
        answer = act()
    except Refusal as refusal:
        # `act` may have waited for the first request, whose effect then refuses this one. What it wrote must go before the
        # first answer leaves.
        if recall(tx, account, key) is not None:
            raise TryAgain("the same request was accepted meanwhile") from refusal
        raise
    idempotency.add(tx, [AcceptedRequest(account.id, key.key, key.request, answer)], tx.now())
    return answer


def recall(tx: Transaction, account: Account, key: IdempotencyKey) -> bytes | None:
    """Return the first answer to an accepted request of `account` with this key, or None. Raises IdempotencyMismatch."""
    accepted = idempotency.find(tx, [(account.id, key.key)]).get((account.id, key.key))
    if accepted is None:
        return None
    refuse_another(accepted.request, key)
    return accepted.answer


def refuse_another(accepted: bytes, key: IdempotencyKey) -> None:
    """Raise IdempotencyMismatch if `key` comes with another request than the `accepted` one."""
    if accepted != key.request:
        raise IdempotencyMismatch
