"""`/metrics`: the figures of a house in OpenMetrics, on a port of their own; those of several processes together."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope

from saleroom.http.connections import CONNECTIONS, Connections
from saleroom.http.exchange import APPLICATION, Application
from saleroom.http.requests import bearer_token
from saleroom.kernel.figures import Figure, Kind, Sample

PATH = "/metrics"
LIVES_SECONDS = 10.0
"""A process that has published nothing for so long counts as ended: its gauges are left out."""
CONNECTIONS_MAX = 32
_FILE = "figures."
_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Snapshot(Struct, frozen=True):
    """The figures of one process. `at` is when they were read, by the machine's monotonic clock."""

    at: float
    figures: tuple[Figure, ...]


class Board:
    """The figures of all processes of a house. Each publishes its own, and any thread or process may read them all.

    Processes share a folder, in which each replaces its own file. A process that is killed loses what it has counted since it
    last published, which each does every second.
    """

    def __init__(self, folder: Path | None, name: str = "") -> None:
        """Without a `folder`, one process publishes and reads. `name` is that of the process, unique since the start."""
        self.folder = folder
        self._name = name
        self._own: Snapshot | None = None

    def publish(self, figures: Sequence[Figure]) -> None:
        """Replace the figures of this process. Raises OSError if the folder has no room for them."""
        self._own = Snapshot(time.monotonic(), tuple(figures))
        if self.folder is not None:
            new = self.folder / f"new-{_FILE}{self._name}"
            new.write_bytes(msgspec.msgpack.encode(self._own))
            new.replace(self.folder / f"{_FILE}{self._name}")

    def read(self) -> list[Figure]:
        """Return the figures of the house, by name."""
        if self.folder is None:
            found = [self._own] if self._own is not None else []
        else:
            files = sorted(self.folder.glob(f"{_FILE}*"))
            found = [msgspec.msgpack.decode(file.read_bytes(), type=Snapshot) for file in files]
        return _together(sorted(found, key=lambda one: one.at))


def _together(snapshots: Sequence[Snapshot]) -> list[Figure]:
    """Return the figures of several processes as those of the house; the latest snapshot comes last."""
    since = time.monotonic() - LIVES_SECONDS
    parts: dict[str, list[Figure]] = {}
    for one in snapshots:
        for figure in one.figures:
            if one.at > since or figure.kind in (Kind.COUNTER, Kind.DISTRIBUTION):
                parts.setdefault(figure.name, []).append(figure)
    return [_sum(parts[name]) for name in sorted(parts)]


def _sum(parts: Sequence[Figure]) -> Figure:
    last = parts[-1]
    if last.kind is Kind.STATE:
        return last
    samples: dict[tuple[str, ...], Sample] = {}
    for sample in (sample for part in parts for sample in part.samples):
        before = samples.get(sample.labels)
        if before is not None:
            counts = tuple(a + b for a, b in zip(before.counts, sample.counts, strict=True))
            sample = Sample(sample.labels, before.value + sample.value, counts)  # noqa: PLW2901  # the sum so far
        samples[sample.labels] = sample
    return Figure(last.name, last.about, last.kind, tuple(samples.values()), last.labels, last.bounds)


def openmetrics(figures: Sequence[Figure]) -> bytes:
    """Return figures in OpenMetrics 1.0."""
    from prometheus_client import CollectorRegistry  # only a house that shows its figures needs it
    from prometheus_client.openmetrics.exposition import generate_latest  # as above

    class Collector:
        def collect(self) -> Iterator[Any]:
            return map(_family, figures)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector())
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]  # the library says nothing of types here
    return text


def _family(figure: Figure) -> Any:
    """Return a figure as the library has it."""
    from prometheus_client import core  # as above

    if figure.kind is Kind.DISTRIBUTION:
        histogram = core.HistogramMetricFamily(figure.name, figure.about, labels=figure.labels)
        for sample in figure.samples:
            ends = [*map(str, map(float, figure.bounds)), "+Inf"]
            buckets = list(zip(ends, accumulate(sample.counts), strict=True))
            histogram.add_metric(sample.labels, buckets=buckets, sum_value=sample.value)
        return histogram
    kind = core.CounterMetricFamily if figure.kind is Kind.COUNTER else core.GaugeMetricFamily
    family = kind(figure.name, figure.about, labels=figure.labels)
    for sample in figure.samples:
        family.add_metric(sample.labels, sample.value)
    return family


def application(board: Board, token: str | None) -> ASGIApp:
    """Return the application on the port of the figures. A `token` has to be sent (Authorization: Bearer)."""

    async def respond(scope: Scope, receive: Receive) -> Response:  # a layer's form
        if scope["path"] != PATH:
            return PlainTextResponse(f"The figures are at {PATH}.\n", 404)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Use GET.\n", 405, {"Allow": "GET, HEAD"})
        if token is not None and not secrets.compare_digest((bearer_token(scope) or "").encode(), token.encode()):
            headers = {"WWW-Authenticate": "Bearer"}
            return PlainTextResponse("Send the token of metrics_token: 'Authorization: Bearer TOKEN'.\n", 401, headers)
        return Response(openmetrics(board.read()), 200, {"Content-Type": _TYPE, "Cache-Control": "no-store"})

    report: Callable[[Scope, Exception], object] = lambda _, __: None  # noqa: E731  # answers are whole, nothing breaks midway
    connections = Connections(CONNECTIONS_MAX, CONNECTIONS_MAX)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[dict[str, Any]]:
        yield {APPLICATION: Application(respond, report), CONNECTIONS: connections}

    return Router(lifespan=lifespan)
