"""The measurements: the lines of the table by their rows, and the curves of growing costs.

Here are only names; `bench/measurements.py` says how each measurement is taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench import BenchError
from bench.line import BIDS, DATABASES, REQUESTS, Curve, Line
from bench.reader_rows import READERS

CONNECTIONS = (1, 8, 32, 128, 256, 512)
CROWDS = (512, 2_000)
AUCTIONS = (1, 10, 100, 1_000, 10_000)
FILLS = (0, 100_000, 1_000_000, 10_000_000)
PROCESSES = (1, 2, 3)
DEVICES = (1, 16)


LINES = (
    Line(
        row="hot",
        measure="one hot auction, PostgreSQL / pgbench, 1 client, one statement a bid",
        numerator="pg-hot",
        denominator="pgbench-1",
        unit=BIDS,
        target=4.0,
    ),
    Line(
        row="spread",
        measure="10,000 auctions, PostgreSQL / pgbench, 32 clients, one statement a bid",
        numerator="pg-spread",
        denominator="pgbench-32",
        unit=BIDS,
        target=1.0,
    ),
    *(
        Line(
            row=row,
            measure=f"{label}, {DATABASES[kind]} / echo",
            numerator=f"{kind}-{name}",
            denominator="echo",
            unit=BIDS,
            target=target,
        )
        for kind, row in (("pg", "echo"), ("sqlite", "sqlite"))
        for name, label, target in (("hot", "one hot auction", 0.55), ("spread", "10,000 auctions", 0.45))
    ),
    *(
        Line(
            row="cost",
            measure=f"processor time of the house for an accepted bid, {label}, {DATABASES[kind]} / the echo's for a request",
            numerator=f"{kind}-{name}.server_cpu_us",
            denominator="echo.server_cpu_us",
            unit="µs",
            target=target,
            lower_is_better=True,
        )
        for kind, name, label, target in (
            ("pg", "hot", "one hot auction", 2.0),
            ("pg", "spread", "10,000 auctions", 2.4),
            ("sqlite", "hot", "one hot auction", 2.0),
            ("sqlite", "spread", "10,000 auctions", 2.6),
        )
    ),
    *(
        Line(
            row="peer",
            measure=f"{label} / the textbook, PostgreSQL",
            numerator=f"pg-{name}{figure}",
            denominator=f"textbook-{name}{figure}",
            unit=unit,
        )
        for name, label, figure, unit in (
            ("hot", "one hot auction", "", BIDS),
            ("hot", "one hot auction, accepted or refused", ".decided_per_s", REQUESTS),
            ("spread", "10,000 auctions", "", BIDS),
        )
    ),
    *(
        Line(
            row="latency",
            measure=f"p99 / p50 of a bid at half the highest rate, {label}",
            numerator=f"{name}-latency.p99_ms",
            denominator=f"{name}-latency.p50_ms",
            unit="ms",
            target=2.0,
            lower_is_better=True,
        )
        for name, label in (
            ("pg-hot", "one hot auction, PostgreSQL"),
            ("pg-spread", "10,000 auctions, PostgreSQL"),
            ("sqlite-hot", "one hot auction, SQLite"),
            ("sqlite-spread", "10,000 auctions, SQLite"),
        )
    ),
    *(
        Line(
            row="processes",
            measure=f"2 processes / 1, {label}, PostgreSQL",
            numerator=f"pg-{name}-processes-2{figure}",
            denominator=f"pg-{name}{figure}",
            unit=unit,
            target=target,
        )
        for name, label, figure, unit, target in (
            ("hot", "one hot auction", "", BIDS, 1.0),
            ("hot", "one hot auction, accepted or refused", ".decided_per_s", REQUESTS, None),
            ("spread", "10,000 auctions", "", BIDS, 1.5),
        )
    ),
    *(
        Line(
            row="crowd",
            measure=f"{label}, {count:,} connections and 16 that never read, one hot auction, {DATABASES[kind]}",
            numerator=f"{kind}-crowd-{count}.{figure}",
            denominator=f"{kind}-crowd-{count}.{other}",
            unit=unit,
            lower_is_better=True,
        )
        for kind in DATABASES
        for count in CROWDS
        for label, figure, other, unit in (
            ("p99 / p50 of a bid", "p99_ms", "p50_ms", "ms"),
            ("resident size after / before", "after_mib", "before_mib", "MiB"),
        )
    ),
    *(
        Line(
            row="closing",
            measure=f"10,000 auctions end at once: until the last is seen closed, {DATABASES[kind]} / bare statements",
            numerator=f"{kind}-closing",
            denominator=f"{kind}-closing-bare",
            unit="s",
            target=2.0,
            lower_is_better=True,
        )
        for kind in DATABASES
    ),
    *(
        Line(
            row="mqtt",
            measure=f"events of {label} to an MQTT subscriber, QoS 1 / a bare aiomqtt publisher of the same",
            numerator=f"mqtt-house-{name}",
            denominator=f"mqtt-bare-{name}",
            unit="events/s",
            target=0.8,
        )
        for name, label in (("hot", "one auction"), ("spread", "10,000 auctions"))
    ),
    Line(
        row="hot-mqtt",
        measure="one hot auction, PostgreSQL, every event going out / without MQTT",
        numerator="pg-hot-mqtt",
        denominator="pg-hot",
        unit=BIDS,
    ),
    *(
        Line(
            row="full",
            measure=f"10,000 auctions with 10 million bids and events / none, {DATABASES[kind]}",
            numerator=f"{kind}-filled-{FILLS[-1]}",
            denominator=f"{kind}-spread",
            unit=BIDS,
            target=0.9,
        )
        for kind in DATABASES
    ),
    *(
        Line(
            row="memory",
            measure=f"resident size {label} / at the start, PostgreSQL",
            numerator=f"pg-memory.{figure}",
            denominator="pg-memory.start_mib",
            unit="MiB",
            lower_is_better=True,
        )
        for figure, label in (
            ("idle_mib", "with 5,000 idle connections"),
            ("after_mib", "after 1,000,000 bids"),
            ("end_mib", "after both"),
        )
    ),
    Line(
        row="broker-dead",
        measure="one hot auction, PostgreSQL, the broker dead / without MQTT",
        numerator="pg-hot-broker-dead",
        denominator="pg-hot",
        unit=BIDS,
    ),
    *(
        Line(
            row="broker-dead",
            measure=f"one hot auction, PostgreSQL, the broker {label} / alive",
            numerator=f"pg-hot-broker-{name}",
            denominator="pg-hot-mqtt",
            unit=BIDS,
            target=1.0,
        )
        for name, label in (("dead", "dead"), ("killed", "killed as it begins"))
    ),
    *(
        Line(
            row="broker-dead",
            measure=f"events that arrive once the broker is back / owed to it, {label}",
            numerator=f"pg-hot-broker-{name}.arrived",
            denominator=f"pg-hot-broker-{name}.owed",
            unit="events",
            target=1.0,
        )
        for name, label in (("dead", "dead from the start"), ("killed", "killed"))
    ),
    *(
        Line(
            row="mqtt-commands",
            measure=f"a bid until its answer, {label}, {count} {'device' if count == 1 else 'devices'}, over MQTT / over HTTP",
            numerator=f"bid-mqtt-{count}.{figure}",
            denominator=f"bid-http-{count}.{figure}",
            unit="ms",
            lower_is_better=True,
        )
        for count in DEVICES
        for figure, label in (("p50_ms", "median"), ("p99_ms", "p99"))
    ),
    Line(
        row="mqtt-commands",
        measure="a bid until its answer, median, 1 device, over MQTT by Mosquitto without set_tcp_nodelay / over HTTP",
        numerator="bid-mqtt-delayed.p50_ms",
        denominator="bid-http-1.p50_ms",
        unit="ms",
        lower_is_better=True,
    ),
    *READERS,
)

CURVES = (
    *(
        Curve(
            row="bidders",
            series=f"{DATABASES[kind]}, one hot auction",
            x="connections",
            points=tuple((n, f"{kind}-hot-connections-{n}") for n in CONNECTIONS),
        )
        for kind in DATABASES
    ),
    *(
        Curve(
            row="auctions",
            series=DATABASES[kind],
            x="auctions that are bid on",
            points=tuple((n, f"{kind}-auctions-{n}") for n in AUCTIONS),
        )
        for kind in DATABASES
    ),
    *(
        Curve(
            row="full",
            series=f"{DATABASES[kind]}, 10,000 auctions",
            x="bids and events in the tables before",
            points=tuple((n, f"{kind}-filled-{n}" if n else f"{kind}-spread") for n in FILLS),
        )
        for kind in DATABASES
    ),
    *(
        Curve(
            row="processes",
            series=f"PostgreSQL, {label}",
            x="processes",
            points=tuple((n, f"pg-{name}-processes-{n}" if n > 1 else f"pg-{name}") for n in PROCESSES),
        )
        for name, label in (("hot", "one hot auction"), ("spread", "10,000 auctions"))
    ),
)

ONCE = frozenset({"pg-memory"})
"""Measurements of the first round only, because they take minutes."""

ROWS = tuple(dict.fromkeys([line.row for line in LINES] + [curve.row for curve in CURVES]))


def chosen(only: str, rows: Iterable[str] = ROWS) -> tuple[str, ...]:
    """Return those of `rows` named in `only`, separated by commas, or if it is empty all. Raises BenchError."""
    known = tuple(rows)
    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BenchError(f"no such row: {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(row for row in known if not names or row in names)


def needed(rows: Iterable[str]) -> list[str]:
    """Return the measurements that these rows need, each once, in the order of the table."""
    rows = set(rows)
    names: list[str] = []
    for line in LINES:
        if line.row in rows:
            names += [line.numerator, *([line.denominator] if line.denominator is not None else [])]
    for curve in CURVES:
        if curve.row in rows:
            names += [name for _, name in curve.points]
    return list(dict.fromkeys(name.partition(".")[0] for name in names))
