"""Letters: which of a person's waiting words are still wanted and true, and all that their mail says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from saleroom.accounts.storage import mail_addresses
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.storage import auctions
from saleroom.notices.domain.kinds import KINDS
from saleroom.notices.storage import choices
from saleroom.outbox import store
from saleroom.outbox.kinds import MailKind, Sign
from saleroom.outbox.message import MAIL, Word
from saleroom.storage.database import Transaction

NO_ADDRESS = "The user has no verified mail address."
NOT_WANTED = "The user does not want it."
NO_LONGER_SO = "It is no longer so."
NO_KIND = "This version of the house does not know what to say."


class Item(Struct, frozen=True):
    """One lot in a letter: the last word of each kind about it that holds, and the lot as it is now."""

    kind: str
    facts: Mapping[str, Any]
    lot: Auction


class Letter(Struct, frozen=True, kw_only=True):
    """All that a mail says. It has either `items`, or the `template` of a mail of its own with its `context`.

    `words` are those that it is about. `number` stays the same on each try. `zone` is the receiver's time zone, if known.
    """

    number: int
    address: str
    receiver: int | None
    language: str | None
    zone: str | None
    written_at: datetime
    words: tuple[Word, ...]
    items: tuple[Item, ...] = ()
    template: str | None = None
    context: Mapping[str, Any] = {}


class LetterDecision(Struct, frozen=True, kw_only=True):
    """What becomes of a person's words: a letter, those that are dropped and why, or how long all of them are put off."""

    letter: Letter | None = None
    dropped: tuple[tuple[Word, str], ...] = ()
    put_off: tuple[Word, ...] = ()
    quiet: timedelta = timedelta()


def next_letters(tx: Transaction, kinds: Mapping[str, MailKind], sign: Sign, persons_max: int) -> list[LetterDecision]:
    """Return what becomes of the words that are due, of up to so many persons."""
    return [_sorted(tx, words, kinds, sign) for words in store.due(tx, MAIL, persons_max)]


def _sorted(tx: Transaction, words: Sequence[Word], kinds: Mapping[str, MailKind], sign: Sign) -> LetterDecision:
    first = words[0]
    given = None if first.receiver is None else mail_addresses.find(tx, first.receiver)
    verified = given is not None and given.verified_at is not None
    address = first.address or (given.address if given is not None and verified else None)
    if address is None:
        return LetterDecision(dropped=_all(words, NO_ADDRESS))
    language = (given.language if given is not None and verified else None) or first.language
    if first.alone:
        return alone(tx, first, MAIL, kinds, sign, address=address, language=language)
    return _shared(tx, words, address, language)


def alone(
    tx: Transaction,
    word: Word,
    channel: str,
    kinds: Mapping[str, MailKind],
    sign: Sign,
    *,
    address: str,
    language: str | None,
) -> LetterDecision:
    """Return what becomes of a word that is a letter of its own, to `address`."""
    if word.kind in KINDS and word.receiver is not None:
        chosen = choices.of_user(tx, word.receiver)
        quiet = timedelta() if chosen.quiet is None else chosen.quiet.left(tx.now())
        if quiet:
            return LetterDecision(put_off=(word,), quiet=quiet)
        if not chosen.wants(channel, word.kind):
            return LetterDecision(dropped=_all([word], NOT_WANTED))
    kind = kinds.get(word.kind)
    if kind is None:
        return LetterDecision(dropped=_all([word], NO_KIND))
    context = kind.context(tx, word, sign)
    if context is None:
        return LetterDecision(dropped=_all([word], NO_LONGER_SO))
    letter = Letter(
        number=word.letter or word.id,
        address=address,
        receiver=word.receiver,
        language=language,
        zone=None,
        written_at=tx.now(),
        words=(word,),
        template=kind.template,
        context=context,
    )
    return LetterDecision(letter=letter)


def _shared(tx: Transaction, words: Sequence[Word], address: str, language: str | None) -> LetterDecision:
    first = words[0]
    return sift(tx, words, MAIL, number=first.letter, address=address, language=language)


def sift(
    tx: Transaction, words: Sequence[Word], channel: str, *, number: int | None, address: str, language: str | None
) -> LetterDecision:
    """Return what becomes of words about lots to one person: those that are wanted and still so are a letter to `address`.

    `number` is that of the letter if it was tried before.
    """
    receiver, now = words[0].receiver, tx.now()
    if receiver is None:
        return LetterDecision(dropped=_all(words, NO_KIND))
    chosen = choices.of_user(tx, receiver)
    quiet = timedelta() if chosen.quiet is None else chosen.quiet.left(now)
    if quiet:
        return LetterDecision(put_off=tuple(words), quiet=quiet)
    lots = auctions.get_many(tx, {word.about for word in words if word.about is not None})
    kept: list[Word] = []
    dropped: list[tuple[Word, str]] = []
    for word in words:
        kind, lot = KINDS.get(word.kind), lots.get(word.about or "")
        if kind is None or lot is None:
            dropped.append((word, NO_KIND))
        elif not chosen.wants(channel, word.kind):
            dropped.append((word, NOT_WANTED))
        elif not kind.holds(lot, receiver) or word.expires_at <= now:
            dropped.append((word, NO_LONGER_SO))
        else:
            kept.append(word)
    if not kept:
        return LetterDecision(dropped=tuple(dropped))
    items = {(word.about, word.kind): Item(word.kind, word.facts, lots[word.about or ""]) for word in kept}
    letter = Letter(
        number=number or kept[0].id,
        address=address,
        receiver=receiver,
        language=language,
        zone=None if chosen.quiet is None else chosen.quiet.zone,
        written_at=now,
        words=tuple(kept),
        items=tuple(items.values()),
    )
    return LetterDecision(letter=letter, dropped=tuple(dropped))


def _all(words: Sequence[Word], reason: str) -> tuple[tuple[Word, str], ...]:
    return tuple((word, reason) for word in words)
