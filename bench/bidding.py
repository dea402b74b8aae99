"""Accepted bids per second: the house under wrk, counted in its database."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from msgspec import Struct, structs
from sqlalchemy import Connection, func, select

from bench import data, violations, wrk
from bench.results import Reading
from bench.servers import SALEROOM, House, Program, cpu_seconds
from bench.stage import Stage
from bench.subscribers import Subscribers
from bench.violations import EVERYTHING, SearchStart
from bench.wrk import Load
from saleroom.bidding.storage.tables import bids as bid_rows

WARM_UP_SECONDS = 1.0
CONNECTIONS = 256
MIB = 2**20
_NEVER = datetime.min.replace(tzinfo=UTC)


class Interval(Struct):
    """The measured part of a load: its begin and end, and the processor time used in it."""

    server: int
    database: int | None
    began: datetime = _NEVER
    ended: datetime = _NEVER
    server_cpu: float = 0.0
    database_cpu: float = 0.0

    def measure(self, seconds: float, meanwhile: Callable[[float], None] = time.sleep) -> None:
        """Measure for `seconds`, the time that `meanwhile` takes."""
        self.began = datetime.now(UTC)
        server, database = self._cpu()
        meanwhile(seconds)
        self.ended = datetime.now(UTC)
        after = self._cpu()
        self.server_cpu, self.database_cpu = after[0] - server, after[1] - database

    @property
    def seconds(self) -> float:
        """The length of the interval."""
        return (self.ended - self.began).total_seconds()

    def _cpu(self) -> tuple[float, float]:
        return cpu_seconds(self.server), 0.0 if self.database is None else cpu_seconds(self.database)


def bids(
    stage: Stage,
    kind: str,
    *,
    auctions: int,
    connections: int = CONNECTIONS,
    workers: int = 1,
    stalled: int = 0,
) -> Reading:
    """Return the accepted bids per second of a house on so many auctions of a fresh database of `kind`."""
    with stage.database(kind) as url:
        return on_database(
            stage, url, kind, auctions=auctions, connections=connections, workers=workers, stalled=stalled
        )


def on_database(
    stage: Stage,
    url: str,
    kind: str,
    *,
    auctions: int,
    connections: int = CONNECTIONS,
    workers: int = 1,
    stalled: int = 0,
    since: SearchStart = EVERYTHING,
    saleroom: Sequence[str] = SALEROOM,
) -> Reading:
    """Return the same for the database at `url`, which may already hold bids. The new bids stay in it.

    `stalled` others follow the first auction and never read. The search for violations starts at `since`; `saleroom` is the
    command of the house.
    """
    before = data.on(url, last_bid)
    gids = stage.gids(auctions)
    load = Load(script="bid.lua", tokens=stage.tokens, gids=gids, connections=connections)
    stream = f"/auctions/{gids.read_text().split()[0]}/events"
    with House(stage.folder, url, workers=workers, saleroom=saleroom) as house:
        interval, size = Interval(house.pid, stage.server_pid(kind)), house.resident_bytes()
        with Subscribers(house.url, stream, living=0, stalled=stalled):
            written = stage.wal_bytes(kind)
            warm, summary = run_load(stage, house, load, interval)
            written = stage.wal_bytes(kind) - written
        sizes = {"before_mib": size / MIB, "after_mib": house.resident_bytes() / MIB}
    accepted = data.on(url, lambda connection: recorded(connection, before, interval))
    total = data.on(url, lambda connection: recorded(connection, before))
    found = data.on(url, lambda connection: violations.find(connection, since))
    found |= violations.between_client_and_database(warm.succeeded + summary.succeeded, total, 2 * connections)
    beside = figures(summary, interval, accepted) | sizes
    if interval.database is not None:
        beside["wal_bytes"] = written / max(1, total)
    return Reading(value=accepted / interval.seconds, figures=beside, violations=found)


def run_load(
    stage: Stage, program: Program, load: Load, interval: Interval, meanwhile: Callable[[float], None] = time.sleep
) -> tuple[wrk.Summary, wrk.Summary]:
    """Warm `program` up, put `load` on it while `interval` is measured, and return both summaries of wrk.

    `meanwhile` runs during the interval, for the seconds that it is given.
    """
    warm = wrk.run(program.url, rising(load, stage.first_amount()), WARM_UP_SECONDS)
    storm = rising(load, stage.first_amount())
    seconds = wrk.HEAD_SECONDS + stage.seconds + 0.1
    return warm, wrk.run(program.url, storm, seconds, lambda: interval.measure(stage.seconds, meanwhile))


def rising(load: Load, first: int, pause_ms: float | None = None) -> Load:
    """Return `load` with another first amount and another pause."""
    return structs.replace(load, first=first, pause_ms=pause_ms)


def figures(summary: wrk.Summary, interval: Interval, accepted: int) -> dict[str, float]:
    """Return the figures beside a rate: latencies, the share of requests that succeeded, processor time for each bid."""
    found = {
        "p50_ms": summary.p50_ms,
        "p99_ms": summary.p99_ms,
        "decided_per_s": summary.requests / summary.seconds,
        "accepted_share": summary.succeeded / max(1, summary.requests),
        "socket_errors": float(summary.socket_errors),
        "server_cpu_us": 1e6 * interval.server_cpu / max(1, accepted),
    }
    if interval.database is not None:
        found["database_cpu_us"] = 1e6 * interval.database_cpu / max(1, accepted)
    return found


def last_bid(connection: Connection) -> int:
    """Return the number of the newest row of bids."""
    return int(connection.execute(select(func.coalesce(func.max(bid_rows.c.id), 0))).scalar_one())


def recorded(connection: Connection, after: int, interval: Interval | None = None) -> int:
    """Return how many bids were recorded after the row `after`, and if given, within `interval` by the database's clock."""
    statement = select(func.count()).where(bid_rows.c.id > after)
    if interval is not None:
        statement = statement.where(bid_rows.c.placed_at >= interval.began, bid_rows.c.placed_at < interval.ended)
    return int(connection.execute(statement).scalar_one())
