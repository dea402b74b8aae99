"""10,000 auctions that end at the same instant: the time until the last one is closed, and whether each is closed once."""

from __future__ import annotations

import http.client
import json
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from sqlalchemy import Connection, func, select, update

from bench import BenchError, data, filling, violations
from bench.data import AUCTIONS
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage
from saleroom.bidding.storage import tables

LEADS_SECONDS = (6.0, 20.0, 60.0)
"""The time from the start of the house to the end of the auctions; the longer ones if it did not start in time."""
POLL_SECONDS = 0.02
SECONDS_MAX = 120.0
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
                seen = _until_none_is_open(house, ends_at)
            count = data.on(url, _closed)
            found = data.on(url, violations.find)
        if count != AUCTIONS:
            found["closed other than once"] = abs(AUCTIONS - count)
        return Reading(value=(seen - ends_at).total_seconds(), violations=found)
    raise BenchError("the house did not start before the auctions ended; this machine is too slow for this measurement")


def _all_end(connection: Connection, ends_at: datetime) -> None:
    rank = (ends_at - _EPOCH) // timedelta(microseconds=1)
    connection.execute(update(tables.auctions).values(ends_at=ends_at, due_at=ends_at, ending_rank=rank))


def _until_none_is_open(house: House, ends_at: datetime) -> datetime:
    """Ask from the end on, and return when no auction was open any more. Raises BenchError after two minutes."""
    address = urlsplit(house.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=SECONDS_MAX)
    time.sleep(max(0.0, (ends_at - datetime.now(UTC)).total_seconds()))
    while True:
        connection.request("GET", "/auctions?status=open&limit=1")
        answer = json.loads(connection.getresponse().read())
        now = datetime.now(UTC)
        if answer["auctions"] == []:
            connection.close()
            return now
        if (now - ends_at).total_seconds() > SECONDS_MAX:
            raise BenchError(f"auctions are still open {SECONDS_MAX:g} s after their end")
        time.sleep(POLL_SECONDS)


def _closed(connection: Connection) -> int:
    """Return how many auctions have closed by the log."""
    events = tables.events.c
    statement = select(func.count(func.distinct(events.auction_id))).where(events.type == "auction.closed")
    return int(connection.execute(statement).scalar_one())
