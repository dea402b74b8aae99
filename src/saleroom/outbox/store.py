"""The outbox as rows: words are posted by the transaction that causes them, claimed before each try, and settled after it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Row, Update, and_, case, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from saleroom.kernel.terminal import plain
from saleroom.outbox.message import CHANNELS, Message, State, Word, facts_of, pause, tries_max
from saleroom.outbox.tables import TO_WEBHOOKS, WAITING, outbox
from saleroom.storage.database import Note, Switch, Transaction

POSTED: Note[int] = Note()
"""Noted for each transaction that has posted words: how many."""
Settled = tuple[str, State, int]
SETTLED: Note[Settled] = Note()
"""Noted for each transaction that has settled words: by which channel, how, and how many."""
FAILED: Note[str] = Note()
"""Noted for each try that failed for now: the channel."""
SENT_BY: Mapping[str, Switch] = {channel: Switch() for channel in CHANNELS}
"""By which channels the house sends words: use cases that post words of their own post none by the others."""
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
CUT_OFF = "The house ended in the last try."
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
    held = _held(now)
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


def _held(now: datetime) -> ColumnElement[int]:
    """Return whether some words of a person wait for another try, so that all of them do: 1 or 0."""
    return func.max(case((and_(outbox.c.tries > 0, outbox.c.due_at > now), 1), else_=0))


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

    False if another process has begun one, or a word is settled. `chance` is that of `message.pause`. If the last try has begun
    already, its process ended in it: the words are given up, so that none is tried for ever whose tries end its process.
    On PostgreSQL a word may have been read just after another process began its try; so one that was tried must be due.
    """
    tries, now = words[0].tries + 1, tx.now()
    still = [outbox.c.tries == words[0].tries, *([outbox.c.due_at <= now] if tries > 1 else [])]
    if tries > tries_max(words[0].channel):
        _settle(tx, words, State.GIVEN_UP, words[0].last_error or CUT_OFF, *still)
        return False
    wait = max(pause(tries, chance, words[0].channel), CLAIMED_AT_LEAST)
    values = {"tries": tries, "due_at": now + wait, "letter": words[0].letter or words[0].id}
    changed = tx.execute(_these(words, *still).values(values)).rowcount
    if changed not in (0, len(words)):
        raise LetterChanged
    return changed > 0


class LetterChanged(Exception):
    """Some words of a letter are no longer as they were read."""


def settle(tx: Transaction, words: Collection[Word], state: State, reason: str | None = None) -> None:
    """Note that words of one channel were sent, given up or dropped, and in plain words why."""
    _settle(tx, words, state, reason)


def end_try(tx: Transaction, words: Sequence[Word], state: State, reason: str | None = None) -> bool:
    """Settle words by what came of a try that `claim` began with them.

    False if they are settled already, or another process has begun a try since, as this one took too long: that one settles
    them, so that nothing goes out before it that comes after.
    """
    return _settle(tx, words, state, reason, _of_try(words))


def _settle(
    tx: Transaction, words: Collection[Word], state: State, reason: str | None, *still: ColumnElement[bool]
) -> bool:
    values: dict[str, Any] = {"state": state, "settled_at": tx.now()}
    if reason is not None:
        values["last_error"] = plain(reason, ERROR_CHARACTERS_MAX)
    if settled := tx.execute(_these(words, *still).values(values)).rowcount:
        tx.note(SETTLED, [(next(iter(words)).channel, state, settled)])
    return settled > 0


def _these(words: Collection[Word], *still: ColumnElement[bool]) -> Update:
    return update(outbox).where(outbox.c.id.in_([one.id for one in words]), WAITING, *still)


def _of_try(words: Sequence[Word]) -> ColumnElement[bool]:
    """Return the condition that no later try than that of these words has begun. `send_again` sets the number of tries back."""
    return outbox.c.tries <= words[0].tries + 1


def failed(tx: Transaction, words: Sequence[Word], reason: str, after: timedelta | None = None) -> State:
    """Note why a try failed. The words wait for the next one, unless this was the last or a later one has begun.

    The next try comes `after` this time, or when `claim` has set it.
    """
    tx.note(FAILED, {one.channel for one in words})
    last = any(one.tries + 1 >= tries_max(one.channel) for one in words)
    if last:
        return State.GIVEN_UP if end_try(tx, words, State.GIVEN_UP, reason) else State.WAITING
    values: dict[str, Any] = {"last_error": plain(reason, ERROR_CHARACTERS_MAX)}
    due = {} if after is None else {"due_at": tx.now() + after}
    tx.execute(_these(words, _of_try(words)).values(values | due))
    return State.WAITING


def release(tx: Transaction, words: Sequence[Word], reason: str) -> None:
    """Note why a try that `claim` began could not be made: it does not count, and the words are due as before."""
    said = plain(reason, ERROR_CHARACTERS_MAX)
    for one in words:
        tx.execute(_these([one], _of_try(words)).values(tries=one.tries, due_at=one.due_at, last_error=said))


def held_up(tx: Transaction, words: Collection[Word], reason: str) -> None:
    """Note why words could not be tried, but for those that another process is trying."""
    for one in words:
        tx.execute(_these([one], outbox.c.tries == one.tries).values(last_error=plain(reason, ERROR_CHARACTERS_MAX)))


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
    dropped = tx.execute(these.values(state=State.DROPPED, settled_at=tx.now(), last_error=reason)).rowcount
    tx.note(SETTLED, [(channel, State.DROPPED, dropped)])


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
    end = case((outbox.c.tries > 0, State.GIVEN_UP), else_=State.DROPPED)
    ended = late.values(state=end, settled_at=now, last_error=reason).returning(outbox.c.channel, outbox.c.state)
    dropped = [(row.channel, State(row.state), 1) for row in tx.execute(ended)]
    tx.note(SETTLED, dropped)
    brief = and_(TO_WEBHOOKS, outbox.c.state == State.SENT, outbox.c.settled_at <= now - SENT_TO_WEBHOOKS_KEPT)
    old = select(outbox.c.id).where(or_(outbox.c.settled_at <= now - KEPT, brief)).limit(limit)
    return int(len(dropped) + tx.execute(delete(outbox).where(outbox.c.id.in_(old))).rowcount)


def forget(tx: Transaction, receiver: int, address: str | None) -> None:
    """Delete the words to a user, and those to a mail address if one is given, whatever has become of them."""
    theirs = outbox.c.receiver == receiver
    tx.execute(delete(outbox).where(theirs if address is None else or_(theirs, outbox.c.address == address)))


def rename(tx: Transaction, fact: str, name: str, now: str) -> None:
    """Put another name in place of one in the words to others, where it is the value of this fact."""
    was, becomes = (f'"{fact}":"{one}"' for one in (name, now))
    theirs = update(outbox).where(outbox.c.facts.contains(was, autoescape=True))
    tx.execute(theirs.values(facts=func.replace(outbox.c.facts, was, becomes)))


def listed(tx: Transaction, states: Collection[State], limit: int, before: int | None = None) -> list[Word]:
    """Return up to `limit` words in these states, the latest posted first, from the number `before` downwards."""
    some = select(outbox).where(outbox.c.state.in_(states))
    if before is not None:
        some = some.where(outbox.c.id < before)
    return [_word(row) for row in tx.execute(some.order_by(outbox.c.id.desc()).limit(limit))]


def counts(tx: Transaction, channels: Collection[str] = CHANNELS) -> dict[State, int]:
    """Return how many words of these channels there are in each state."""
    some = select(outbox.c.state, func.count().label("found")).where(outbox.c.channel.in_(channels))
    found = {row.state: row.found for row in tx.execute(some.group_by(outbox.c.state))}
    return {state: found.get(state, 0) for state in State}


class Backlog(Struct, frozen=True):
    """How many words of a channel wait, and for how many seconds the oldest has done so.

    `late` is for how many seconds a word has been due that does not wait behind one of the same person that is tried again
    later: a server of somebody's that is away makes nothing late.
    """

    waiting: int = 0
    oldest: float = 0.0
    late: float = 0.0


def backlog(tx: Transaction) -> dict[str, Backlog]:
    """Return what waits, by channel."""
    now, whose = tx.now(), (outbox.c.channel, outbox.c.receiver, outbox.c.address, outbox.c.alone)
    persons = (
        select(
            outbox.c.channel,
            func.count().label("waiting"),
            func.min(outbox.c.posted_at).label("posted_at"),
            case((_held(now) == 0, func.min(outbox.c.due_at))).label("due_at"),
        )
        .where(WAITING)
        .group_by(*whose)
        .subquery()
    )
    found = select(
        persons.c.channel,
        func.sum(persons.c.waiting).label("waiting"),
        func.min(persons.c.posted_at).label("posted_at"),
        func.min(persons.c.due_at).label("due_at"),
    ).group_by(persons.c.channel)

    def since(at: datetime | None) -> float:
        return 0.0 if at is None else max(0.0, (now - at).total_seconds())

    rows = {
        row.channel: Backlog(int(row.waiting), since(row.posted_at), since(row.due_at)) for row in tx.execute(found)
    }
    return {channel: rows.get(channel, Backlog()) for channel in CHANNELS}


def failing(tx: Transaction, channel: str, since: datetime) -> int:
    """Return to how many addresses of a channel a word that was posted before `since` waits for another try."""
    found = select(func.count(outbox.c.address.distinct())).where(WAITING, outbox.c.channel == channel)
    return int(tx.execute(found.where(outbox.c.tries > 0, outbox.c.posted_at < since)).scalar_one())


def _word(row: Row[Any]) -> Word:
    """Return a word. Facts that cannot be read are left out, which the maker of a mail notices."""
    values = {name: getattr(row, name) for name in Word.__struct_fields__}
    return Word(**values | {"facts": facts_of(row.facts) or {}, "state": State(row.state)})
