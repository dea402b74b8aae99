"""Delivering: what waits for webhooks is posted to them in order; each try is written down before it begins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from random import SystemRandom
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from saleroom.kernel.instants import instant
from saleroom.notices.domain.webhooks import FANNED, LASTS, NAMING, NOTICE, Off, Webhook, secret, signature
from saleroom.notices.service.under_way import AT_ONCE, UnderWay
from saleroom.notices.service.webhooks_off import DELETED, switch_off
from saleroom.notices.storage import webhooks
from saleroom.outbox import store
from saleroom.outbox.hooks import GONE, HookClient, PostResult
from saleroom.outbox.kinds import MailKind, Sign
from saleroom.outbox.message import WEBHOOK, Message, State, Word, number_of, pause
from saleroom.storage.database import Database, Transaction

LEASE = "webhooks-sending"
IN_ORDER_MAX = 50
"""Events that are read at once for a webhook, and posted one after the other."""
POLL_SECONDS = 1.0
NO_LONGER_SO = "The lot is hidden, or the event is gone."
OFF = "The webhook is switched off."

_log = structlog.get_logger()
_CHANCE = SystemRandom()


class WebhookLetter(Struct, frozen=True):
    """One word to a webhook as it is posted, but for the time and the signature."""

    word: Word
    identifier: str
    body: bytes


class Queue(Struct, frozen=True):
    """What waits for one webhook, in order, and the salts of the secrets that sign it."""

    hook: Webhook
    salts: tuple[str, ...]
    letters: tuple[WebhookLetter, ...]


class DueDeliveries(Struct, frozen=True):
    """What is due: queues, words to drop and why, and messages in place of words for all webhooks of their receivers."""

    queues: tuple[Queue, ...] = ()
    dropped: tuple[tuple[Word, str], ...] = ()
    fanned: tuple[tuple[Word, tuple[Message, ...]], ...] = ()


class Deliverer:
    """Posts to webhooks; `round` is that of a Duty. Close its `posts` at the end."""

    def __init__(
        self,
        database: Database,
        client: HookClient,
        key: Callable[[], bytes],
        sign: Sign,
        origin: str,
        kinds: Mapping[str, MailKind],
    ) -> None:
        """`key` returns what the secrets of webhooks follow from; `origin` is the address of the house.

        `kinds` are those of words that are not about lots.
        """
        self._database = database
        self._client = client
        self._key = key
        self._sign = sign
        self._origin = origin
        self._kinds = kinds
        self.posts = UnderWay(database, WEBHOOK, client)

    async def round(self) -> float:
        """Begin the posts that are due, and return in how many seconds to look again. Raises DatabaseUnavailable."""
        if (wait := await self.posts.wait(POLL_SECONDS)) > 0:
            return wait
        found = await self._database.read(next_queues, self._sign, self._origin, self.posts.addresses, self._kinds)
        if found.dropped or found.fanned:
            await self._database.write(set_aside, found)
        for queue in found.queues:
            if queue.letters:
                self.posts.begin(queue.hook.user_id, str(queue.hook.id), partial(self._in_order, queue))
        return 0.0 if found.fanned else POLL_SECONDS

    async def _in_order(self, queue: Queue) -> None:
        """Post what waits for one webhook, until a post fails."""
        hook = queue.hook
        before: Word | None = None
        for letter in queue.letters:
            chance = _CHANCE.random()
            begun = await self._database.write(step, before, letter.word, chance)
            if begun is None:
                return
            before = None
            posted = await self._post(queue, letter, begun)
            if not posted.ok:
                off = await self._database.write(failed, hook, letter.word, posted, chance)
                if off is not None:
                    _log.warning("a webhook was switched off", webhook=hook.id, why=off.value, reason=posted.reason)
                return
            before = letter.word
        if before is not None:
            await self._database.write(step, before, None, 0.0)

    async def _post(self, queue: Queue, letter: WebhookLetter, at: datetime) -> PostResult:
        key, timestamp = self._key(), int(at.timestamp())
        secrets = [secret(key, salt) for salt in queue.salts]
        headers = {
            "Content-Type": "application/json",
            "webhook-id": letter.identifier,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(secrets, letter.identifier, timestamp, letter.body),
        }
        return await self._client.post(queue.hook.url, headers, letter.body)


def is_needed(tx: Transaction) -> bool:
    """Return whether anything waits for webhooks."""
    return store.waiting_at(tx, WEBHOOK) is not None


def next_queues(
    tx: Transaction, sign: Sign, origin: str, running: Collection[str], kinds: Mapping[str, MailKind]
) -> DueDeliveries:
    """Return what is due, but not for the webhooks that are posted to already."""
    first = [words[0] for words in store.due(tx, WEBHOOK, 2 * AT_ONCE) if words[0].address not in running]
    fanned = tuple((word, tuple(_fan(tx, word, kinds, sign, origin))) for word in first if word.address is None)
    heads = [word for word in first if word.address is not None]
    hooks = webhooks.get_many(tx, {int(word.address or 0) for word in heads})
    queues: list[Queue] = []
    dropped: list[tuple[Word, str]] = []
    for head in heads:
        hook = hooks.get(int(head.address or 0))
        waiting = store.queue(tx, head, IN_ORDER_MAX)
        if hook is None or hook.off is not None:
            dropped += [(word, DELETED if hook is None else OFF) for word in waiting]
            continue
        letters, gone = _letters(tx, waiting, sign, origin)
        queues.append(Queue(hook, tuple(hook.salts(tx.now())), tuple(letters)))
        dropped += [(word, NO_LONGER_SO) for word in gone]
    return DueDeliveries(tuple(queues), tuple(dropped), fanned)


def _fan(tx: Transaction, word: Word, kinds: Mapping[str, MailKind], sign: Sign, origin: str) -> list[Message]:
    """Return the messages to each webhook of a word's receiver that wants it. All tries of one say the same."""
    kind = f"{NOTICE}{word.kind}"
    hooks = [] if word.receiver is None else webhooks.of_user(tx, word.receiver)
    data = _data(tx, word, kinds, sign, origin) if hooks else None
    if data is None:
        return []
    return [
        Message(
            kind=kind,
            key=f"{kind}:{FANNED}:{word.id}:{hook.id}",
            receiver=word.receiver,
            address=str(hook.id),
            about=word.about,
            facts={"at": instant(word.posted_at), "data": data},
            channel=WEBHOOK,
            lasts=LASTS,
        )
        for hook in hooks
        if hook.wants(kind)
    ]


def _data(
    tx: Transaction, word: Word, kinds: Mapping[str, MailKind], sign: Sign, origin: str
) -> Mapping[str, Any] | None:
    """Return what a word says to webhooks; None if it is no longer so."""
    kind = kinds.get(word.kind)
    if kind is None:
        return word.facts
    context = kind.context(tx, word, sign)
    return None if context is None else {**context["data"], "url": f"{origin}{context['path']}"}


def _letters(tx: Transaction, words: Sequence[Word], sign: Sign, origin: str) -> tuple[list[WebhookLetter], list[Word]]:
    """Return words as they are posted, and those that are posted no more."""
    numbers = {number for word in words if (number := number_of(word.facts, "event")) is not None}
    events = webhooks.payloads(tx, numbers)
    letters: list[WebhookLetter] = []
    gone: list[Word] = []
    for word in words:
        body: dict[str, Any] | None
        if "event" in word.facts:
            payload, hidden = events.get(number_of(word.facts, "event") or 0, (None, False))
            body = None if payload is None or (hidden and word.kind in NAMING) else _event_body(payload)
        elif isinstance(word.facts.get("data"), dict):
            data = {} if word.about is None else {"gid": word.about}
            body = {"type": word.kind, "timestamp": word.facts.get("at"), "data": data | word.facts["data"]}
        else:
            body = None
        if body is None:
            gone.append(word)
            continue
        if word.about is not None:
            body["data"]["url"] = f"{origin}/lots/{word.about}"
        letters.append(WebhookLetter(word, f"msg_{sign(f'webhook word {word.id}')}", msgspec.json.encode(body)))
    return letters, gone


def _event_body(payload: bytes) -> dict[str, Any]:
    """Return a public event as it is posted: its facts, with the gid and its number within the lot."""
    event = msgspec.json.decode(payload)
    gid, _, sequence = event["id"].partition("/")
    facts = {"gid": gid, "sequence": int(sequence)} | event["data"]
    return {"type": event["type"], "timestamp": event["time"], "data": facts}


def set_aside(tx: Transaction, found: DueDeliveries) -> None:
    """Drop what is not posted, and put words for all webhooks of somebody into the queue of each of them."""
    for reason in sorted({reason for _, reason in found.dropped}):
        store.settle(tx, [word for word, why in found.dropped if why == reason], State.DROPPED, reason)
    for word, messages in found.fanned:
        store.post_all(tx, messages)
        store.discard(tx, [word])


def step(tx: Transaction, sent: Word | None, following: Word | None, chance: float) -> datetime | None:
    """Note that one word was sent, and begin a try of the next one; return when it began.

    Return None if no try has begun: there is no next word, it was dropped, or another process has begun it. The same if another
    process has begun to send the first word again.
    """
    if sent is not None and not store.end_try(tx, [sent], State.SENT):
        return None
    return tx.now() if following is not None and store.claim(tx, [following], chance) else None


def failed(tx: Transaction, hook: Webhook, word: Word, posted: PostResult, chance: float) -> Off | None:
    """Note why a try failed; return why the webhook was switched off, if it was: after 410, and after the last try."""
    off: Off | None = None
    if posted.status == GONE:
        store.end_try(tx, [word], State.GIVEN_UP, posted.reason)
        off = Off.GONE
    else:
        after = pause(word.tries + 1, chance, WEBHOOK)
        longer = max(after.total_seconds(), posted.retry_after)
        if store.failed(tx, [word], posted.reason, after * (longer / after.total_seconds())) is State.GIVEN_UP:
            off = Off.FAILING
    return off if off is not None and switch_off(tx, hook.id, off) else None
