"""The processes that post and send words, as a trial kills them: at a named place, or at any moment."""

import asyncio
import json
import multiprocessing
import os
import random
import signal
from dataclasses import dataclass
from datetime import timedelta
from functools import partial, wraps
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from saleroom.http.secret import Purpose
from saleroom.notices.area import duties, push_duty, webhook_duties
from saleroom.notices.service import delivering, hooking, posting, pushing, sending
from saleroom.notices.service.delivering import Deliverer
from saleroom.notices.service.letters import Letter
from saleroom.notices.service.posting import Poster
from saleroom.notices.service.pushing import Pusher
from saleroom.outbox import hooks, message, store
from saleroom.outbox.hooks import HookClient
from saleroom.outbox.message import MAIL, PUSH
from saleroom.outbox.web_push import HouseKey
from saleroom.storage import duty
from saleroom.storage.database import Database, unbound
from tests.faults.outbox_judging import TRIES_MAX
from tests.notices.equipment import ORIGIN, Postman
from tests.outbox.mail_server import Post

GATHER = timedelta(seconds=1)
CONTACT = "mailto:bids@house.example"
PLACES = {
    "words posted": "the words of a page of the log are written and not committed",
    "place moved": "the words and the new place are committed",
    "try begun": "a try is written down and the mail server knows nothing",
    "mail taken": "the mail server has the mail and nothing says so",
    "mail settled": "the word is settled",
    "events posted": "the words to webhooks of a page of the log are written and not committed",
    "events' place moved": "these words and their place are committed",
    "post begun": "a try of a webhook is written down and its server knows nothing",
    "post answered": "the server of a webhook has answered and nothing says so",
    "browsers addressed": "words to all browsers of a user are those of each of them, and not committed",
    "push answered": "the push service has answered and nothing says so",
    "push noted": "what it answered is noted",
}
ORDER = (
    "words posted", "mail taken", "post answered", "push answered", None,
    "events posted", "browsers addressed", "post begun", "try begun", "place moved", None,
    "mail settled", "push noted", "events' place moved",
)  # fmt: skip
"""Where the processes die one after the other; None: at any moment."""
_WRITES = {
    "post_words": (None, "words posted", "place moved"),
    "claim": (None, None, "try begun"),
    "end_try": ("mail taken", None, "mail settled"),
    "post_page": (None, "events posted", "events' place moved"),
    "step": ("post answered", None, "post begun"),
    "settle_others": (None, "browsers addressed", None),
    "note": ("push answered", None, "push noted"),
}
"""Use case -> the places before it, at its end within the transaction, and after the commit."""
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["__main__", __name__])


@dataclass(frozen=True)
class PostmanSettings:
    """What a process knows: the database, the mail server's port, the push service's authority, and the file of its death."""

    url: str
    port: int
    authority: Path
    armed: Path


class Postmen:
    """So many processes; each that is killed is started again at once."""

    def __init__(self, given: PostmanSettings, count: int) -> None:
        self.deaths = 0
        self._given = given
        self._processes = [self._start() for _ in range(count)]

    def kill(self) -> None:
        """Kill one of them now."""
        victim = random.choice(self._processes)
        victim.kill()
        victim.join()
        self.replace()

    async def die_at(self, place: str, seconds: float) -> None:
        """Let the first one die that comes to a place; after so many seconds kill one wherever it is."""
        armed = self._given.armed
        draft = armed.with_suffix(".draft")
        draft.write_text(place)
        draft.rename(armed)
        deaths = self.deaths
        for _ in range(int(seconds / 0.02)):
            await asyncio.sleep(0.02)
            self.replace()
            if self.deaths > deaths:
                return
        armed.unlink(missing_ok=True)
        self.replace()
        if self.deaths == deaths:
            self.kill()

    def replace(self) -> None:
        """Start those again that are dead."""
        for number, process in enumerate(self._processes):
            if not process.is_alive():
                assert process.exitcode == -signal.SIGKILL, f"a process ended by itself: {process.exitcode}"
                self.deaths += 1
                self._processes[number] = self._start()

    def close(self) -> None:
        """End all of them."""
        for process in self._processes:
            process.kill()
            process.join()

    def _start(self) -> BaseProcess:
        process = _context.Process(target=serve, args=(self._given,), daemon=True)
        process.start()
        return process


def serve(given: PostmanSettings) -> None:
    """Post and send words until killed. The waits are shorter than those of a house, so that others take over at once."""
    duty.LEASE_SECONDS, duty.RENEW_SECONDS, duty.STANDBY_SECONDS = 1, 0.2, 0.1
    posting.POLL_SECONDS = sending.POLL_SECONDS = 0.1
    hooking.POLL_SECONDS = delivering.POLL_SECONDS = pushing.POLL_SECONDS = duty.IDLE_SECONDS = 0.1
    sending.AWAY_SECONDS_MIN, sending.AWAY_SECONDS_MAX = 0.1, 0.5
    message.PAUSE_MIN = message.PAUSE_MAX = store.CLAIMED_AT_LEAST = timedelta(seconds=1)
    message.WEBHOOK_PAUSES = (timedelta(seconds=0.3),) * (TRIES_MAX - 1)
    message.TRIES_MAX = TRIES_MAX
    sending.SEND_SECONDS_MAX = hooks.ANSWER_SECONDS_MAX = 0.6
    _let_die_at(given.armed)
    asyncio.run(_serve(given))


async def _serve(given: PostmanSettings) -> None:
    database = Database(given.url)
    postman = Postman(database, given.port, Post())
    key = partial(postman.secret.key, Purpose.WEBHOOKS)
    client, other = (HookClient(private=True, ca_file=str(given.authority)) for _ in range(2))
    deliverer = Deliverer(database, client, key, postman.sign, ORIGIN, {})
    pusher = Pusher(database, other, lambda: HouseKey(b"\x07" * 32), CONTACT, _number, {}, postman.sign)
    tasks = [
        *duties(database, Poster(database, GATHER, (MAIL, PUSH)), postman.sender).values(),
        *webhook_duties(database, deliverer).values(),
        push_duty(database, pusher),
    ]
    await asyncio.gather(*(task() for task in tasks))


def _number(letter: Letter) -> bytes:
    """Return a message to a browser that names its letter, for the judge."""
    return json.dumps({"letter": letter.number}).encode()


def _let_die_at(armed: Path) -> None:
    write: Any = Database.write

    def reach(place: str | None) -> None:
        try:
            if place is None or armed.read_text() != place:
                return
            armed.unlink()  # of several processes one succeeds
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    @wraps(write)
    async def mortal_write(self: Database, use_case: Any, *args: Any, **kwargs: Any) -> Any:
        before, within, after = _WRITES.get(unbound(use_case).__name__, (None, None, None))

        def mortal(*given: Any, **more: Any) -> Any:
            answer = use_case(*given, **more)
            reach(within)
            return answer

        reach(before)
        answer = await write(self, use_case if within is None else mortal, *args, **kwargs)
        reach(after)
        return answer

    Database.write = mortal_write  # type: ignore[method-assign]  # that is the point
