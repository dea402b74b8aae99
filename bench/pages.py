"""The time of a page for people, with one reader."""

from __future__ import annotations

import html
import http.client
import re
import statistics
import time
from urllib.parse import urlsplit

from bench import BenchError
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage

VIEWS = 25
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
                _read(connection, path)
        taken = {f"{name}_ms": statistics.median(_milliseconds(connection, path)) for name, path in paths.items()}
        connection.close()
    return Reading(value=taken["first_ms"], figures=taken)


def _turned(connection: http.client.HTTPConnection, path: str) -> str:
    for _ in range(DEEP):
        found = _NEXT.search(_read(connection, path))
        if found is None:
            raise BenchError(f"{path} has no next page")
        path = html.unescape(found[1])
    return path


def _milliseconds(connection: http.client.HTTPConnection, path: str) -> list[float]:
    taken = []
    for _ in range(VIEWS):
        begun = time.perf_counter()
        _read(connection, path)
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


def _read(connection: http.client.HTTPConnection, path: str) -> str:
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status != 200:
        raise BenchError(f"GET {path} was answered {answer.status}")
    return text
