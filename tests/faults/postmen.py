"""The processes that post and send words, as a trial kills them: at a named place, or at any moment."""

import asyncio
import multiprocessing
import os
import random
import signal
from datetime import timedelta
from functools import wraps
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from saleroom.notices.area import duties
from saleroom.notices.service import duty, posting, sending
from saleroom.notices.service.posting import Poster
from saleroom.outbox import message, store
from saleroom.storage.database import Database, unbound
from tests.notices.equipment import Postman
from tests.outbox.mail_server import Post

GATHER = timedelta(seconds=1)
PLACES = {
    "words posted": "the words of a page of the log are written and not committed",
    "place moved": "the words and the new place are committed",
    "try begun": "a try is written down and the mail server knows nothing",
    "mail taken": "the mail server has the mail and nothing says so",
    "mail settled": "the word is settled",
}
_WRITES = {
    "post_words": (None, "words posted", "place moved"),
    "claim": (None, None, "try begun"),
    "settle": ("mail taken", None, "mail settled"),
}
"""Use case -> the places before it, at its end within the transaction, and after the commit."""
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


class Postmen:
    """So many processes; each that is killed is started again at once."""

    def __init__(self, url: str, port: int, folder: Path, count: int) -> None:
        self.deaths = 0
        self._given = (url, port, folder / "armed")
        self._processes = [self._start() for _ in range(count)]

    def kill(self) -> None:
        """Kill one of them now."""
        victim = random.choice(self._processes)
        victim.kill()
        victim.join()
        self.replace()

    async def die_at(self, place: str, seconds: float) -> None:
        """Let the first one die that comes to a place; after so many seconds kill one wherever it is."""
        armed = self._given[2]
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
        process = _context.Process(target=serve, args=self._given, daemon=True)
        process.start()
        return process


def serve(url: str, port: int, armed: Path) -> None:
    """Post and send words until killed. The waits are shorter than those of a house, so that others take over at once."""
    duty.LEASE_SECONDS, duty.RENEW_SECONDS, duty.STANDBY_SECONDS = 1, 0.2, 0.1
    posting.POLL_SECONDS = sending.POLL_SECONDS = 0.1
    sending.AWAY_SECONDS_MIN, sending.AWAY_SECONDS_MAX = 0.1, 0.5
    message.PAUSE_MIN = message.PAUSE_MAX = store.CLAIMED_AT_LEAST = timedelta(seconds=1)
    sending.SEND_SECONDS_MAX = 0.6
    _let_die_at(armed)
    asyncio.run(_serve(url, port))


async def _serve(url: str, port: int) -> None:
    database = Database(url)
    postman = Postman(database, port, Post())
    tasks = duties(database, Poster(database, GATHER), postman.sender)
    await asyncio.gather(*(task() for task in tasks.values()))


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
