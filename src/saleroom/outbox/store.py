"""The outbox as rows: words are posted by the transaction that causes them, claimed before each try, and settled after it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import Row, and_, case, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from saleroom.kernel.terminal import plain
from saleroom.outbox.message import Message, State, Word, facts_of, pause, tries_max
from saleroom.outbox.tables import TO_WEBHOOKS, WAITING, outbox
from saleroom.storage import bulk
from saleroom.storage.database import Note, Switch, Transaction

POSTED: Note[int] = Note()
"""Noted for each transaction that has posted words: how many."""
TO_WEBHOOKS_TOO = Switch()
"""Whether the house posts to webhooks: use cases that post words of their own then post them by this channel too."""
ERROR_CHARACTERS_MAX = 300
KEPT = timedelta(days=30)
"""How long a word that is settled stays on record."""
SENT_TO_WEBHOOKS_KEPT = timedelta(days=3)
"""Events that a webhook has taken are many, and stay on record for less."""
ROWS_AT_ONCE = 100
LETTER_WORDS_MAX = 50
"""The most words of one letter."""
CLAIMED_AT_LEAST = timedelta(seconds=45)
"""A try that has begun takes less: until then no other one begins, even if the pause is shorter."""
EXPIRED = "It waited for too long."

Person = tuple[int | None, str | None, bool]
"""The receiver and address of words, and whether each is a letter of its own. Words of one person are sent in order."""


def post(tx: Transaction, message: Message) -> bool:
    """Post one word in the transaction that causes it; False if its key was posted before."""
    return post_all(tx, [message]) == 1


def post_all(tx: Transaction, messages: Sequence[Message]) -> int:
    """Post words, and return how many were new. A key that was posted before is left as it is."""
    if not messages:
        return 0
    now = tx.now()
    rows = [
        {
            "kind": one.kind,
            "channel": one.channel,
            "key": one.key,
            "receiver": one.receiver,
            "address": one.address,
            "about": one.about,
            "facts": msgspec.json.encode(one.facts).decode(),
            "language": one.language,
            "alone": one.alone,
            "state": State.WAITING,
            "posted_at": now,
            "due_at": now + one.after,
            "expires_at": now + one.lasts,
            "tries": 0,
        }
        for one in messages
    ]
    make = sqlite.insert if tx.dialect == "sqlite" else postgresql.insert
    posted = 0
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        posted += tx.execute(make(outbox).values(some).on_conflict_do_nothing()).rowcount
    if posted:
        tx.note(POSTED, (posted,))
    return posted


def due(tx: Transaction, channel: str, persons_max: int) -> list[list[Word]]:
    """Return the words of the next letters of up to `persons_max` persons, who have waited the longest.

    A person has a letter if one of their words is due and none waits for another try. A letter that was tried before has the
    same words as then.
    """
    now = tx.now()
    held = func.max(case((and_(outbox.c.tries > 0, outbox.c.due_at > now), 1), else_=0))
    persons = (
        select(outbox.c.receiver, outbox.c.address, outbox.c.alone)
        .where(WAITING, outbox.c.channel == channel)
        .group_by(outbox.c.receiver, outbox.c.address, outbox.c.alone)
        .having(func.min(outbox.c.due_at) <= now, held == 0)
        .order_by(outbox.c.alone.desc(), func.min(outbox.c.due_at))
        .limit(persons_max)
    )
    found = [_letter(tx, channel, (row.receiver, row.address, row.alone)) for row in tx.execute(persons)]
    return [letter for letter in found if letter]


def _letter(tx: Transaction, channel: str, person: Person) -> list[Word]:
    receiver, address, alone = person
    whose = (outbox.c.receiver.is_not_distinct_from(receiver), outbox.c.address.is_not_distinct_from(address))
    mine = select(outbox).where(WAITING, outbox.c.channel == channel, *whose, outbox.c.alone.is_(alone))
    words = [_word(row) for row in tx.execute(mine.order_by(outbox.c.id).limit(LETTER_WORDS_MAX))]
    if not words or alone:
        return words[:1]
    first = words[0].letter
    return [one for one in words if one.letter == first]


def waiting_at(tx: Transaction, channel: str) -> float | None:
    """Return in how many seconds the first waiting word falls due; None if none waits."""
    first = tx.execute(select(func.min(outbox.c.due_at)).where(WAITING, outbox.c.channel == channel)).scalar_one()
    return None if first is None else max(0.0, (first - tx.now()).total_seconds())


def claim(tx: Transaction, words: Sequence[Word], chance: float) -> bool:
    """Begin a try of a letter, and note when the next one follows if this process ends before it settles the letter.

    False if another process has begun one, or a word is settled. `chance` is that of `message.pause`.
    """
    tries = words[0].tries + 1
    unchanged = (outbox.c.id.in_([one.id for one in words]), WAITING, outbox.c.tries == words[0].tries)
    begun = update(outbox).where(*unchanged)
    wait = max(pause(tries, chance, words[0].channel), CLAIMED_AT_LEAST)
    values = {"tries": tries, "due_at": tx.now() + wait, "letter": words[0].letter or words[0].id}
    changed = tx.execute(begun.values(values)).rowcount
    if changed not in (0, len(words)):
        raise LetterChanged
    return changed > 0


class LetterChanged(Exception):
    """Some words of a letter are no longer as they were read."""


def settle(tx: Transaction, words: Collection[Word], state: State, reason: str | None = None) -> None:
    """Note that words were sent, given up or dropped, and in plain words why."""
    these = update(outbox).where(outbox.c.id.in_([one.id for one in words]), WAITING)
    values: dict[str, Any] = {"state": state, "settled_at": tx.now()}
    if reason is not None:
        values["last_error"] = plain(reason, ERROR_CHARACTERS_MAX)
    tx.execute(these.values(values))


def failed(tx: Transaction, words: Collection[Word], reason: str, after: timedelta | None = None) -> State:
    """Note why a try failed. The words wait for the next one, unless this was the last.

    It comes `after` so long, or when `claim` has set it.
    """
    last = any(one.tries + 1 >= tries_max(one.channel) for one in words)
    if last:
        settle(tx, words, State.GIVEN_UP, reason)
        return State.GIVEN_UP
    these = update(outbox).where(outbox.c.id.in_([one.id for one in words]), WAITING)
    values: dict[str, Any] = {"last_error": plain(reason, ERROR_CHARACTERS_MAX)}
    tx.execute(these.values(values if after is None else values | {"due_at": tx.now() + after}))
    return State.WAITING


def release(tx: Transaction, words: Collection[Word], reason: str) -> None:
    """Note why words could not be tried, or that a try did not begin: it does not count, and they are due as before."""
    for one in words:
        this = update(outbox).where(outbox.c.id == one.id, WAITING)
        tx.execute(this.values(tries=one.tries, due_at=one.due_at, last_error=plain(reason, ERROR_CHARACTERS_MAX)))


def put_off(tx: Transaction, words: Collection[Word], until: timedelta) -> None:
    """Let words fall due later, without a try."""
    these = update(outbox).where(outbox.c.id.in_([one.id for one in words]), WAITING)
    tx.execute(these.values(due_at=tx.now() + until))


def give_address(tx: Transaction, word: Word, address: str) -> None:
    """Note where a word goes that was posted without an address."""
    this = update(outbox).where(outbox.c.id == word.id, WAITING, outbox.c.address.is_(None))
    tx.execute(this.values(address=address))


def discard(tx: Transaction, words: Collection[Word]) -> None:
    """Delete words that nobody is there for, so that no record is kept of them."""
    tx.execute(delete(outbox).where(outbox.c.id.in_([one.id for one in words]), WAITING))


def discard_all(tx: Transaction, channel: str, limit: int) -> int:
    """Delete up to `limit` words that wait for a channel; return how many."""
    these = select(outbox.c.id).where(WAITING, outbox.c.channel == channel).limit(limit)
    return int(tx.execute(delete(outbox).where(outbox.c.id.in_(these))).rowcount)


def queue(tx: Transaction, first: Word, limit: int) -> list[Word]:
    """Return the words that wait for the same receiver by the same channel as `first`, each alone, in order."""
    person = (
        outbox.c.receiver.is_not_distinct_from(first.receiver),
        outbox.c.address.is_not_distinct_from(first.address),
    )
    mine = select(outbox).where(WAITING, outbox.c.channel == first.channel, *person, outbox.c.alone)
    return [_word(row) for row in tx.execute(mine.order_by(outbox.c.id).limit(limit))]


def drop_all(tx: Transaction, channel: str, receiver: int, address: str, reason: str) -> None:
    """Drop all words that wait for an address by a channel."""
    person = (outbox.c.receiver == receiver, outbox.c.address == address)
    these = update(outbox).where(WAITING, outbox.c.channel == channel, *person)
    tx.execute(these.values(state=State.DROPPED, settled_at=tx.now(), last_error=reason))


def to_webhook(tx: Transaction, receiver: int, address: str, limit: int, before: int | None) -> list[Word]:
    """Return up to `limit` words to a webhook, the latest posted first, from the number `before` downwards."""
    person = (TO_WEBHOOKS, outbox.c.address == address, outbox.c.receiver == receiver)
    some = select(outbox).where(*person) if before is None else select(outbox).where(*person, outbox.c.id < before)
    return [_word(row) for row in tx.execute(some.order_by(outbox.c.id.desc()).limit(limit))]


def try_now(tx: Transaction, channel: str, receiver: int, address: str) -> None:
    """Let a word that waits for another try be tried at once; its tries count on."""
    these = update(outbox).where(WAITING, outbox.c.channel == channel, outbox.c.receiver == receiver)
    late = (outbox.c.address == address, outbox.c.tries > 0, outbox.c.due_at > tx.now() + CLAIMED_AT_LEAST)
    if tx.execute(these.where(*late).values(due_at=tx.now())).rowcount:
        tx.note(POSTED, (1,))


def send_again(tx: Transaction, numbers: Collection[int] | None = None) -> int:
    """Let words that wait or were given up be tried at once and as often as new ones; return how many. None: all of them."""
    now = tx.now()
    which = [or_(WAITING, outbox.c.state == State.GIVEN_UP)]
    if numbers is not None:
        which.append(outbox.c.id.in_(numbers))
    longer = case((outbox.c.expires_at > now + timedelta(days=1), outbox.c.expires_at), else_=now + timedelta(days=1))
    again = {"state": State.WAITING, "tries": 0, "due_at": now, "settled_at": None, "expires_at": longer}
    changed = tx.execute(update(outbox).where(*which).values(again)).rowcount
    if changed:
        tx.note(POSTED, (changed,))
    return int(changed)


def sweep(tx: Transaction, limit: int) -> int:
    """Drop words that have waited for too long, and delete settled ones, up to `limit` of each; return how many."""
    now = tx.now()
    expired = select(outbox.c.id).where(WAITING, outbox.c.expires_at <= now).limit(limit)
    late = update(outbox).where(outbox.c.id.in_(expired), WAITING)
    reason = func.coalesce(outbox.c.last_error, EXPIRED)
    dropped = tx.execute(
        late.values(
            state=case((outbox.c.tries > 0, State.GIVEN_UP), else_=State.DROPPED), settled_at=now, last_error=reason
        )
    ).rowcount
    brief = and_(TO_WEBHOOKS, outbox.c.state == State.SENT, outbox.c.settled_at <= now - SENT_TO_WEBHOOKS_KEPT)
    old = select(outbox.c.id).where(or_(outbox.c.settled_at <= now - KEPT, brief)).limit(limit)
    return int(dropped + tx.execute(delete(outbox).where(outbox.c.id.in_(old))).rowcount)


def forget(tx: Transaction, receiver: int, address: str | None) -> None:
    """Delete the words to a user, and those to a mail address if one is given, whatever has become of them."""
    theirs = outbox.c.receiver == receiver
    tx.execute(delete(outbox).where(theirs if address is None else or_(theirs, outbox.c.address == address)))


def listed(tx: Transaction, states: Collection[State], limit: int, before: int | None = None) -> list[Word]:
    """Return up to `limit` words in these states, the latest posted first, from the number `before` downwards."""
    some = select(outbox).where(outbox.c.state.in_(states))
    if before is not None:
        some = some.where(outbox.c.id < before)
    return [_word(row) for row in tx.execute(some.order_by(outbox.c.id.desc()).limit(limit))]


def counts(tx: Transaction) -> dict[State, int]:
    """Return how many words there are in each state."""
    found = {
        row.state: row.found
        for row in tx.execute(select(outbox.c.state, func.count().label("found")).group_by(outbox.c.state))
    }
    return {state: found.get(state, 0) for state in State}


def backlog(tx: Transaction) -> tuple[int, float]:
    """Return how many words wait, and for how many seconds the first has been due."""
    found = select(func.count().label("waiting"), func.min(outbox.c.due_at).label("first")).where(WAITING)
    row = tx.execute(found).one()
    return row.waiting, 0.0 if row.first is None else max(0.0, (tx.now() - row.first).total_seconds())


def keys_known(tx: Transaction, channel: str, keys: Collection[str]) -> frozenset[str]:
    """Return those of `keys` that were posted before."""
    found = select(outbox.c.key).where(outbox.c.channel == channel, bulk.among(tx, outbox.c.key, keys))
    return frozenset(tx.execute(found).scalars())


def _word(row: Row[Any]) -> Word:
    """Return a word. Facts that cannot be read are none: whoever makes a mail of it finds that they are missing."""
    values = {name: getattr(row, name) for name in Word.__struct_fields__}
    return Word(**values | {"facts": facts_of(row.facts) or {}, "state": State(row.state)})
