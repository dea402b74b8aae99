"""The function for each measurement of `bench/rows.py`, by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from bench import (
    bidding,
    catalogue,
    closing,
    commands,
    filling,
    latency,
    memory,
    mqtt,
    outage,
    pages,
    pause,
    peers,
    photos,
    reading,
    streams,
)
from bench.data import AUCTIONS
from bench.results import Reading
from bench.stage import Stage

KINDS = {"pg": "postgresql", "sqlite": "sqlite"}
_SIZES = {"hot": 1, "spread": AUCTIONS}

Measure = Callable[[Stage], Reading]


def measurement(name: str) -> Measure:
    """Return the measurement called `name`; docs/maintaining/performance.md explains the names. Raises KeyError."""
    if name in _NAMED:
        return _NAMED[name]
    for pattern, make in _FORMS:
        if found := re.fullmatch(pattern, name):
            return make(*found.groups())
    raise KeyError(name)


def _bids(kind: str, size: str) -> Measure:
    return partial(bidding.bids, kind=KINDS[kind], auctions=_SIZES[size])


def _shows(kind: str, size: str) -> Measure:
    return partial(reading.shows, kind=KINDS[kind], auctions=_SIZES[size])


def _lists(kind: str) -> Measure:
    return partial(reading.lists, kind=KINDS[kind])


def _home(kind: str) -> Measure:
    return partial(pages.home, kind=KINDS[kind])


def _catalogue(kind: str) -> Measure:
    return partial(catalogue.views, kind=KINDS[kind])


def _home_in_storm(kind: str) -> Measure:
    return partial(pages.home_in_storm, kind=KINDS[kind])


def _history(kind: str) -> Measure:
    return partial(reading.history, kind=KINDS[kind])


def _photos(kind: str) -> Measure:
    return partial(photos.served, kind=KINDS[kind])


def _textbook(size: str) -> Measure:
    return partial(peers.textbook, auctions=_SIZES[size])


def _with_processes(size: str, workers: str) -> Measure:
    return partial(bidding.bids, kind="postgresql", auctions=_SIZES[size], workers=int(workers))


def _with_connections(kind: str, size: str, connections: str) -> Measure:
    return partial(bidding.bids, kind=KINDS[kind], auctions=_SIZES[size], connections=int(connections))


def _crowd(kind: str, connections: str) -> Measure:
    return partial(bidding.bids, kind=KINDS[kind], auctions=1, connections=int(connections), stalled=16)


def _on_auctions(kind: str, auctions: str) -> Measure:
    return partial(bidding.bids, kind=KINDS[kind], auctions=int(auctions))


def _latency(kind: str, size: str) -> Measure:
    return partial(latency.at_half_rate, kind=KINDS[kind], auctions=_SIZES[size])


def _closing(kind: str) -> Measure:
    return partial(closing.all_at_once, kind=KINDS[kind])


def _closing_bare(kind: str) -> Measure:
    return partial(closing.bare, kind=KINDS[kind])


def _filled(kind: str, bids: str) -> Measure:
    return partial(filling.filled, kind=KINDS[kind], bids=int(bids))


def _mqtt(side: str, size: str) -> Measure:
    return partial(mqtt.from_house if side == "house" else mqtt.bare, auctions=_SIZES[size])


def _answers(over: str, count: str) -> Measure:
    return partial(commands.answers, over_mqtt=over == "mqtt", count=int(count))


def _followed(living: str, stalled: str | None) -> Measure:
    return partial(streams.bids, living=int(living), stalled=int(stalled or 0))


def _watched(pages: str) -> Measure:
    return partial(streams.bids, living=int(pages), pages=True)


_NAMED: dict[str, Measure] = {
    "bid-mqtt-delayed": commands.delayed,
    "echo": peers.echo,
    "pgbench-1": partial(peers.pgbench, auctions=1, clients=1),
    "pg-hot-mqtt": mqtt.bids,
    "pg-hot-broker-dead": partial(outage.bids, killed=False),
    "pg-hot-broker-killed": partial(outage.bids, killed=True),
    "pg-home-page": partial(reading.pages, kind="postgresql", path="/"),
    "pg-lot-page": partial(reading.pages, kind="postgresql", path="/lots/{gid}"),
    "pg-memory": memory.resident,
    "pg-pause": partial(pause.pause, kind="postgresql"),
    "nginx-photos": photos.files,
    "pgbench-32": partial(peers.pgbench, auctions=AUCTIONS, clients=32),
    "edge": streams.by_an_edge,
    "sse": streams.to_all,
}

_FORMS: tuple[tuple[str, Callable[..., Measure]], ...] = (
    (r"(pg|sqlite)-(hot|spread)", _bids),
    (r"(pg|sqlite)-show-(hot|spread)", _shows),
    (r"(pg|sqlite)-list", _lists),
    (r"(pg|sqlite)-home", _home),
    (r"(pg|sqlite)-home-storm", _home_in_storm),
    (r"(pg|sqlite)-catalogue", _catalogue),
    (r"(pg|sqlite)-history", _history),
    (r"(pg|sqlite)-photos", _photos),
    (r"textbook-(hot|spread)", _textbook),
    (r"pg-(hot|spread)-processes-([0-9]+)", _with_processes),
    (r"(pg|sqlite)-(hot|spread)-connections-([0-9]+)", _with_connections),
    (r"(pg|sqlite)-crowd-([0-9]+)", _crowd),
    (r"(pg|sqlite)-auctions-([0-9]+)", _on_auctions),
    (r"(pg|sqlite)-(hot|spread)-latency", _latency),
    (r"(pg|sqlite)-closing", _closing),
    (r"(pg|sqlite)-closing-bare", _closing_bare),
    (r"(pg|sqlite)-filled-([0-9]+)", _filled),
    (r"mqtt-(house|bare)-(hot|spread)", _mqtt),
    (r"bid-(mqtt|http)-([0-9]+)", _answers),
    (r"pg-hot-followed-([0-9]+)(?:-stalled-([0-9]+))?", _followed),
    (r"pg-hot-watched-([0-9]+)", _watched),
)
