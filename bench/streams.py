"""One event to thousands of subscribers: the time until the last one has it, and the cost of those that do not read."""

from __future__ import annotations

import http.client
import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from urllib.parse import urlsplit

from msgspec import structs

from bench import BenchError, bidding, data, violations, wrk
from bench.bidding import Interval
from bench.results import Reading
from bench.servers import Edge, House, Program, Uvicorn, cpu_seconds
from bench.stage import Stage
from bench.subscribers import Subscribers
from bench.wrk import Load
from saleroom.bidding.domain.events import BidPlaced
from saleroom.bidding.domain.views import cloud_event, event_parts
from saleroom.kernel.chain import ZERO, canonical

SUBSCRIBERS = 5_000
EDGE_SUBSCRIBERS = 2_500
EVENTS_MIN = 5
PAUSE_SECONDS = 0.05
FILL_SECONDS = 5.0
SETTLE_SECONDS = 1.0
BIDDERS = 64
"""Connections that bid on the auction with the subscribers."""
EVENT, PAGE = '"amount":"%s"', 'data-amount="%s"'
"""An amount in an event, and in the history of bids on a page."""
_SECONDS_MAX = 60.0
_KIB = 2**10


class Publisher:
    """A connection that causes one event after the other."""

    def __init__(
        self, url: str, path: str, request: Callable[[str], tuple[bytes, dict[str, str]]], mark: str = EVENT
    ) -> None:
        """`request` returns the body and the headers for an amount; `mark` is the form in which subscribers get it."""
        address = urlsplit(url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_SECONDS_MAX)
        self._path, self._request, self._mark = path, request, mark

    def tell(self, subscribers: Subscribers, thousandths: int) -> list[float]:
        """Cause an event with this amount; return the seconds until each subscriber had it, sorted.

        Raises BenchError where it is not accepted, or does not reach them.
        """
        amount = f"{thousandths // 1000}.{thousandths % 1000:03}"
        body, headers = self._request(amount)
        began = time.monotonic()
        self._connection.request("POST", self._path, body, headers)
        times = subscribers.all_have((self._mark % amount).encode())
        answer = self._connection.getresponse()
        said = answer.read()
        if not 200 <= answer.status < 300:
            raise BenchError(f"the event is refused: {answer.status} {said[:200]!r}")
        return [at - began for at in times]

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def to_all(stage: Stage) -> Reading:
    """Return the seconds from a bid until the last of 5,000 subscribers has its event (the median).

    In the figures stand those of the bare fan-out as well: events of both take turns, so that both have the same machine.
    """
    gid = stage.gids(1).read_text().strip()
    with stage.database("postgresql") as url:
        with (
            House(stage.folder, url) as house,
            # It never ends a stream by itself, so that uvicorn would wait without end.
            Uvicorn(stage.folder, "bench.fanout:app", UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN="1") as bare,
            closing(_bidder(stage, house, gid)) as bidder,
            closing(Publisher(bare.url, "/", lambda amount: (frame(gid, amount), {}))) as publisher,
            _subscribed(house, f"/auctions/{gid}/events") as (to_house, house_kib, house_connect_us),
            _subscribed(bare, "/") as (to_bare, bare_kib, bare_connect_us),
        ):
            told = _in_turn(
                stage, stage.seconds, {"house": ([house], to_house, bidder), "bare": ([bare], to_bare, publisher)}
            )
            told |= {"house_kib": house_kib, "bare_kib": bare_kib, "cut": float(to_house.cut)}
            told |= {"house_connect_us": house_connect_us, "bare_connect_us": bare_connect_us}
        found = data.on(url, violations.find)
    return Reading(value=told["house_ms"] / 1000, figures=told, violations=found)


def bids(stage: Stage, *, living: int, stalled: int = 0, pages: bool = False) -> Reading:
    """Return the accepted bids per second on an auction with `living` subscribers that read and `stalled` ones that do not.

    With `pages` they are open pages of the lot, every second one a bidder's. In the figures stands how long it took until
    those who read had all of it, and how long one event takes to the last one.
    """
    gids = stage.gids(1)
    gid = gids.read_text().strip()
    load = Load(script="bid.lua", tokens=stage.tokens, gids=gids, connections=BIDDERS)
    path = f"/lots/{gid}/live?after=1" if pages else f"/auctions/{gid}/events"
    cookies = [f"saleroom_session={token}" for token in stage.tokens.read_text().split()] if pages else []
    with stage.database("postgresql") as url:
        with (
            House(stage.folder, url) as house,
            Subscribers(house.url, path, living, stalled, cookies) as subscribers,
            closing(_bidder(stage, house, gid, PAGE if pages else EVENT)) as publisher,
        ):
            storm = partial(wrk.run, house.url)
            # Stalled subscribers cost as much as others until their buffers are full.
            storm(bidding.rising(load, stage.first_amount()), FILL_SECONDS, lambda: subscribers.read_for(FILL_SECONDS))
            interval = Interval(house.pid, stage.server_pid("postgresql"))
            seconds = math.ceil(wrk.HEAD_SECONDS + stage.seconds)

            def read() -> None:
                interval.measure(stage.seconds, subscribers.read_for)
                subscribers.read_for(seconds - wrk.HEAD_SECONDS - stage.seconds)

            summary = storm(bidding.rising(load, stage.first_amount()), seconds, read)
            told = {}
            if living:
                told["caught_up_s"] = publisher.tell(subscribers, stage.first_amount())[-1]
                told |= _in_turn(stage, stage.seconds / 2, {"house": ([house], subscribers, publisher)})
                told["cut"] = float(subscribers.cut)
        accepted = data.on(url, lambda connection: bidding.recorded(connection, 0, interval))
        found = data.on(url, violations.find)
    told |= bidding.figures(summary, interval, accepted)
    return Reading(value=accepted / interval.seconds, figures=told, violations=found)


def by_an_edge(stage: Stage) -> Reading:
    """Return the seconds from a bid until the last of 2,500 subscribers of an edge has its event (the median).

    In the figures stand those of a second house as well, whose subscribers are its own: events of both take turns.
    """
    gid = stage.gids(1).read_text().strip()
    path, folder = f"/auctions/{gid}/events", stage.folder / "edge"
    folder.mkdir(exist_ok=True)
    with stage.database("postgresql") as url, stage.database("postgresql") as direct_url:
        with (
            House(stage.folder, url) as house,
            House(folder, direct_url) as direct,
            Edge(folder, house) as edge,
            closing(_bidder(stage, house, gid)) as bidder,
            closing(_bidder(stage, direct, gid)) as direct_bidder,
            Subscribers(edge.url, path, EDGE_SUBSCRIBERS) as to_edge,
            Subscribers(direct.url, path, EDGE_SUBSCRIBERS) as to_direct,
        ):
            told = _in_turn(
                stage,
                stage.seconds,
                {"edge": ([edge, house], to_edge, bidder), "direct": ([direct], to_direct, direct_bidder)},
            )
            told["cut"] = float(to_edge.cut + to_direct.cut)
        found = data.on(url, violations.find)
    return Reading(value=told["edge_ms"] / 1000, figures=told, violations=found)


Side = tuple[Sequence[Program], Subscribers, Publisher]
"""The programs that bring an event to subscribers, the last of them the house that a publisher causes it in."""


def _in_turn(stage: Stage, seconds: float, sides: dict[str, Side]) -> dict[str, float]:
    """Let both sides cause events in turn, for `seconds`.

    Return the medians until the first and until the last subscriber had it, and the processor time for it (ms): of all
    programs of a side, and of its house alone.
    """
    amounts = itertools.count(stage.first_amount())
    for _, subscribers, publisher in sides.values():
        publisher.tell(subscribers, next(amounts))
    until = time.monotonic() + seconds
    times: dict[str, list[list[float]]] = {name: [] for name in sides}
    cpu = dict.fromkeys(sides, 0.0)
    of_house = dict.fromkeys(sides, 0.0)
    for number in itertools.count(1):
        for name, (programs, subscribers, publisher) in sides.items():
            before = [cpu_seconds(program.pid) for program in programs]
            times[name].append(publisher.tell(subscribers, next(amounts)))
            time.sleep(PAUSE_SECONDS)
            taken = [cpu_seconds(program.pid) - then for program, then in zip(programs, before, strict=True)]
            cpu[name] += sum(taken)
            of_house[name] += taken[-1]
        if number >= EVENTS_MIN and time.monotonic() > until:
            break
    told = {"events": float(number)}
    for name, each in times.items():
        told[f"{name}_ms"] = 1000 * statistics.median(one[-1] for one in each)
        told[f"{name}_first_ms"] = 1000 * statistics.median(one[0] for one in each)
        told[f"{name}_slowest_ms"] = 1000 * max(one[-1] for one in each)
        told[f"{name}_cpu_ms"] = 1000 * cpu[name] / number
        told[f"{name}_house_cpu_ms"] = 1000 * of_house[name] / number
    return told


@contextmanager
def _subscribed(program: Program, path: str) -> Iterator[tuple[Subscribers, float, float]]:
    """Yield 5,000 subscribers, and what each costs the program: memory (KiB), and processor time to connect (µs)."""
    size, cpu = program.resident_bytes(), cpu_seconds(program.pid)
    with Subscribers(program.url, path, SUBSCRIBERS) as subscribers:
        time.sleep(SETTLE_SECONDS)
        size, cpu = program.resident_bytes() - size, cpu_seconds(program.pid) - cpu
        yield subscribers, size / SUBSCRIBERS / _KIB, 1e6 * cpu / SUBSCRIBERS


def _bidder(stage: Stage, house: House, gid: str, mark: str = EVENT) -> Publisher:
    """Return the tokens of two bidders, in turn."""
    tokens = itertools.cycle(stage.tokens.read_text().split()[:2])

    def request(amount: str) -> tuple[bytes, dict[str, str]]:
        headers = {"X-Requested-With": "bench", "Content-Type": "application/json"}
        return f'{{"amount":"{amount}"}}'.encode(), headers | {"Authorization": f"Bearer {next(tokens)}"}

    return Publisher(house.url, f"/auctions/{gid}/bids", request, mark)


def frame(gid: str, amount: str) -> bytes:
    """Return an event as the house would send it."""
    event = BidPlaced(
        at=datetime.now(UTC),
        amount=Decimal(amount),
        bidder="bidder-00001",
        bidder_id=1,
        automatic=False,
        leading=True,
        minimum_bid=Decimal(amount),
        reserve_met=None,
        ends_at=datetime.now(UTC),
        maximum=Decimal(amount),
    )
    payload = canonical(structs.replace(cloud_event(gid, 1, event, event_parts(event)[0], ZERO), hash=ZERO))
    return b"id: %s/1\ndata: %s\n\n" % (gid.encode(), payload)
