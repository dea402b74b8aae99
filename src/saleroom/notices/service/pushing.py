"""Pushing: what waits for browsers goes to their push services after the commit; each try is written down before it begins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from random import SystemRandom

import structlog
from msgspec import Struct

from saleroom.notices.domain.pushes import URGENT, NumberedSubscription, kept, topic
from saleroom.notices.service import subscribing
from saleroom.notices.service.letters import Letter, LetterDecision, alone, sift
from saleroom.notices.service.sending import UNREADABLE, set_aside
from saleroom.notices.service.under_way import AT_ONCE, UnderWay
from saleroom.notices.storage import pushes
from saleroom.outbox import store, web_push
from saleroom.outbox.hooks import HookClient, PostResult
from saleroom.outbox.kinds import MailKind, Sign
from saleroom.outbox.message import PUSH, Message, State, Word, pause
from saleroom.outbox.web_push import HouseKey
from saleroom.storage.database import Database, Transaction

LEASE = "pushes-sending"
POLL_SECONDS = 2.0
ENDED_STATUS = (404, 410)
"""The browser has ended the subscription (RFC 8030, section 7.3)."""
BUSY_STATUS = 429

_log = structlog.get_logger()
_CHANCE = SystemRandom()

Write = Callable[[Letter], bytes]


class Push(Struct, frozen=True):
    """A message to one browser, for which a push service keeps it for `ttl` seconds while it is away."""

    to: NumberedSubscription
    letter: Letter
    ttl: int
    topic: str
    urgent: bool


class DuePushes(Struct, frozen=True):
    """What is due: messages, what becomes of other words, and words that go to each browser of their receivers."""

    pushes: tuple[Push, ...] = ()
    sorted: tuple[LetterDecision, ...] = ()
    fanned: tuple[tuple[Word, tuple[NumberedSubscription, ...]], ...] = ()


class Pusher:
    """Sends the words of the channel push; `round` is that of a Duty. Close its `posts` at the end."""

    def __init__(
        self,
        database: Database,
        client: HookClient,
        key: Callable[[], HouseKey],
        contact: str,
        write: Write,
        kinds: Mapping[str, MailKind],
        sign: Sign,
    ) -> None:
        """`key` is the house's, `contact` the address of whom push services may write to; `write` says what a letter says.

        `kinds` are those of words that are letters of their own.
        """
        self._database = database
        self._client = client
        self._key = key
        self._contact = contact
        self._write = write
        self._kinds = kinds
        self._sign = sign
        self.posts = UnderWay(database, PUSH, client)

    async def round(self) -> float:
        """Begin to send what is due, and return in how many seconds to look again. Raises DatabaseUnavailable."""
        if (wait := await self.posts.wait(POLL_SECONDS)) > 0:
            return wait
        found = await self._database.read(next_pushes, self.posts.addresses, self._kinds, self._sign)
        if found.fanned or found.sorted:
            await self._database.write(settle_others, found)
        for push in found.pushes:
            self.posts.begin(push.to.user_id, str(push.to.id), partial(self._try, push))
        return 0.0 if found.fanned else POLL_SECONDS

    async def _try(self, push: Push) -> None:
        """Try to send one message, and write down what came of it."""
        words, chance = push.letter.words, _CHANCE.random()
        try:
            said = self._write(push.letter)
        except Exception:  # noqa: BLE001  # facts that an import brought may miss anything
            _log.exception("a message could not be made of its words", word=push.letter.number)
            await self._database.write(store.settle, words, State.GIVEN_UP, UNREADABLE)
            return
        if await self._database.write(store.claim, words, chance):
            posted = await self._send(push, said)
            await self._database.write(note, push, posted, chance)

    async def _send(self, push: Push, said: bytes) -> PostResult:
        to = push.to.subscription
        body = web_push.encrypt(said, web_push.raw(to.p256dh), web_push.raw(to.auth))
        headers = {
            "Authorization": self._key().authorization(to.endpoint, self._contact, push.letter.written_at),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(push.ttl),
            "Topic": push.topic,
            "Urgency": "high" if push.urgent else "normal",
        }
        return await self._client.post(to.endpoint, headers, body)


def next_pushes(tx: Transaction, running: Collection[str], kinds: Mapping[str, MailKind], sign: Sign) -> DuePushes:
    """Return what is due, but not for the browsers that a message is under way to."""
    due = [words for words in store.due(tx, PUSH, 2 * AT_ONCE) if words[0].address not in running]
    fanned = tuple((word, tuple(_browsers(tx, word))) for words in due if words[0].address is None for word in words)
    letters = [words for words in due if words[0].address is not None]
    known = pushes.get_many(tx, {int(words[0].address or 0) for words in letters})
    found: list[Push] = []
    others: list[LetterDecision] = []
    for words in letters:
        to = known.get(int(words[0].address or 0))
        if to is None:
            others.append(LetterDecision(dropped=tuple((word, subscribing.ENDED) for word in words)))
            continue
        language = to.subscription.language
        if words[0].alone:
            one = alone(tx, words[0], PUSH, kinds, sign, address=str(to.id), language=language)
        else:
            one = sift(tx, words, PUSH, number=words[0].letter, address=str(to.id), language=language)
        others.append(one)
        if one.letter is not None:
            found.append(_push(tx, to, one.letter))
    return DuePushes(tuple(found), tuple(one for one in others if one.dropped or one.put_off), fanned)


def _browsers(tx: Transaction, word: Word) -> Sequence[NumberedSubscription]:
    return () if word.receiver is None else pushes.of_user(tx, word.receiver)


def _push(tx: Transaction, to: NumberedSubscription, letter: Letter) -> Push:
    kind = letter.items[-1].kind if letter.items else letter.words[-1].kind
    expires = max(word.expires_at for word in letter.words)
    ends = [item.lot.ends_at for item in letter.items if item.lot.ends_at is not None]
    lots = {item.lot.gid for item in letter.items}
    # News of one lot takes the place of earlier news of it; other news takes no place.
    about = f"{to.id} {lots.pop()}" if len(lots) == 1 else f"{to.id} letter {letter.number}"
    return Push(to, letter, kept(kind, ends, expires, tx.now()), topic(about), kind in URGENT)


def settle_others(tx: Transaction, found: DuePushes) -> None:
    """Drop what is not sent, put off what waits for the end of quiet hours, and address words to their receivers' browsers."""
    set_aside(tx, found.sorted)
    store.discard(tx, [word for word, to in found.fanned if not to])
    for word, to in found.fanned:
        for one in to[:1]:
            store.give_address(tx, word, str(one.id))
        store.post_all(tx, [_copy(word, one) for one in to[1:]])


def _copy(word: Word, to: NumberedSubscription) -> Message:
    return Message(
        kind=word.kind,
        key=f"{word.kind}:copy:{word.id}:{to.id}",
        receiver=word.receiver,
        address=str(to.id),
        about=word.about,
        facts=word.facts,
        channel=PUSH,
        alone=word.alone,
        lasts=word.expires_at - word.posted_at,
    )


def note(tx: Transaction, push: Push, posted: PostResult, chance: float) -> None:
    """Note what came of a try. A browser that is gone gets nothing more."""
    words = push.letter.words
    if posted.ok:
        store.end_try(tx, words, State.SENT)
    elif posted.status in ENDED_STATUS:
        store.end_try(tx, words, State.GIVEN_UP, subscribing.ENDED)
        subscribing.end(tx, push.to.user_id, push.to.id)
    elif posted.status is None or posted.status == BUSY_STATUS or posted.status >= 500:
        after = max(pause(words[0].tries + 1, chance), timedelta(seconds=posted.retry_after))
        store.failed(tx, words, f"The push service: {posted.reason}", after)
    else:
        store.end_try(tx, words, State.GIVEN_UP, f"The push service: {posted.reason}")
        _log.warning("a push service refused a message", status=posted.status, word=push.letter.number)
