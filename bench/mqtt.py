"""Events over MQTT: how many per second reach a subscriber, and what they cost the bids."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from sqlalchemy import Connection, select

from bench import BenchError, bidding, data, filling, violations
from bench.bidding import CONNECTIONS, Interval
from bench.results import Reading
from bench.servers import ROOT, House, Mosquitto, cpu_seconds, program
from bench.stage import Stage
from bench.wrk import Load
from saleroom.bidding.storage import tables

EVENTS = 20_000
SECONDS_MAX = 300.0
QUIET_CPU = 0.05
"""The share of a core below which a house has finished its start."""


class Subscriber:
    """`mosquitto_sub` on all events of all auctions, at QoS 1, which notes the time of each one."""

    def __init__(self, stage: Stage, broker: Mosquitto, count: int | None = None) -> None:
        self._file = stage.folder / "received.txt"
        where = ["-h", "127.0.0.1", "-p", str(broker.port), "-q", "1", "-t", "saleroom/auctions/+/events"]
        enough = [] if count is None else ["-C", str(count)]
        with self._file.open("wb") as output:
            self._process = subprocess.Popen(
                [program("mosquitto_sub", "mosquitto-clients"), *where, *enough, "-F", "%U"],
                stdout=output,
                start_new_session=True,
            )
        time.sleep(0.5)  # until it is subscribed, which it does not report

    def wait(self) -> list[float]:
        """Wait for all events, and return their times (Unix). Raises BenchError if some do not come."""
        try:
            self._process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.stop()
            raise BenchError(f"not all events came within {SECONDS_MAX:g} s") from None
        return self._times()

    def stop(self) -> list[float]:
        """End the subscriber, and return the times of the events."""
        self._process.terminate()
        self._process.wait()
        return self._times()

    def _times(self) -> list[float]:
        return [float(line) for line in self._file.read_text().splitlines()]


def from_house(stage: Stage, *, auctions: int) -> Reading:
    """Return how many events per second reach a subscriber while a house sends 20,000 owed events of so many auctions.

    Between the first and the last, so that no start counts. The house retains the auctions' states beside them.
    """
    with stage.database("postgresql") as url:
        filling.fill(stage, url, EVENTS // auctions, auctions=auctions, delivered=False)
        subscriber = Subscriber(stage, stage.mosquitto, EVENTS)
        try:
            with House(stage.folder, url, mqtt=stage.mosquitto.url):
                return _rate(subscriber.wait())
        finally:
            subscriber.stop()


def bare(stage: Stage, *, auctions: int) -> Reading:
    """Return the same for a bare aiomqtt publisher of the same payloads on the same topics, with as many in flight."""
    with stage.database("postgresql") as url:
        filling.fill(stage, url, EVENTS // auctions, auctions=auctions, delivered=False)
        lines = data.on(url, _owed)
    file = stage.folder / "messages.txt"
    file.write_bytes(b"".join(lines))
    subscriber = Subscriber(stage, stage.mosquitto, EVENTS)
    try:
        _publish(stage, file)
        return _rate(subscriber.wait())
    finally:
        subscriber.stop()


def bids(stage: Stage) -> Reading:
    """Return the accepted bids per second on one hot auction on PostgreSQL while every event goes out to a subscriber."""
    load = Load(script="bid.lua", tokens=stage.tokens, gids=stage.gids(1), connections=CONNECTIONS)
    with stage.database("postgresql") as url:
        subscriber = Subscriber(stage, stage.mosquitto)
        try:
            with House(stage.folder, url, mqtt=stage.mosquitto.url) as house:
                until_quiet(house)
                interval = Interval(house.pid, stage.server_pid("postgresql"))
                warm, summary = bidding.run_load(stage, house, load, interval)
        finally:
            times = subscriber.stop()
        accepted = data.on(url, lambda connection: bidding.recorded(connection, 0, interval))
        total = data.on(url, lambda connection: bidding.recorded(connection, 0))
        found = data.on(url, violations.find)
    found |= violations.between_client_and_database(warm.succeeded + summary.succeeded, total, 2 * CONNECTIONS)
    began, ended = interval.began.timestamp(), interval.ended.timestamp()
    told = bidding.figures(summary, interval, accepted)
    told["events_received_per_s"] = sum(began <= at < ended for at in times) / interval.seconds
    return Reading(value=accepted / interval.seconds, figures=told, violations=found)


def _rate(times: list[float]) -> Reading:
    times.sort()
    return Reading(value=(len(times) - 1) / (times[-1] - times[0]), figures={"events": float(len(times))})


def _publish(stage: Stage, file: Path) -> None:
    command = [sys.executable, "-m", "bench.publisher", "127.0.0.1", str(stage.mosquitto.port), str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    if done.returncode != 0:
        raise BenchError(f"the bare publisher failed: {done.stderr}")


def _owed(connection: Connection) -> list[bytes]:
    """Return a line for each event that is owed: topic, tab, payload."""
    events, auctions = tables.events, tables.auctions
    statement = select(auctions.c.gid, events.c.payload).join_from(
        events, auctions, events.c.auction_id == auctions.c.id
    )
    owed = statement.where(events.c.delivered_at.is_(None), events.c.type == "bid.placed").order_by(events.c.id)
    return [b"saleroom/auctions/%b/events\t%b\n" % (row.gid.encode(), row.payload) for row in connection.execute(owed)]


def until_quiet(house: House) -> None:
    """Wait until the house has sent the states of its 10,000 auctions. Raises BenchError if it takes too long."""
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        before = cpu_seconds(house.pid)
        time.sleep(1)
        if cpu_seconds(house.pid) - before < QUIET_CPU:
            return
    raise BenchError("the house is still busy long after its start")
