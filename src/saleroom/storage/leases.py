"""Leases: only one process at a time does a task, and another one takes over when the holder stops renewing.

A row with an expiry works on both databases and through a connection pooler; a session's advisory lock does not. The clock
that the expiry is compared with may be set back. So a lease has run out, too, if nobody has renewed it for its whole time by
the clock of the one who waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar

from msgspec import Struct
from sqlalchemy import and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from saleroom.storage.database import Database, Transaction
from saleroom.storage.tables import leases

P = ParamSpec("P")
R = TypeVar("R")
CERTAIN = 0.9
"""A holder stops after this share of its lease: its own clock and the database's may differ a little in speed."""
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""This clock also counts the time during which the machine sleeps."""


def clock() -> float:
    """Return the seconds of a clock of this machine that nobody sets."""
    return time.clock_gettime(_CLOCK)


class LeaseRow(Struct, frozen=True):
    """A lease as its row says: its holder, and until when. Each renewal moves the end."""

    holder: str
    expires_at: datetime


class LeaseLost(Exception):
    """Another process has the lease."""


class LeaseLapsed(Exception):
    """The lease has run out by the holder's own clock. Another process may have had it since."""


class Lease:
    """The lease `name` as one holder knows it.

    A process may stand still for any time, between any two steps: then the lease runs out without its knowledge, and another
    process goes to work. So the holder counts from the moment before it asked for the lease, by a clock of its own machine.
    A term is the time for which it had the lease without a break. Before each act that only one process may do, a holder asks
    whether the term lasts in which it has read what it acts on.
    """

    def __init__(self, name: str, holder: str, seconds: float) -> None:
        self._name = name
        self._holder = holder
        self._seconds = seconds
        self._asked = float("-inf")
        """When this process asked for the lease that it has."""
        self._terms = 0
        self._other: LeaseRow | None = None
        """The lease of another holder as this process last saw it."""
        self._other_since = 0.0
        """When this process first saw that."""

    @property
    def age(self) -> float:
        """The seconds since the lease was last renewed; infinite without it."""
        return clock() - self._asked

    def is_certain(self) -> bool:
        """Return whether no other process can have the lease now."""
        return self.age < CERTAIN * self._seconds

    def term(self) -> Callable[[], bool]:
        """Return what tells whether the present term lasts."""
        present = self._terms
        return lambda: self._terms == present and self.is_certain()

    async def hold(self, database: Database) -> bool:
        """Take or renew the lease; False while another process has it. Raises DatabaseUnavailable."""
        asked = clock()
        other = await database.write(take, self._name, self._holder, self._seconds, self._dead())
        return self._answered(asked, other)

    async def hold_and(
        self, database: Database, use_case: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Take or renew the lease and run `use_case` in the same transaction; return its result.

        Raises LeaseLost if another process has the lease: what the use case did stands then, too. Raises what `Database.write`
        raises; what is known of the lease then stays as it was.
        """
        asked = clock()
        other, result = await database.write(hold_and, self._name, self._holder, self._seconds, use_case, args, kwargs)
        if not self._answered(asked, other):
            raise LeaseLost("another process has the lease")
        return result

    def _dead(self) -> LeaseRow | None:
        """Return the lease of another holder who has not renewed it for all of its time, whatever the database's clock says."""
        return self._other if clock() - self._other_since > self._seconds else None

    def _answered(self, asked: float, other: LeaseRow | None) -> bool:
        """Note the lease of another holder that the database answered, if any; return whether this process has the lease."""
        held = other is None
        if other != self._other:
            self._other, self._other_since = other, clock()
        if not held or not self.is_certain():
            self._terms += 1
        self._asked = asked if held else float("-inf")
        return held

    async def release(self, database: Database) -> None:
        """Give the lease back, if this process has it. Raises DatabaseUnavailable."""
        self._asked = float("-inf")
        await database.write(release, self._name, self._holder)


def hold(tx: Transaction, name: str, holder: str, seconds: float) -> bool:
    """Take or renew the lease `name` for `seconds`; False while another holder has it."""
    return take(tx, name, holder, seconds) is None


def take(tx: Transaction, name: str, holder: str, seconds: float, dead: LeaseRow | None = None) -> LeaseRow | None:
    """Take or renew the lease `name` for `seconds`, and return None; otherwise return the lease that another holder has.

    `dead` is a lease that has run out although the clock may not say so. It is taken if nobody has renewed it by now.
    """
    now = tx.now()
    until = {"holder": holder, "expires_at": now + timedelta(seconds=seconds)}
    free = or_(leases.c.holder == holder, leases.c.expires_at <= now)
    if dead is not None:
        free = or_(free, and_(leases.c.holder == dead.holder, leases.c.expires_at == dead.expires_at))
    if tx.execute(update(leases).where(leases.c.name == name, free).values(until)).rowcount:
        return None
    found = tx.execute(select(leases.c.holder, leases.c.expires_at).where(leases.c.name == name)).first()
    if found is not None:
        return LeaseRow(found.holder, found.expires_at)
    try:
        with tx.connection.begin_nested():
            tx.execute(insert(leases), {"name": name, **until})
    except IntegrityError:
        return LeaseRow("another who was first", now)
    return None


def is_free(tx: Transaction, name: str) -> bool:
    """Return whether nobody has the lease `name` now; the next moment somebody may."""
    held = select(leases.c.name).where(leases.c.name == name, leases.c.expires_at > tx.now())
    return tx.execute(held).first() is None


def hold_and(
    tx: Transaction,
    name: str,
    holder: str,
    seconds: float,
    use_case: Callable[..., R],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> tuple[LeaseRow | None, R]:
    """Take or renew the lease as `take` does, and run a use case in any case; return both results."""
    return take(tx, name, holder, seconds), use_case(tx, *args, **kwargs)


def release(tx: Transaction, name: str, holder: str) -> None:
    """Give the lease back, if `holder` has it."""
    tx.execute(delete(leases).where(leases.c.name == name, leases.c.holder == holder))
