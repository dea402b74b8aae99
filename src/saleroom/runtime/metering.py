"""Metering: the figures of a process are gathered each second, and those of the house are shown on a port of their own."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from saleroom import __version__
from saleroom.http import metrics
from saleroom.http.connections import Connections
from saleroom.http.metrics import Board
from saleroom.http.outcomes import Outcomes
from saleroom.http.protocol import Http
from saleroom.kernel.figures import Figure, Kind, Sample, counters, gauge
from saleroom.outbox.figures import OutboxFigures
from saleroom.platform_settings import PlatformSettings
from saleroom.runtime import serving
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable

log = structlog.get_logger()

PUBLISH_SECONDS = 1.0
ASK_SECONDS = 10.0
"""How often a process asks the database for figures."""

Ask = Callable[[], Awaitable[Sequence[Figure]]]


class Meter:
    """Gathers the figures of one process: the platform's, and those that areas hand in."""

    def __init__(
        self,
        board: Board,
        database: Database,
        outcomes: Outcomes,
        connections: Connections,
        parts: Sequence[Callable[[], Sequence[Figure]]],
        asked: Sequence[Ask],
    ) -> None:
        """`parts` return what they have counted; `asked` ask the database, now and then."""
        self._board = board
        self._database = database
        self._outcomes = outcomes
        self._connections = connections
        outbox = OutboxFigures(database)
        self._parts = (*parts, outbox.counted)
        self._asked = (*asked, outbox.asked)
        self._answers: list[Figure] = []
        self._fails = False
        """Whether the last figures could not be published, which has been logged."""

    async def run(self) -> None:
        """Publish every second until cancelled. Without the database, its figures are left out.

        If those of several processes have no room, or their folder is gone, the last ones stay, and one line says so.
        """
        ask_at = 0.0
        while True:
            if time.monotonic() >= ask_at:
                ask_at = time.monotonic() + ASK_SECONDS
                await self._ask()
            own = (*process_figures(self._outcomes, self._connections), *_places(self._database))
            self._publish([*own, *(one for part in self._parts for one in part()), *self._answers])
            await asyncio.sleep(PUBLISH_SECONDS)

    def _publish(self, figures: Sequence[Figure]) -> None:
        try:
            self._board.publish(figures)
        except OSError as error:
            if not self._fails:
                log.error("figures cannot be published", folder=str(self._board.folder), reason=str(error))
            self._fails = True
        else:
            if self._fails:
                log.info("figures are published again")
            self._fails = False

    async def _ask(self) -> None:
        self._answers = []
        with suppress(DatabaseUnavailable):
            for ask in self._asked:
                self._answers += await ask()


def process_figures(outcomes: Outcomes, connections: Connections) -> Sequence[Figure]:
    """Return what each process counts that answers requests: its answers, its connections, and what it uses."""
    answers: Counter[tuple[str, ...]] = Counter()
    for (route, status), number in outcomes.counts.items():
        answers[route, f"{status // 100}xx"] += number
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (
        counters("saleroom_http_requests", "Answered requests.", ("route", "status_class"), answers),
        gauge("saleroom_connections", "Open connections of clients.", connections.count),
        gauge("saleroom_processes", "Processes that serve.", 1),
        counters(
            "saleroom_process_cpu_seconds", "Processor time of all processes.", (),
            {(): used.ru_utime + used.ru_stime},
        ),
        gauge("saleroom_process_resident_memory_bytes", "Memory of all processes.", _memory_bytes()),
        gauge("saleroom_process_open_files", "Open files of all processes.", _open_files()),
        Figure("saleroom_build", "The version that serves.", Kind.STATE, (Sample((__version__,), 1),), ("version",)),
    )  # fmt: skip


def _places(database: Database) -> Sequence[Figure]:
    """Return the use of the database's places: connections of the pool, or the readers and the writer of SQLite."""
    found = database.occupancy()
    ranks = tuple(Sample((rank.name.lower(),), number) for rank, number in found.waiting.items())
    return (
        gauge("saleroom_database_places", "Transactions that the database takes at a time.", found.places),
        gauge("saleroom_database_places_taken", "Transactions under way.", found.taken),
        Figure(
            "saleroom_database_waiting", "Transactions that wait for a place, by rank.", Kind.GAUGE, ranks, ("rank",)
        ),
    )


def _memory_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # no Linux: the most that it has ever been
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return pages * os.sysconf("SC_PAGE_SIZE")


def _open_files() -> int:
    with suppress(OSError):
        return sum(1 for _ in Path("/dev/fd").iterdir())
    return 0


def shown(settings: PlatformSettings, folder: Path | None) -> tuple[Board, tuple[str, int]] | None:
    """Show the figures if a setting asks for it; return where they are published, and the address and port of their listener.

    Raises OSError if the port cannot be had.
    """
    if settings.metrics_port is None:
        return None
    listener = serving.listen(settings.metrics_host, settings.metrics_port, "the settings metrics_host or metrics_port")
    board, token = Board(folder), settings.metrics_token
    serve_beside(board, listener, None if token is None else token.get_secret_value())
    return board, listener.getsockname()[:2]


def serve_beside(board: Board, listener: socket.socket, token: str | None) -> None:
    """Show the figures of `board` on `listener`, from a thread of its own, until the process ends."""
    server = serving.server_beside(metrics.application(board, token), Http)
    threading.Thread(target=server.run, args=([listener],), name="metrics", daemon=True).start()
