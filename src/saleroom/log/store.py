"""The event log of any kind of aggregate: written by the transactions that decide, read by all live parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any, Protocol

from msgspec import Struct
from sqlalchemy import Column, Row, Table, Text, cast, func, select, update

from saleroom.kernel.errors import UnknownEvent
from saleroom.log.tables import state_kept
from saleroom.storage import bulk
from saleroom.storage.database import Note, SharedPart, Transaction, brief, ranked
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.turns import Rank

PAGE_MAX = 500
LONG_AGO = timedelta(days=365)
"""Longer than any state is retained."""


class Aggregate(Protocol):
    """An object with a log, such as an auction."""

    @property
    def id(self) -> int:
        """Its number in the table of aggregates."""

    @property
    def version(self) -> int:
        """The version of its last public event."""

    @property
    def over(self) -> bool:
        """Whether its log has ended."""


class LoggedEvent(Struct, frozen=True):
    """A public event as the log has it; `payload` is its wire form, `last` says that no other event follows it."""

    id: int
    gid: str
    version: int
    payload: bytes
    last: bool


class Backlog(Struct, frozen=True):
    """The public events of an aggregate after a version, up to a page of them.

    `version` is that of the last event here; without events, the version that was asked for or the aggregate's own. `more`
    says that the log goes on after this page, `over` that the log itself has ended.
    """

    events: list[LoggedEvent]
    version: int
    more: bool
    over: bool


Archived = Callable[[Transaction, int, int, int], Iterable[LoggedEvent]]
"""Yields the public events of an aggregate after one version and before another whose rows are gone."""


class OwedEvent(Struct, frozen=True):
    """A public event that no broker has acknowledged yet; `aggregate` is a number, `payload` the wire form."""

    id: int
    aggregate: int
    gid: str
    version: int
    payload: bytes


class LogPosition(Struct, frozen=True):
    """How far the log was read: a number, and the row with that number if there was one."""

    number: int
    row: tuple[Any, ...] | None = None


class LogPage(Struct, frozen=True):
    """The newest part of the log: its public events, and the numbers of all events, in order.

    On PostgreSQL transactions have numbers too: before these rows were read, all transactions below `all_over_below` were over,
    and none from `none_begun_from` on had begun.
    """

    numbers: list[int]
    events: list[LoggedEvent]
    all_over_below: int
    none_begun_from: int
    last: LogPosition
    more: bool


class LogMismatch(DatabaseUnavailable):
    """The log is not the one that was read before: a failover or a restored backup has lost events."""


class Log:
    """The log of one kind of aggregate.

    An event has three numbers: `id` in the whole log, `position` in its aggregate, and if it is public `version`, which
    counts the public ones. Positions and versions have no gaps, because an aggregate is locked while its events are written.
    """

    def __init__(
        self,
        table: Table,
        aggregate: Column[int],
        aggregates: Table,
        ends: Sequence[str],
        find: Callable[[Transaction, Iterable[str]], Mapping[str, Aggregate]],
        unknown: Callable[[], Exception],
        archived: Archived = lambda *_: (),
    ) -> None:
        """Take the table of the log, its column with the aggregate's number, and the table of aggregates (`id` and `gid`).

        `ends` are the types of events that end an aggregate. `find` reads aggregates by gid; `unknown` makes the refusal of
        a gid that does not exist.
        """
        self.appended: Note[int] = Note()
        """Noted for each transaction that has appended events: how many."""
        self.state_kept = state_kept(ends)
        self.table = table
        self.aggregate = aggregate
        self.gid: Column[str] = aggregates.c.gid
        self.source = table.join(aggregates, aggregate == aggregates.c.id)
        """Events with their aggregates, as a statement selects from them."""
        self._ends = frozenset(ends)
        self._find = find
        self._unknown = unknown
        self._archived = archived
        c = self._c = table.c
        self._rows = select(c.id, self.gid, c.version, c.type, c.payload, c.at, c.position).select_from(self.source)

    def append(self, tx: Transaction, rows: bulk.Rows) -> None:
        """Append events; each row has all columns but the number and those about its delivery."""
        if not rows:
            return
        bulk.insert(
            tx, self.table, rows, {"written_by": "pg_current_xact_id()"} if tx.dialect == "postgresql" else None
        )
        tx.note(self.appended, (len(rows),))

    @ranked(Rank.HOUSE)
    @brief
    def backlogs(
        self, tx: Transaction, asked: Sequence[tuple[str, int | None]], *, begin: bool = False
    ) -> list[Backlog | Exception]:
        """Return for each (gid, version) the events after that version; for version None no events, only the present version.

        The refusal of an unknown gid stands in place of its answer, and UnknownEvent for a version that is not reached yet.
        The answers have nothing that a failover can take away. With `begin` this holds for the versions in `asked` as well:
        followers begin there, and may have read them elsewhere.
        """
        found = self._find(tx, (gid for gid, _ in asked))
        answers = [self._backlog(tx, found.get(gid), version) for gid, version in asked]
        known = [one.version if isinstance(one, Backlog) else None for one in answers]
        if any(now is not None and (begin or now != before) for now, (_, before) in zip(known, asked, strict=True)):
            tx.await_copy()
        return answers

    def _backlog(self, tx: Transaction, one: Aggregate | None, version: int | None) -> Backlog | Exception:
        if one is None:
            return self._unknown()
        if version is None or version == one.version:
            return Backlog([], one.version, more=False, over=one.over)
        if version > one.version:
            return UnknownEvent()
        # Positions are indexed, and events after a version are also after that position.
        after = (self.aggregate == one.id, self._c.position > version, self._c.version > version)
        rows = tx.execute(self._rows.where(*after).order_by(self._c.position).limit(PAGE_MAX))
        page = [self._logged(row) for row in rows]
        if not page or page[0].version != version + 1:
            before = page[0].version if page else one.version + 1
            page = [*islice(self._archived(tx, one.id, version, before), PAGE_MAX), *page][:PAGE_MAX]
        reached = page[-1].version if page else one.version
        return Backlog(page, reached, more=reached < one.version, over=one.over)

    def number_of(self, tx: Transaction, gid: str, version: int) -> int:
        """Return the number of a public event in the whole log, which no failover can take away. Raises UnknownEvent."""
        which = (self.gid == gid, self._c.position >= version, self._c.version == version)
        row = tx.execute(self._rows.where(*which)).first()
        if row is None:
            raise UnknownEvent
        tx.await_copy()
        return int(row.id)

    def last_until(self, tx: Transaction, number: int) -> tuple[str, int] | None:
        """Return the gid and version of the last public event up to a number in the whole log, or None if there is none."""
        which = (self._c.id <= number, self._c.version.is_not(None))
        row = tx.execute(self._rows.where(*which).order_by(self._c.id.desc()).limit(1)).first()
        return None if row is None else (row.gid, row.version)

    @ranked(Rank.HOUSE)
    @brief
    def between(self, tx: Transaction, asked: Sequence[tuple[int, int]]) -> list[list[LoggedEvent] | Exception]:
        """Return for each pair of numbers a page of all public events after the first and up to the second, in order."""
        answers: list[list[LoggedEvent] | Exception] = []
        for after, until in asked:
            which = (self._c.id > after, self._c.id <= until, self._c.version.is_not(None))
            rows = tx.execute(self._rows.where(*which).order_by(self._c.id).limit(PAGE_MAX))
            answers.append([self._logged(row) for row in rows])
        return answers

    @brief
    def tail(self, tx: Transaction, after: LogPosition, missing: Sequence[int], *, shown: bool = False) -> LogPage:
        """Return a page of the log after `after`, and those of `missing` that are visible now. Raises LogMismatch.

        With `shown` it has nothing that a failover can take away.
        """
        settled, begun = self._transactions(tx) if missing else (0, 0)
        in_order = self._rows.order_by(self._c.id)
        found = list(tx.execute(in_order.where(bulk.among(tx, self._c.id, missing)))) if missing else []
        beyond = tx.execute(in_order.where(self._c.id >= after.number).limit(PAGE_MAX + 1)).all()
        if after.row is not None and (not beyond or tuple(beyond[0]) != after.row):
            raise LogMismatch("the log is not the one that was read before")
        last = LogPosition(beyond[-1].id, tuple(beyond[-1])) if beyond else after
        found += [row for row in beyond if row.id > after.number]
        public = [self._logged(row) for row in found if row.version is not None]
        if shown and found:
            tx.await_copy()
        return LogPage([row.id for row in found], public, settled, begun, last, len(beyond) > PAGE_MAX)

    def numbers(self, tx: Transaction, last: int, *, shown: bool = False) -> list[int]:
        """Return the last `last` numbers of the log in order; fewer if some of them are missing. `shown` is as in `tail`."""
        newest = select(func.max(self._c.id)).scalar_subquery()
        found = select(self._c.id).where(self._c.id > newest - last).order_by(self._c.id)
        numbers = list(tx.execute(found).scalars())
        if shown and numbers:
            tx.await_copy()
        return numbers

    @staticmethod
    def _transactions(tx: Transaction) -> tuple[int, int]:
        """Return below which number all transactions are over, and from which on none has begun; see `LogPage`."""
        if tx.dialect == "sqlite":
            return 1, 1  # on SQLite a row that is not visible does not exist
        snapshot = func.pg_current_snapshot()
        settled, begun = func.pg_snapshot_xmin(snapshot), func.pg_snapshot_xmax(snapshot)
        row: Any = tx.execute(select(cast(settled, Text), cast(begun, Text))).one()
        return int(row[0]), int(row[1])

    def _logged(self, row: Row[Any]) -> LoggedEvent:
        return LoggedEvent(row.id, row.gid, row.version, row.payload, row.type in self._ends)

    def owed(self, tx: Transaction, limit: int) -> list[OwedEvent]:
        """Return up to `limit` events that are not delivered yet, in order; those of one aggregate by version."""
        c = self._c
        statement = (
            select(c.id, self.aggregate.label("aggregate"), self.gid, c.version, c.payload)
            .select_from(self.source)
            .where(c.delivered_at.is_(None), c.version.is_not(None))
            .order_by(c.id)
            .limit(limit)
        )
        return [OwedEvent(row.id, row.aggregate, row.gid, row.version, row.payload) for row in tx.execute(statement)]

    def owed_count(self, tx: Transaction) -> int:
        """Return how many events are not delivered yet."""
        statement = select(func.count()).where(self._c.delivered_at.is_(None), self._c.version.is_not(None))
        return int(tx.execute(statement).scalar_one())

    def end_retention(self, tx: Transaction, aggregate: int) -> None:
        """Have the broker remove the state of an aggregate that is over, as if it had been retained for long enough."""
        last = (self.aggregate == aggregate, self.state_kept, self._c.delivered_at.is_not(None))
        tx.execute(update(self.table).where(*last).values(delivered_at=tx.now() - LONG_AGO))

    def resume_retention(self, tx: Transaction, aggregate: int) -> None:
        """Have the broker go on to retain the state of an aggregate that was over and goes on."""
        ended = (self.aggregate == aggregate, self.state_kept)
        tx.execute(update(self.table).where(*ended).values(cleared_at=tx.now()))

    def mark_delivered(self, tx: Transaction, ids: Sequence[int]) -> None:
        """Note that the broker has acknowledged these events."""
        tx.execute(update(self.table).where(bulk.among(tx, self._c.id, ids)).values(delivered_at=tx.now()))


PUBLISHED: SharedPart[Sequence[Log]] = SharedPart()
"""All logs whose events go to a broker."""


def owed_count(tx: Transaction, logs: Iterable[Log]) -> int:
    """Return how many events of these logs are not delivered yet."""
    return sum(log.owed_count(tx) for log in logs)


@ranked(Rank.HOUSE)
def owed_counts(tx: Transaction, asked: Sequence[Sequence[Log]]) -> list[int]:
    """Return that number once for each question. All of them name the same logs, so that they share one read."""
    return [owed_count(tx, asked[0])] * len(asked)
