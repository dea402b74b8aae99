"""10,000 auctions that end at the same instant: the time until the last is closed, beside bare statements; each closes once."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from sqlalchemy import Connection, create_engine, func, select, update
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from bench import BenchError, data, filling, violations
from bench.bidding import Interval
from bench.data import AUCTIONS
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage
from saleroom.bidding.service.closing import BATCH
from saleroom.bidding.storage import tables
from saleroom.kernel.chain import ZERO
from saleroom.storage.database import parse_url

LEADS_SECONDS = (6.0, 20.0, 60.0)
"""The time from the start of the house to the end of the auctions; the longer ones if it did not start in time."""
POLL_SECONDS = 0.02
SECONDS_MAX = 120.0
_PAYLOAD = bytes(600)
"""As long as the event of a closed auction."""
_STATE = ("status", "outcome", "version", "position", "head", "hidden")
_EVENT = ("auction_id", "position", "version", "type", "at", "payload", "private", "price", "ending_rank")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def all_at_once(stage: Stage, kind: str) -> Reading:
    """Return the seconds from the end of all auctions until the list of open ones, asked for over HTTP, is empty.

    Each has a bid, so that there is something to decide. The log is of no use here: it notes the end itself, to the
    microsecond, whenever that was decided.
    """
    for lead in LEADS_SECONDS:
        with stage.database(kind) as url:
            filling.fill(stage, url, 1)
            ends_at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=lead)
            data.on(url, lambda connection, ends_at=ends_at: _all_end(connection, ends_at))  # type: ignore[misc]  # it cannot see the default
            with House(stage.folder, url) as house:
                if datetime.now(UTC) >= ends_at:
                    continue
                interval, written = Interval(house.pid, stage.server_pid(kind)), stage.wal_bytes(kind)
                interval.measure(0.0, lambda _, ends_at=ends_at: _until_none_is_open(house, ends_at))  # type: ignore[misc]  # it cannot see the default
                written = stage.wal_bytes(kind) - written
            count = data.on(url, _closed)
            found = data.on(url, violations.find)
        if count != AUCTIONS:
            found["closed other than once"] = abs(AUCTIONS - count)
        figures = {"server_cpu_us": 1e6 * interval.server_cpu / AUCTIONS}
        if interval.database is not None:
            figures |= {"database_cpu_us": 1e6 * interval.database_cpu / AUCTIONS, "wal_bytes": written / AUCTIONS}
        return Reading(value=(interval.ended - ends_at).total_seconds(), figures=figures, violations=found)
    raise BenchError("the house did not start before the auctions ended; this machine is too slow for this measurement")


def bare(stage: Stage, kind: str) -> Reading:
    """Return the seconds that the bare statements take: each row is updated, and an event of it logged, from values at hand.

    The transactions are as large as the house's.
    """
    with stage.database(kind) as url:
        filling.fill(stage, url, 1)
        data.on(url, lambda connection: _all_end(connection, datetime.now(UTC)))
        address = parse_url(url)
        if kind == "sqlite":
            with create_engine(address, poolclass=NullPool).connect() as connection:
                return Reading(value=_write_all(connection))

        async def run() -> float:
            async with create_async_engine(address, poolclass=NullPool).connect() as connection:
                return await connection.run_sync(_write_all)

        return Reading(value=asyncio.run(run()))


def _write_all(connection: Connection) -> float:
    postgresql = connection.dialect.name == "postgresql"
    places = [f"${place}" for place in range(1, 10)] if postgresql else ["?"] * 9
    state = ", ".join(f"{name} = {place}" for name, place in zip(_STATE, places, strict=False))
    close = f"UPDATE auctions SET {state}, due_at = NULL WHERE id = {places[len(_STATE)]}"
    log = f"INSERT INTO events ({', '.join(_EVENT)}) VALUES ({', '.join(places)})"
    asked = "SELECT id, position, version, price, ending_rank, ends_at FROM auctions ORDER BY id"
    rows = [tuple(row) for row in connection.exec_driver_sql(asked)]
    began = time.perf_counter()
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        states = [
            ("closed", "sold", version + 1, position + 1, ZERO, ZERO, number) for number, position, version, *_ in some
        ]
        events = [
            (number, position + 1, version + 1, "auction.closed", at, _PAYLOAD, b"{}", price, rank)
            for number, position, version, price, rank, at in some
        ]
        connection.exec_driver_sql(close, states)
        connection.exec_driver_sql(log, events)
        connection.commit()
    return time.perf_counter() - began


def _all_end(connection: Connection, ends_at: datetime) -> None:
    rank = (ends_at - _EPOCH) // timedelta(microseconds=1)
    connection.execute(update(tables.auctions).values(ends_at=ends_at, due_at=ends_at, ending_rank=rank))


def _until_none_is_open(house: House, ends_at: datetime) -> None:
    """Ask from the end on, and return once no auction is open any more. Raises BenchError after two minutes."""
    address = urlsplit(house.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=SECONDS_MAX)
    time.sleep(max(0.0, (ends_at - datetime.now(UTC)).total_seconds()))
    while True:
        connection.request("GET", "/auctions?status=open&limit=1")
        answer = json.loads(connection.getresponse().read())
        now = datetime.now(UTC)
        if answer["auctions"] == []:
            connection.close()
            return
        if (now - ends_at).total_seconds() > SECONDS_MAX:
            raise BenchError(f"auctions are still open {SECONDS_MAX:g} s after their end")
        time.sleep(POLL_SECONDS)


def _closed(connection: Connection) -> int:
    """Return how many auctions have closed by the log."""
    events = tables.events.c
    statement = select(func.count(func.distinct(events.auction_id))).where(events.type == "auction.closed")
    return int(connection.execute(statement).scalar_one())
