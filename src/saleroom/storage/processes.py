"""Processes: each that serves says so again and again, and how its tasks fare, so that any of them can tell of all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from sqlalchemy import delete, insert, select, update

from saleroom.storage.database import Transaction
from saleroom.storage.room import Room
from saleroom.storage.tables import processes

BEAT_SECONDS = 10.0
ALIVE = timedelta(seconds=35)
"""A process that has said nothing for so long was killed, or cannot reach the database."""
KEPT = timedelta(hours=1)
"""How long such a process stays on record."""


class TaskReport(Struct, frozen=True):
    """A task of the house in one process: when it last finished a transaction, and its failures since the start."""

    name: str
    ran_at: datetime | None = None
    failures: int = 0
    failed_at: datetime | None = None
    failure: str = ""


class Report(Struct, frozen=True):
    """What a process says of itself.

    `relay` is the relay's status, as `/readyz` has it; `room` is None if it cannot look. `origin` is the address by which
    people reach the house as far as this process knows, with the port that it listens on; empty from an older version.
    """

    host: str
    pid: int
    version: str
    relay: str
    tasks: tuple[TaskReport, ...]
    room: Room | None = None
    origin: str = ""


class Process(Struct, frozen=True):
    """A process of the house, and when it was last heard of."""

    name: str
    started_at: datetime
    seen_at: datetime
    report: Report

    def is_alive(self, now: datetime) -> bool:
        """Whether it was heard of lately. After the clock was set back, one that still serves says so at its next beat."""
        return abs(now - self.seen_at) < ALIVE


def beat(tx: Transaction, name: str, report: Report) -> None:
    """Record that a process serves, and forget those that have ended long ago."""
    now = tx.now()
    said = {"seen_at": now, "report": msgspec.json.encode(report).decode()}
    if not tx.execute(update(processes).where(processes.c.name == name).values(said)).rowcount:
        tx.execute(insert(processes), {"name": name, "started_at": now, **said})
        tx.execute(delete(processes).where(processes.c.seen_at < now - KEPT))


def leave(tx: Transaction, name: str) -> None:
    """Record that a process has ended."""
    tx.execute(delete(processes).where(processes.c.name == name))


def all_known(tx: Transaction) -> Sequence[Process]:
    """Return the processes on record, the eldest first."""
    rows = tx.execute(select(processes).order_by(processes.c.started_at, processes.c.name))
    return [
        Process(row.name, row.started_at, row.seen_at, msgspec.json.decode(row.report, type=Report)) for row in rows
    ]


def origin_of_house(tx: Transaction, host: str) -> str | None:
    """Return the address of the house as the process knows it that began last, on this machine if any serves there.

    None if no process serves.
    """
    now = tx.now()
    serving = [one for one in all_known(tx) if one.is_alive(now) and one.report.origin]
    serving.sort(key=lambda one: one.report.host == host)
    return serving[-1].report.origin if serving else None
