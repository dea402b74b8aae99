"""The lines of the table about those who read: requests, pages, photos and streams."""

from __future__ import annotations

from bench.line import BIDS, DATABASES, REQUESTS, Line

_FOLLOWED = "pg-hot-followed-2500"
_HOME = {
    "first": "24 of 10,000 lots, first view",
    "price": "by price",
    "deep": "page 41 by end",
    "deep_price": "page 41 by price",
    "search": "a search that finds one",
    "none": "a search that finds none",
    "deep_search": "page 41 of a search, by price",
}
"""The views of the home page that are measured."""
_CATALOGUE = {
    "cards": "first page, 48 cards",
    "list": "first page, a list of 100",
    "deep": "page 16 of the list",
    "search": "a search that finds one",
    "all": "the list of sales",
}
"""The views of a catalogue that are measured."""

READERS = (
    *(
        Line(
            row="show",
            measure=f"GET /auctions/{{gid}}, {label}, {DATABASES[kind]} / echo",
            numerator=f"{kind}-show-{name}",
            denominator="echo",
            unit=REQUESTS,
            target=target,
        )
        for kind in DATABASES
        for name, label, target in (("hot", "one", 1.2), ("spread", "any of 10,000", 0.9))
    ),
    *(
        Line(
            row="list",
            measure=f"GET /auctions, 50 of 10,000, {DATABASES[kind]} / echo",
            numerator=f"{kind}-list",
            denominator="echo",
            unit=REQUESTS,
            target=0.8,
        )
        for kind in DATABASES
    ),
    *(
        Line(
            row=row,
            measure=f"{what}, {label}, {DATABASES[kind]}",
            numerator=f"{kind}-{row}.{name}_ms",
            unit="ms",
            target=100.0,
            lower_is_better=True,
        )
        for row, what, pages in (("home", "home", _HOME), ("catalogue", "catalogue of 2,000 lots", _CATALOGUE))
        for kind in DATABASES
        for name, label in pages.items()
    ),
    *(
        Line(
            row="home-storm",
            measure=f"home, first view of 10,000 lots while 64 bid on them / quiet, {DATABASES[kind]}",
            numerator=f"{kind}-home-storm",
            denominator=f"{kind}-home-storm.quiet_ms",
            unit="ms",
            lower_is_better=True,
        )
        for kind in DATABASES
    ),
    *(
        Line(
            row="history",
            measure=f"GET /auctions/{{gid}}/bids of thousands of bids, {DATABASES[kind]} / echo",
            numerator=f"{kind}-history",
            denominator="echo",
            unit=REQUESTS,
        )
        for kind in DATABASES
    ),
    *(
        Line(
            row="photos",
            measure=f"photos of 30 KB, from rows of {DATABASES[kind]} / files by nginx",
            numerator=f"{kind}-photos",
            denominator="nginx-photos",
            unit=REQUESTS,
        )
        for kind in DATABASES
    ),
    *(
        Line(
            row="sse",
            measure=measure,
            numerator=f"sse.house_{figure}",
            denominator=f"sse.bare_{figure}",
            unit=unit,
            target=target,
            lower_is_better=True,
        )
        for figure, unit, target, measure in (
            ("ms", "ms", 1.1, "one event to the last of 5,000 SSE subscribers / a bare ASGI fan-out"),
            ("cpu_ms", "ms", None, "processor time for one event to 5,000 SSE subscribers / a bare ASGI fan-out"),
            ("kib", "KiB", None, "memory of one subscriber / in the bare fan-out"),
        )
    ),
    *(
        Line(
            row="edge",
            measure=f"{measure}, by an edge / directly",
            numerator=f"edge.edge_{figure}",
            denominator=f"edge.direct_{figure}",
            unit="ms",
            lower_is_better=True,
        )
        for figure, measure in (
            ("ms", "one event to the last of 2,500 SSE subscribers"),
            ("cpu_ms", "processor time of house and edge for one event to 2,500 SSE subscribers"),
            ("house_cpu_ms", "processor time of the house alone for one event to 2,500 SSE subscribers"),
        )
    ),
    Line(
        row="sse-stalled",
        measure="one event to the last of 2,500 SSE subscribers, 2,500 others stalled / none",
        numerator=f"{_FOLLOWED}-stalled-2500.house_ms",
        denominator=f"{_FOLLOWED}.house_ms",
        unit="ms",
        lower_is_better=True,
    ),
    Line(
        row="sse-stalled",
        measure="64 bid on an auction with 2,500 SSE subscribers, 2,500 others stalled / none",
        numerator=f"{_FOLLOWED}-stalled-2500",
        denominator=_FOLLOWED,
        unit=BIDS,
    ),
    Line(
        row="sse-stalled",
        measure="64 bid on an auction with 2,500 SSE subscribers / without",
        numerator=_FOLLOWED,
        denominator="pg-hot-followed-0",
        unit=BIDS,
    ),
    Line(
        row="watched-page",
        measure="64 bid on a lot whose page 2,500 have open / nobody",
        numerator="pg-hot-watched-2500",
        denominator="pg-hot-followed-0",
        unit=BIDS,
        target=0.8,
    ),
    Line(
        row="watched-page",
        measure="processor time of the house for each of these bids, 2,500 open pages / none",
        numerator="pg-hot-watched-2500.server_cpu_us",
        denominator="pg-hot-followed-0.server_cpu_us",
        unit="µs",
        lower_is_better=True,
    ),
    Line(row="scale", measure="the page of one lot, PostgreSQL", numerator="pg-lot-page", unit=REQUESTS),
    Line(row="scale", measure="the home page of 10,000 lots, PostgreSQL", numerator="pg-home-page", unit=REQUESTS),
    Line(
        row="scale",
        measure="PostgreSQL stands still for 5 s under 500 bids/s: until all that waited are answered",
        numerator="pg-pause",
        unit="s",
        lower_is_better=True,
    ),
)
