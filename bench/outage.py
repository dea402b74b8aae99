"""Bids while the broker is dead: their rate, and whether all owed events arrive once it is back."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import psutil
from sqlalchemy import Connection, select

from bench import BenchError, bidding, data, mqtt, violations
from bench.bidding import CONNECTIONS, Interval
from bench.results import Reading
from bench.servers import House, Mosquitto, program
from bench.stage import Stage
from bench.wrk import Load
from saleroom.bidding.storage import tables

SECONDS_MAX = 300.0
ARRIVE_SECONDS_MAX = 10.0
POLL_SECONDS = 0.25
SUBSCRIBE_SECONDS = 0.5
"""The time until mosquitto_sub is subscribed, which it does not report."""


def bids(stage: Stage, *, killed: bool) -> Reading:
    """Return the accepted bids per second on one hot auction on PostgreSQL while the house has no broker.

    It never had one, or its broker is `killed` as the measured interval begins. Afterwards one comes back; in the figures
    stands how many events were owed to it, and how many of these, each counted once, a subscriber received.
    """
    load = Load(script="bid.lua", tokens=stage.tokens, gids=stage.gids(1), connections=CONNECTIONS)
    with stage.database("postgresql") as url, Mosquitto(stage.folder) as first:
        port = first.port
        if not killed:
            first.stop()
        with House(stage.folder, url, mqtt=first.url) as house:
            if killed:
                mqtt.until_quiet(house)
            interval = Interval(house.pid, stage.server_pid("postgresql"))

            def dies(seconds: float) -> None:
                first.kill()
                time.sleep(seconds)

            warm, summary = bidding.run_load(stage, house, load, interval, dies if killed else time.sleep)
            owed = data.on(url, _owed)
            with ExitStack() as later:
                with _held(house):
                    later.enter_context(Mosquitto(stage.folder, port))
                    received = later.enter_context(_received(stage.folder, port))
                back_s = _until_delivered(url)
                arrived = _until_there(received, owed)
        accepted = data.on(url, lambda connection: bidding.recorded(connection, 0, interval))
        total = data.on(url, lambda connection: bidding.recorded(connection, 0))
        found = data.on(url, violations.find)
    found |= violations.between_client_and_database(warm.succeeded + summary.succeeded, total, 2 * CONNECTIONS)
    if missing := len(owed - arrived):
        found["events that never arrived"] = missing
    told = bidding.figures(summary, interval, accepted)
    told |= {"owed": float(len(owed)), "arrived": float(len(owed & arrived)), "back_s": back_s}
    return Reading(value=accepted / interval.seconds, figures=told, violations=found)


@contextmanager
def _held(house: House) -> Iterator[None]:
    """Suspend the house, so that the subscriber is there before its events."""
    process = psutil.Process(house.pid)
    process.suspend()
    try:
        yield
    finally:
        process.resume()


@contextmanager
def _received(folder: Path, port: int) -> Iterator[Path]:
    """Subscribe to all events by `mosquitto_sub` at QoS 1; yield the file with a line for each event."""
    file = folder / "arrived.txt"
    options = ["-h", "127.0.0.1", "-p", str(port), "-q", "1", "-t", "saleroom/auctions/+/events", "-F", "%p"]
    with file.open("wb") as output:
        process = subprocess.Popen(
            [program("mosquitto_sub", "mosquitto-clients"), *options], stdout=output, start_new_session=True
        )
    try:
        time.sleep(SUBSCRIBE_SECONDS)
        yield file
    finally:
        process.terminate()
        process.wait()


def _until_delivered(url: str) -> float:
    """Wait until the house owes no events, and return the seconds. Raises BenchError if it takes too long."""
    began = time.monotonic()
    while data.on(url, _owed):
        if time.monotonic() - began > SECONDS_MAX:
            raise BenchError(f"the house still owes events {SECONDS_MAX:g} s after its broker is back")
        time.sleep(POLL_SECONDS)
    return time.monotonic() - began


def _until_there(file: Path, owed: set[str]) -> set[str]:
    """Return the ids of the events that came, all of `owed`, or those that come within ten seconds."""
    deadline = time.monotonic() + ARRIVE_SECONDS_MAX
    while True:
        *lines, _ = file.read_bytes().split(b"\n")
        arrived = {str(msgspec.json.decode(line)["id"]) for line in lines}
        if owed <= arrived or time.monotonic() > deadline:
            return arrived
        time.sleep(POLL_SECONDS)


def _owed(connection: Connection) -> set[str]:
    """Return the ids of the events that no broker has acknowledged."""
    events, auctions = tables.events, tables.auctions
    statement = select(auctions.c.gid, events.c.version).join_from(
        events, auctions, events.c.auction_id == auctions.c.id
    )
    owed = statement.where(events.c.delivered_at.is_(None), events.c.version.is_not(None))
    return {f"{row.gid}/{row.version}" for row in connection.execute(owed)}
