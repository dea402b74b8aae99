"""The time of a page for people, with one reader."""

from __future__ import annotations

import html
import http.client
import re
import statistics
import time
from urllib.parse import urlsplit

from bench import BenchError, bidding, data, violations
from bench.bidding import Interval
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage
from bench.wrk import Load

VIEWS = 25
CONNECTIONS = 64
DEEP = 40
"""The number of the page that counts as deep."""
WARM_UP = 5
_NEXT = re.compile(r'<a href="([^"]+)" rel="next">')
_ENTRIES = {
    "first": "/",
    "newest": "/?sort=newest",
    "price": "/?sort=price",
    "search": "/?q=lot+4321",
    "none": "/?q=none+such",
}
_DEEP = {"deep": "/", "deep_newest": "/?sort=newest", "deep_price": "/?sort=price", "deep_search": "/?q=lot&sort=price"}


def home(stage: Stage, kind: str) -> Reading:
    """Return the median milliseconds until the home page of 10,000 lots is complete.

    The figures are the same of other pages: other orders, a search that finds one lot or none, and pages far on.
    """
    with stage.database(kind) as url, House(stage.folder, url) as house:
        connection = http.client.HTTPConnection(urlsplit(house.url).netloc, timeout=60)
        paths = _ENTRIES | {name: _turned(connection, path) for name, path in _DEEP.items()}
        for path in paths.values():
            for _ in range(WARM_UP):
                read(connection, path)
        taken = {f"{name}_ms": statistics.median(milliseconds(connection, path)) for name, path in paths.items()}
        connection.close()
    return Reading(value=taken["first_ms"], figures=taken)


def home_in_storm(stage: Stage, kind: str) -> Reading:
    """Return the median milliseconds of the home page of 10,000 lots, for one reader, while 64 connections bid on them.

    In the figures stand the accepted bids per second, the slowest view, and the median of a quiet house before.
    """
    load = Load(script="bid.lua", tokens=stage.tokens, gids=stage.gids(), connections=CONNECTIONS)
    taken: list[float] = []
    with stage.database(kind) as url:
        with House(stage.folder, url) as house:
            connection = http.client.HTTPConnection(urlsplit(house.url).netloc, timeout=60)
            quiet = milliseconds(connection, "/")

            def view(seconds: float) -> None:
                until = time.monotonic() + seconds
                while time.monotonic() < until:
                    taken.extend(milliseconds(connection, "/", 1))

            interval = Interval(house.pid, stage.server_pid(kind))
            bidding.run_load(stage, house, load, interval, view)
            connection.close()
        accepted = data.on(url, lambda connection: bidding.recorded(connection, 0, interval))
        found = data.on(url, violations.find)
    figures = {
        "quiet_ms": statistics.median(quiet),
        "slowest_ms": max(taken),
        "views": float(len(taken)),
        "bids_per_s": accepted / interval.seconds,
    }
    return Reading(value=statistics.median(taken), figures=figures, violations=found)


def _turned(connection: http.client.HTTPConnection, path: str) -> str:
    for _ in range(DEEP):
        found = _NEXT.search(read(connection, path))
        if found is None:
            raise BenchError(f"{path} has no next page")
        path = html.unescape(found[1])
    return path


def milliseconds(connection: http.client.HTTPConnection, path: str, views: int = VIEWS) -> list[float]:
    """Return how long each of some views took until the page was complete."""
    taken = []
    for _ in range(views):
        begun = time.perf_counter()
        read(connection, path)
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


def read(connection: http.client.HTTPConnection, path: str) -> str:
    """Return the text of a page. Raises BenchError if it is not answered by 200."""
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status != 200:
        raise BenchError(f"GET {path} was answered {answer.status}")
    return text
