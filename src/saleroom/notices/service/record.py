"""The record of the outbox for those who run the house: what waits, what failed and why; and sending it again."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts
from saleroom.notices.domain.errors import UnknownWord
from saleroom.outbox import store
from saleroom.outbox.message import State, Word
from saleroom.storage.database import Transaction


class Page(Struct, frozen=True):
    """A page of words, the latest posted first, with their receivers' names, and how many words there are in each state.

    `following` is the number that the next page starts before; None without one.
    """

    words: list[Word]
    names: Mapping[int, str]
    counts: Mapping[State, int]
    following: int | None


def page(tx: Transaction, token: str, states: Collection[State], limit: int, before: int | None) -> Page:
    """Return a page of the words in these states. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ_OUTBOX)
    return page_of(tx, states, limit, before)


def page_of(tx: Transaction, states: Collection[State], limit: int, before: int | None) -> Page:
    """Return a page of the words in these states, for anyone who has the database."""
    found = store.listed(tx, states, limit + 1, before)
    words = found[:limit]
    names = accounts.names_of(tx, {word.receiver for word in words if word.receiver is not None})
    return Page(words, names, store.counts(tx), words[-1].id if len(found) > limit else None)


def send_again(tx: Transaction, token: str, number: int) -> None:
    """Try a word at once that waits or was given up. Raises Unauthenticated, MissingRight or UnknownWord."""
    if not again(tx, authenticate(tx, token, Right.READ_OUTBOX), number):
        raise UnknownWord


def send_all_again(tx: Transaction, token: str) -> int:
    """Try all words at once that wait or were given up; return how many. Raises Unauthenticated or MissingRight."""
    return again(tx, authenticate(tx, token, Right.READ_OUTBOX), None)


def again(tx: Transaction, by: Holder | None, number: int | None) -> int:
    """Try a word at once that waits or was given up, or all of them; note it, and return how many. `by` as for `audit.note`."""
    found = store.send_again(tx, None if number is None else [number])
    if found:
        on = "outbox" if number is None else f"word {number}"
        audit.note(tx, by, Act.WORDS_SENT_AGAIN, on, {}, {"words": found})
    return found
