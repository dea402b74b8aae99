"""Posting words: the log of auctions is read once, from a stored place on, and the words of its events are posted.

The words and the new place are one transaction. So each event leads to each of its words exactly once, however often this is
interrupted, and in however many processes it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from functools import partial

from msgspec import structs

from saleroom.notices.domain.causes import Due, words_due
from saleroom.notices.domain.kinds import AT_ONCE, KINDS, SOON
from saleroom.notices.service.log_reader import LogReader
from saleroom.notices.service.nearing import near_due
from saleroom.notices.storage import causes
from saleroom.outbox import places, store
from saleroom.outbox.message import MAIL, Message
from saleroom.storage.database import Database, Transaction

PLACE = "notices"
LEASE = "notices-posting"
POLL_SECONDS = 1.0
ENDING_SECONDS = 15.0
"""How often watched lots are looked for that end soon."""


class Poster:
    """Posts the words that follow from the log; `round` is that of a Duty."""

    def __init__(self, database: Database, gather: timedelta, channels: Sequence[str] = (MAIL,)) -> None:
        """The first of several words that may follow each other waits for so long, to be one mail."""
        self._database = database
        self._channels = tuple(channels)
        read = partial(read_causes, channels=self._channels)
        self._reader = LogReader(database, PLACE, read, partial(post_words, gather=gather))
        self._rounds_until_ending = 0.0

    async def round(self) -> float:
        """Post what is due, and return in how many seconds to look again. Raises DatabaseUnavailable."""
        if not await self._reader.catch_up():
            return POLL_SECONDS
        if self._rounds_until_ending <= 0:
            posted = [await self._database.write(post_ending, channel) for channel in self._channels]
            self._rounds_until_ending = ENDING_SECONDS if max(posted) < causes.PAGE else 0
        self._rounds_until_ending -= POLL_SECONDS
        return POLL_SECONDS


def read_causes(tx: Transaction, place: int, complete: int, channels: Sequence[str]) -> tuple[int, list[Due]]:
    """Return how far the next page of the log goes, and the words that follow from it, for one receiver and channel each."""
    after = causes.numbers_upto(tx, place, complete)
    entries = causes.entries(tx, place, after)
    due = [*words_due(entries, causes.leaders_before(tx, entries)), *near_due(tx, entries)]
    single = {one.receiver for one in due if one.receiver is not None}
    known = {channel: causes.reachable(tx, single, channel) for channel in channels}
    now = tx.now()
    fresh = [one for one in due if one.at + KINDS[one.kind].lasts > now]
    return after, [
        each for one in fresh for channel in channels for each in _for_each(tx, one, channel, known[channel])
    ]


def _for_each(tx: Transaction, due: Due, channel: str, known: Collection[int]) -> Sequence[Due]:
    """Return a word by a channel for each receiver who can be reached by it."""
    if due.receiver is not None:
        others = [due.receiver] if due.receiver in known else []
    else:
        others = causes.followers(tx, due.auction_id, channel, watchers=due.watchers)
    return [structs.replace(due, receiver=one, channel=channel) for one in others if one not in due.without]


def post_words(tx: Transaction, place: int, after: int, due: Sequence[Due], gather: timedelta) -> bool:
    """Post the words of a page of the log and move the place behind it; False if another process has done so."""
    if not places.move(tx, PLACE, place, after):
        return False
    store.post_all(tx, [_message(one, gather) for one in due])
    return True


def _message(due: Due, gather: timedelta) -> Message:
    kind = KINDS[due.kind]
    return Message(
        kind=due.kind,
        key=f"{due.kind}:{due.cause}:{due.receiver}",
        receiver=due.receiver,
        about=due.gid,
        facts=due.facts,
        channel=due.channel,
        alone=False,
        after=gather if kind.gathers and due.channel == MAIL else AT_ONCE,
        lasts=kind.lasts,
    )


def post_ending(tx: Transaction, channel: str) -> int:
    """Tell those who watch lots that these end soon, each of them once by a channel; return how many were told."""
    now = tx.now()
    found = causes.watchers_of_ending(tx, now, now + SOON, channel)
    return store.post_all(
        tx,
        [
            Message(
                kind="ending",
                key=f"ending:{one.auction_id}:{one.user_id}",
                receiver=one.user_id,
                about=one.gid,
                channel=channel,
                alone=False,
                lasts=KINDS["ending"].lasts,
            )
            for one in found
        ],
    )
