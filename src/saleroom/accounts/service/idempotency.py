"""Idempotency: a repeated request gets its first answer again, with one effect."""

from __future__ import annotations

from collections.abc import Callable

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.accounts.storage import idempotency
from saleroom.accounts.storage.idempotency import AcceptedRequest
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.storage.database import Transaction


def once(tx: Transaction, account: Account, asked: IdempotencyKey | None, act: Callable[[], bytes]) -> bytes:
    """Return the answer of `act`, or the first one where `account` has had this key accepted before.

    What is refused is not kept, so that a retry is judged afresh. Raises IdempotencyMismatch, and whatever `act` does.
    """
    if asked is None:
        return act()
    kept = idempotency.find(tx, [(account.id, asked.key)]).get((account.id, asked.key))
    if kept is not None:
        return first_answer(kept, asked)
    answer = act()
    idempotency.add(tx, [AcceptedRequest(account.id, asked.key, asked.request, answer)], tx.now())
    return answer


def first_answer(kept: AcceptedRequest, asked: IdempotencyKey) -> bytes:
    """Return the answer kept for the same request. Raises IdempotencyMismatch for another one."""
    if kept.request != asked.request:
        raise IdempotencyMismatch
    return kept.answer
