"""The model's answers as the tables of docs/scale.md: what to buy, where it saturates, what a failover costs, and the error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from bench import model
from bench.model import PLACES, Backlog, Costs, Wave, Work
from bench.report import number
from bench.results import Results, read

DOCUMENT = Path(__file__).parents[1] / "docs" / "scale.md"
FIGURES = DOCUMENT.with_name("scale") / "bench.json"
"""The file of the bench from which the model takes all costs."""
BUSY = 0.5
"""The share of what it can do to which anything is loaded: half is left for a lost machine, and for chance."""
BID_SECONDS, VIEW_SECONDS = 20.0, 60.0
"""In the hottest minutes each bidder bids every 20 s. Each viewer opens a page every minute, one in ten the home page."""
HOT_UPDATES, CONFLATED_UPDATES = 5.0, 1.0
"""Updates a second of a lot that all watch, and of its pages if they are told together."""
EDGE_FOLLOWERS_MAX = 15_000
"""Followers of a process of the edge: as many as come back within the longest spread, at the rate that the house aims at."""
STANDBYS = 2
NETWORK_BYTES = 125e6
"""A network of 1 Gbit/s."""
POOL = 10
"""Connections of a process to PostgreSQL."""
PAUSES = {"PostgreSQL crashes": 7.3, "its machine is lost": 22.0}
"""The longest pauses that docs/maintaining/failover.md shows."""
LOTS_AT_ONCE = 100_000


class Scenario(Struct, frozen=True):
    """How large a house is."""

    viewers: int
    bidders: int
    lots: int

    @property
    def bids_per_s(self) -> float:
        """Bids in the hottest minutes."""
        return self.bidders / BID_SECONDS

    @property
    def views_per_s(self) -> float:
        """Pages that are opened."""
        return self.viewers / VIEW_SECONDS


SCENARIOS = (Scenario(1_000, 100, 1_000), Scenario(100_000, 10_000, 100_000), Scenario(1_000_000, 100_000, 1_000_000))


class Bought(Struct, frozen=True):
    """What a house of one size needs, in cores unless the name says otherwise."""

    desk_processes: int
    bids: float
    pages: float
    edges: float
    edges_conflated: float
    edge_processes: int
    postgresql: float
    wal_bytes_per_s: float
    connections: int
    relays: int
    memory_bytes: float

    @property
    def cores(self) -> float:
        """All cores, with conflated updates."""
        return self.bids + self.pages + self.edges_conflated + self.postgresql


def bought(costs: Costs, scenario: Scenario) -> Bought:
    """Return what a house of this size needs if a lot that all watch is on."""
    rate, views = scenario.bids_per_s, scenario.views_per_s
    page = Work(
        0.9 * costs.lot_page.house + 0.1 * costs.home_page.house,
        0.9 * costs.lot_page.database + 0.1 * costs.home_page.database,
    )
    alone = costs.transaction
    # A batch is what came in the time of the one before it: about one bid at a low rate, many at a high one.
    desks = max(1, math.ceil(rate / (BUSY * one_process(costs))))
    share = rate / desks
    batches = min(share, 1 / (alone.house + alone.database + costs.commit_wait)) * desks
    pages = views * page.house / BUSY
    edge_processes = max(1, math.ceil(scenario.viewers / EDGE_FOLLOWERS_MAX))
    processes = desks + math.ceil(pages)
    return Bought(
        desk_processes=desks,
        bids=(rate * costs.spread.house + batches * alone.house) / BUSY,
        pages=pages,
        edges=scenario.viewers * HOT_UPDATES * costs.delivery / BUSY,
        edges_conflated=scenario.viewers * CONFLATED_UPDATES * costs.delivery / BUSY,
        edge_processes=edge_processes,
        postgresql=(rate * costs.spread.database + batches * alone.database + views * page.database) / BUSY,
        wal_bytes_per_s=rate * costs.wal_spread,
        connections=POOL * processes,
        relays=max(1, math.ceil(rate / (BUSY * costs.relayed_per_s))),
        memory_bytes=scenario.viewers * costs.follower_bytes,
    )


@cache
def one_process(costs: Costs) -> float:
    """Return the bids a second that one process takes at most, on as many lots."""
    return model.closed_loop(costs, costs.spread, connections=512)[0]


@cache
def one_lot(costs: Costs) -> float:
    """Return the bids a second that one lot takes at most, on one process."""
    return model.closed_loop(costs, costs.hot, connections=512)[0]


@cache
def backlog(costs: Costs, scenario: Scenario, pause: float) -> Backlog:
    """Return what a pause does to each process of the desk."""
    desks = bought(costs, scenario).desk_processes
    return model.failover(costs, costs.spread, rate=scenario.bids_per_s / desks, pause=pause)


@cache
def wave(costs: Costs, followers: int, spread: float | None = None) -> Wave:
    """Return what a wave of reconnects does to a process of the edge."""
    return model.reconnects(costs, followers=followers, spread=spread)


class Prediction(Struct, frozen=True):
    """A figure of the model beside what was measured."""

    what: str
    unit: str
    predicted: float
    measured: float

    @property
    def factor(self) -> float:
        """How far they are apart, as a factor of at least 1."""
        return max(self.predicted / self.measured, self.measured / self.predicted)


def predictions(results: Results) -> list[Prediction]:
    """Return what the model says about the machine of the file, and what the file says. No figure here is one of its costs."""
    costs = model.costs(results)
    found: list[Prediction] = []

    def best(name: str) -> float:
        """Return the highest rate of any round: other work on the machine can only lower it."""
        return max(results.figure(name))

    for connections in (8, 32, 128, 512):
        rate, median, _ = model.closed_loop(costs, costs.hot, connections=connections)
        name = f"pg-hot-connections-{connections}"
        what = f"one lot, {connections} connections"
        found.append(Prediction(what, "bids/s", rate, best(name)))
        found.append(Prediction(f"{what}, p50", "ms", 1000 * median, min(results.figure(f"{name}.p50_ms"))))
    for name, bid, what in (("hot", costs.hot, "one lot"), ("spread", costs.spread, "10,000 lots")):
        for processes in (1, 2):
            measured = best(f"pg-{name}" if processes == 1 else f"pg-{name}-processes-{processes}")
            rate, _, _ = model.closed_loop(costs, bid, connections=256, processes=processes)
            found.append(
                Prediction(
                    f"{what}, 256 connections, {processes} process{'es' if processes > 1 else ''}",
                    "bids/s",
                    rate,
                    measured,
                )
            )
    seconds, _ = model.closing(costs, lots=10_000, rate=0.0)
    found.append(Prediction("10,000 lots end at once", "s", seconds, min(results.figure("pg-closing"))))
    found.append(
        Prediction(
            "one event to the last of 5,000 followers",
            "ms",
            1000 * model.SUBSCRIBERS * costs.delivery,
            min(results.figure("sse.house_ms")),
        )
    )
    [rate, *_], [pause, *_] = results.figure("pg-pause.bids_per_s"), results.figure("pg-pause.pause_s")
    after = model.failover(costs, costs.spread, rate=rate, pause=pause)
    what = f"PostgreSQL stands still for {pause:g} s under {rate:g} bids/s: until all that waited are answered"
    # Bids before the pause tell how much slower the machine was just then.
    quiet, _ = model.open_loop(costs, costs.spread, rate=rate)
    slower = max(1.0, min(results.figure("pg-pause.p50_before_ms")) / 1000 / quiet)
    found.append(Prediction(what, "s", slower * after.drained, min(results.figure("pg-pause"))))
    return found


def tables(results: Results) -> dict[str, str]:
    """Return each table of the document in Markdown, by the name of its place."""
    costs = model.costs(results)
    return {
        "costs": _costs_table(results, costs),
        "errors": _errors_table(predictions(results)),
        "buy": _buy_table(costs),
        "limits": _limits_table(costs),
        "failover": _failover_table(costs),
        "waves": _waves_table(costs),
        "closing": _closing_table(costs),
    }


def into_document(results: Results, text: str) -> str:
    """Return the document with the tables between their markers."""
    for name, table in tables(results).items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        head, _, rest = text.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            raise ValueError(f"the document has no lines {begin} and {end}")
        text = f"{head}{begin}\n{table}\n{end}{tail}"
    return text


def figures() -> Results:
    """Return the file of the bench that belongs to the document."""
    return read(FIGURES)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _us(seconds: float) -> str:
    return f"{number(1e6 * seconds)} µs"


def _costs_table(results: Results, costs: Costs) -> str:
    def work(cost: Work) -> tuple[str, str]:
        return _us(cost.house), _us(cost.database)

    rows = (
        ("a bid among many, on one lot", *work(costs.hot), f"{costs.wal_hot:,.0f} B"),
        ("a bid among many, on 10,000 lots", *work(costs.spread), f"{costs.wal_spread:,.0f} B"),
        ("a transaction of bids, besides", *work(costs.transaction), ""),
        ("a lot that closes among many", *work(costs.close), f"{costs.wal_close:,.0f} B"),
        ("the page of a lot", *work(costs.lot_page), ""),
        ("the home page", *work(costs.home_page), ""),
        ("an event to one follower", _us(costs.delivery), "", ""),
        ("a follower that comes", _us(costs.connect), "", ""),
    )
    machine = results.machine
    where = f"{machine['processor']}, {machine['cores']} cores, revision {machine['revision']}"
    said = f"From `docs/scale/bench.json`: {results.at}, {where}."
    return f"{said}\n\n" + _table(("what", "house", "PostgreSQL", "its log"), rows)


def _errors_table(found: Sequence[Prediction]) -> str:
    rows = [
        (one.what, f"{number(one.predicted)} {one.unit}", f"{number(one.measured)} {one.unit}", f"{one.factor:.2f}")
        for one in found
    ]
    within = sum(one.factor <= 2 for one in found)
    worst = max(found, key=lambda one: one.factor)
    said = f"{within} of {len(found)} are within a factor of two; the worst is {worst.factor:.2f} ({worst.what})."
    return _table(("on two cores", "predicted", "measured", "factor"), rows) + f"\n\n{said}"


def _buy_table(costs: Costs) -> str:
    found = [bought(costs, scenario) for scenario in SCENARIOS]
    latencies = [
        model.open_loop(costs, costs.spread, rate=scenario.bids_per_s / each.desk_processes)
        for scenario, each in zip(SCENARIOS, found, strict=True)
    ]
    rows: list[tuple[str, ...]] = [
        ("bidders", *(f"{each.bidders:,}" for each in SCENARIOS)),
        ("lots", *(f"{each.lots:,}" for each in SCENARIOS)),
        ("bids/s in the hottest minutes", *(number(each.bids_per_s) for each in SCENARIOS)),
        ("pages/s", *(number(each.views_per_s) for each in SCENARIOS)),
        ("processes that take bids", *(str(each.desk_processes) for each in found)),
        ("a bid until its answer, p50 / p99", *(f"{1000 * a:.1f} / {1000 * b:.1f} ms" for a, b in latencies)),
        ("cores for bids", *(_cores(each.bids) for each in found)),
        ("cores for pages", *(_cores(each.pages) for each in found)),
        ("cores of edges, 5 updates/s to all", *(_cores(each.edges) for each in found)),
        ("cores of edges, 1 update/s to all", *(_cores(each.edges_conflated) for each in found)),
        ("processes of edges", *(str(each.edge_processes) for each in found)),
        ("memory of edges for followers", *(f"{each.memory_bytes / 2**30:.1f} GiB" for each in found)),
        ("cores of PostgreSQL", *(_cores(each.postgresql) for each in found)),
        ("log of PostgreSQL", *(f"{each.wal_bytes_per_s / 1e6:.2f} MB/s" for each in found)),
        (
            f"to {STANDBYS} standbys",
            *(f"{STANDBYS * 8 * each.wal_bytes_per_s / 1e6:.1f} Mbit/s" for each in found),
        ),
        ("log in a day at a tenth of it", *(f"{each.wal_bytes_per_s * 8640 / 1e9:.1f} GB" for each in found)),
        ("connections to PostgreSQL", *(str(each.connections) for each in found)),
        ("relays to MQTT", *(str(each.relays) for each in found)),
        ("all cores, 1 update/s", *(_cores(each.cores) for each in found)),
    ]
    return _table(("viewers", *(f"{each.viewers:,}" for each in SCENARIOS)), rows)


def _cores(value: float) -> str:
    return "under 0.1" if value < 0.1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _limits_table(costs: Costs) -> str:
    process = one_process(costs)
    closed = 10_000 / model.closing(costs, lots=10_000, rate=0)[0]
    rows = (
        (
            "one lot, whose row one transaction locks at a time",
            f"{number(one_lot(costs))} bids/s on it",
            "more processes do not help",
        ),
        ("one process that takes bids, on many lots", f"{number(process)} bids/s", "another process"),
        ("PostgreSQL with 16 cores", f"{number(16 / costs.spread.database)} bids/s", "a larger machine"),
        (
            f"1 Gbit/s from the primary to {STANDBYS} standbys",
            f"{number(NETWORK_BYTES / STANDBYS / costs.wal_spread)} bids/s",
            "10 Gbit/s",
        ),
        ("one relay to MQTT", f"{number(costs.relayed_per_s)} events/s", "nothing that was measured needs more"),
        ("the closer, one transaction at a time", f"{number(closed)} lots/s", "none needed"),
        (
            "one process of an edge, followers that come back",
            f"{number(1 / costs.connect)} a second",
            f"a spread of {wave(costs, EDGE_FOLLOWERS_MAX).spread:g} s",
        ),
        (
            "one process of an edge, a lot that all watch",
            f"{number(1 / costs.delivery)} deliveries/s",
            f"1 update/s: {number(BUSY / costs.delivery)} followers at half load",
        ),
    )
    return _table(("what", "saturates at", "then"), rows)


def _failover_table(costs: Costs) -> str:
    rows = []
    for scenario in SCENARIOS:
        desks = bought(costs, scenario).desk_processes
        for what, pause in PAUSES.items():
            found = backlog(costs, scenario, pause)
            rows.append(
                (
                    f"{scenario.viewers:,} viewers, {what}",
                    f"{pause:g} s",
                    f"{number(scenario.bids_per_s / desks)}",
                    f"{found.longest:,} of {PLACES:,}",
                    f"{found.refused:,}",
                    f"{found.drained:.1f} s",
                )
            )
    head = ("failover", "pause", "bids/s of a process", "wait in it at most", "answers 503", "drained after")
    return _table(head, rows)


def _waves_table(costs: Costs) -> str:
    rows = []
    for scenario in SCENARIOS:
        followers = math.ceil(scenario.viewers / bought(costs, scenario).edge_processes)
        for spread in (4.0, None) if followers > 1000 else (None,):
            found = wave(costs, followers, spread)
            rows.append(
                (
                    f"{scenario.viewers:,} viewers, {followers:,} on each process",
                    f"{found.spread:.0f} s{'' if spread else ', as the house tells them'}",
                    number(found.peak_per_s),
                    f"{found.busy_share:.0%}",
                    f"{found.longest_wait:.1f} s",
                )
            )
    return _table(("come back", "within", "a second, each process", "of its core", "longest wait"), rows)


def _closing_table(costs: Costs) -> str:
    rows = []
    for rate in (0.0, 500.0, 0.25 * one_process(costs)):
        seconds, slowest = model.closing(costs, lots=LOTS_AT_ONCE, rate=rate)
        rows.append((number(rate) if rate else "0", f"{seconds:.1f} s", f"{1000 * slowest:.0f} ms" if rate else ""))
    return _table(("bids/s of the process that closes", f"{LOTS_AT_ONCE:,} lots closed after", "bids' p99"), rows)
