"""The judge of the trial of the outbox: the words that had to be posted, the rows, and what arrived by each channel."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from saleroom.notices.service.letters import NO_LONGER_SO
from saleroom.outbox.message import MAIL, PUSH, WEBHOOK, State, Word

Cause = tuple[str, int, str]
"""The kind of a word, its receiver, and the lot that it is about."""
TRIES_MAX = 100
"""How often a word is tried in the trial: more often than in a house, as the processes die in a try every other second."""
Arrival = tuple[str, int]
"""Where a letter arrived, and its number."""


class ChannelResult(Struct):
    """What a channel had to say, and what arrived by it, in order; `taken` is what the server took, if not all of it."""

    channel: str
    due: Counter[Cause]
    arrived: Sequence[Arrival]
    taken: Collection[Arrival] | None = None


def faults_of(one: ChannelResult, words: Sequence[Word], addresses: dict[int, str]) -> Iterator[str]:
    """Yield what breaks a promise. `addresses` are where mails to users go; other words have theirs."""
    posted = Counter((word.kind, word.receiver or 0, word.about or "") for word in words)
    if one.due - posted:
        yield f"{one.channel}: {(one.due - posted).total()} words were never posted"
    if posted - one.due:
        yield f"{one.channel}: {(posted - one.due).total()} words were posted twice or without a cause"
    tries: dict[Arrival, int] = {}
    taken = set(one.arrived if one.taken is None else one.taken)
    for word in words:
        letter = (word.address or addresses.get(word.receiver or 0, ""), word.letter or 0)
        tries[letter] = max(tries.get(letter, 0), word.tries)
        may_drop = one.channel != WEBHOOK and (word.kind, word.last_error) == ("outbid", NO_LONGER_SO)
        if word.state is not State.SENT and not (word.state is State.DROPPED and may_drop):
            yield f"{one.channel}: the {word.kind} {word.id} is {word.state}: {word.last_error}"
        if word.state is State.SENT and letter not in taken:
            yield f"{one.channel}: the {word.kind} {word.id} is noted as sent and never came"
    for letter, number in Counter(one.arrived).items():
        if letter not in tries:
            yield f"{one.channel}: {letter} is no letter of the outbox"
        elif number > tries[letter] or tries[letter] > TRIES_MAX:
            yield f"{one.channel}: {letter} came {number} times, and was tried {tries[letter]} times"
    for to, letters in groupby(sorted(one.arrived, key=lambda letter: letter[0]), key=lambda letter: letter[0]):
        numbers = [number for _, number in letters]
        if numbers != sorted(numbers):
            yield f"{one.channel}: what {to} got came out of order"


def by_channel(words: Sequence[Word]) -> dict[str, list[Word]]:
    """Return words by their channel."""
    return {channel: [word for word in words if word.channel == channel] for channel in (MAIL, WEBHOOK, PUSH)}
