"""How the house fares, of all its processes together, for those who may see it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.log.store import PUBLISHED, owed_count
from saleroom.outbox import store
from saleroom.outbox.message import MAIL, State
from saleroom.storage import processes
from saleroom.storage.database import Transaction
from saleroom.storage.migrations import current_revision, newest_revision
from saleroom.storage.processes import Process
from saleroom.storage.room import Enough, Room, database_bytes

LATE_SECONDS = 900
"""From here on words are late, as the alert of `deploy/prometheus` says."""
RECENT = timedelta(hours=24)
"""For so long a failure of a task is a fault of the house."""
_BEST_FIRST = ("connected", "not connected", "standing by", "off")


class Trouble(StrEnum):
    """What somebody should look at."""

    PROCESS = "process"
    RELAY = "relay"
    LATE = "late"
    GIVEN_UP = "given_up"
    TASK = "task"
    REVISION = "revision"
    ROOM = "room"


class TaskHealth(Struct, frozen=True):
    """A task in all processes: the last time that it finished a transaction in any, and its last failure."""

    name: str
    ran_at: datetime | None
    failures: int
    failed_at: datetime | None
    failure: str


class Health(Struct, frozen=True):
    """How the house fares. `relay` is the best status of any process; `late` for how many seconds mails are late."""

    alive: Sequence[Process]
    gone: Sequence[Process]
    relay: str
    owed: int
    mails: dict[State, int]
    late: int
    tasks: Sequence[TaskHealth]
    dialect: str
    bytes: int
    revision: str
    newest: str
    room: Room | None
    troubles: Sequence[Trouble]


def health(tx: Transaction, token: str | None) -> Health:
    """Return how the house fares. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ_HEALTH)
    published = tx.provided(PUBLISHED)
    now, known, mails = tx.now(), processes.all_known(tx), store.counts(tx, [MAIL])
    alive = [one for one in known if one.is_alive(now)]
    gone = [one for one in known if not one.is_alive(now)]
    relay = min((one.report.relay for one in alive), key=_BEST_FIRST.index, default="off")
    late = store.backlog(tx)[MAIL].late
    tasks = _tasks(alive)
    rooms = [one.report.room for one in alive if one.report.room is not None]
    room = min(rooms, key=lambda one: one.free, default=None)
    revision, newest = current_revision(tx) or "", newest_revision()
    found = {
        Trouble.PROCESS: bool(gone),
        Trouble.RELAY: relay in ("not connected", "standing by"),
        Trouble.LATE: late > LATE_SECONDS,
        Trouble.GIVEN_UP: mails[State.GIVEN_UP] > 0,
        Trouble.TASK: any(one.failed_at is not None and now - one.failed_at < RECENT for one in tasks),
        Trouble.REVISION: revision != newest,
        Trouble.ROOM: room is not None and room.enough is not Enough.YES,
    }
    return Health(
        alive=alive,
        gone=gone,
        relay=relay,
        owed=owed_count(tx, published or ()),
        mails=mails,
        late=int(late),
        tasks=tasks,
        dialect=tx.dialect,
        bytes=database_bytes(tx),
        revision=revision,
        newest=newest,
        room=room,
        troubles=[trouble for trouble, is_so in found.items() if is_so],
    )


def _tasks(alive: Sequence[Process]) -> list[TaskHealth]:
    names = sorted({task.name for one in alive for task in one.report.tasks})
    found = []
    for name in names:
        same = [task for one in alive for task in one.report.tasks if task.name == name]
        failed = max((task for task in same if task.failed_at), key=lambda task: str(task.failed_at), default=None)
        ran = max((task.ran_at for task in same if task.ran_at is not None), default=None)
        failures = sum(task.failures for task in same)
        failed_at, failure = (None, "") if failed is None else (failed.failed_at, failed.failure)
        found.append(TaskHealth(name, ran, failures, failed_at, failure))
    return found
