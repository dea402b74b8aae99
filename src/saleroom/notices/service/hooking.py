"""Hooking: the log of auctions is read for webhooks, and what each of them wants is posted to the outbox.

It has a place of its own in the log, so that webhooks need no mail server. While no webhook is on, nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from saleroom.kernel.instants import instant
from saleroom.notices.domain.causes import TYPES, Due, Entry, words_due
from saleroom.notices.domain.kinds import KINDS, SOON
from saleroom.notices.domain.webhooks import LASTS, NOTICE, PUBLIC, WAITING_MAX, Off, Scope, Webhook
from saleroom.notices.service.log_reader import LogReader
from saleroom.notices.service.nearing import near_due
from saleroom.notices.service.webhooks_off import switch_off
from saleroom.notices.storage import causes, webhooks
from saleroom.notices.storage.webhooks import PLACE, Parties
from saleroom.outbox import places, store
from saleroom.outbox.message import WEBHOOK, Message
from saleroom.storage.database import Database, Transaction

LEASE = "webhooks-posting"
POLL_SECONDS = 1.0
ENDING_SECONDS = 15.0
"""How often watched lots are looked for that end soon, and webhooks for which too much waits."""


class Hooker:
    """Posts for webhooks what follows from the log; `round` is that of a Duty."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reader = LogReader(database, PLACE, read_page, post_page)
        self._rounds_until_look = 0.0

    async def round(self) -> float:
        """Post what is due, and return in how many seconds to look again. Raises DatabaseUnavailable."""
        if not await self._reader.catch_up():
            return POLL_SECONDS
        if self._rounds_until_look <= 0:
            posted = await self._database.write(post_ending)
            await self._database.write(switch_off_full)
            self._rounds_until_look = ENDING_SECONDS if posted < causes.PAGE else 0
        self._rounds_until_look -= POLL_SECONDS
        return POLL_SECONDS


def read_page(tx: Transaction, place: int, complete: int) -> tuple[int, list[Message]]:
    """Return how far the next page of the log goes, and the messages to webhooks that follow from it, in order."""
    after = causes.numbers_upto(tx, place, complete)
    hooks = webhooks.all_on(tx)
    entries = causes.entries(tx, place, after, PUBLIC) if hooks else []
    telling = [one for one in entries if one.event.TYPE in TYPES]
    due: dict[int, list[Due]] = {}
    for one in (*words_due(telling, causes.leaders_before(tx, telling)), *near_due(tx, telling)):
        due.setdefault(one.number, []).append(one)
    about = {one.auction_id for one in entries} | {one.auction_id for one in chain.from_iterable(due.values())}
    parties = webhooks.parties(tx, about, {one.user_id for one in hooks})
    return after, [message for entry in entries for hook in hooks for message in _for_hook(hook, entry, due, parties)]


def _for_hook(hook: Webhook, entry: Entry, due: dict[int, list[Due]], parties: Parties) -> Iterator[Message]:
    """Yield the messages to one webhook that follow from one event: the event itself, then the words to its owner."""
    kind, number = entry.event.TYPE, entry.number
    user_id = hook.user_id
    concerns = hook.scope is Scope.HOUSE or user_id in (entry.author_id, entry.seller_id)
    if (concerns or parties.follows(entry.auction_id, user_id, watchers=True)) and hook.wants(kind):
        yield _message(hook, kind, f"{kind}:{number}:{hook.id}", entry.gid, {"event": number})
    for one in due.get(number, ()):
        mine = one.receiver == user_id
        if one.receiver is None:
            mine = user_id not in one.without and parties.follows(one.auction_id, user_id, watchers=one.watchers)
        if mine and hook.wants(f"{NOTICE}{one.kind}"):
            key = f"{NOTICE}{one.kind}:{one.cause}:{hook.id}"
            yield _message(hook, f"{NOTICE}{one.kind}", key, one.gid, {"at": instant(one.at), "data": one.facts})


def _message(hook: Webhook, kind: str, key: str, gid: str | None, facts: dict[str, object]) -> Message:
    return Message(
        kind=kind,
        key=key,
        receiver=hook.user_id,
        address=str(hook.id),
        about=gid,
        facts=facts,
        channel=WEBHOOK,
        lasts=LASTS,
    )


def post_page(tx: Transaction, place: int, after: int, messages: Sequence[Message]) -> bool:
    """Post what follows from a page of the log and move the place behind it; False if another process has done so."""
    if not places.move(tx, PLACE, place, after):
        return False
    store.post_all(tx, messages)
    return True


def post_ending(tx: Transaction) -> int:
    """Tell webhooks of those who watch lots that these end soon, once for each lot; return how many were told."""
    now = tx.now()
    found = [
        Message(
            kind=f"{NOTICE}ending",
            key=f"ending:{one.auction_id}:{one.webhook}",
            receiver=one.user_id,
            address=str(one.webhook),
            about=one.gid,
            facts={"at": instant(now), "data": {}},
            channel=WEBHOOK,
            lasts=KINDS["ending"].lasts,
        )
        for one in webhooks.watched_ending(tx, now + SOON)
    ]
    return store.post_all(tx, found)


def switch_off_full(tx: Transaction) -> None:
    """Switch off webhooks for which too many events wait."""
    for number in webhooks.too_full(tx, WAITING_MAX):
        switch_off(tx, number, Off.FULL)
