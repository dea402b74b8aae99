"""Answers per second to readers: one auction, a list, and the history of bids."""

from __future__ import annotations

from bench import bidding, data, wrk
from bench.bidding import Interval
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage
from bench.wrk import Load

READERS = 4
"""Connections that open pages; more of one address wait for each other (docs/decisions/0039)."""
FILL_SECONDS = 3.0
"""How long the auction with a long history is bid on before."""


def shows(stage: Stage, kind: str, *, auctions: int) -> Reading:
    """Return how many `GET /auctions/{gid}` per second are answered, of random ones of the first `auctions`."""
    return _answers(stage, kind, Load(script="get.lua", tokens=stage.tokens, gids=stage.gids(auctions)))


def lists(stage: Stage, kind: str) -> Reading:
    """Return how many `GET /auctions` per second are answered: the first 50 of 10,000, by their end."""
    return _answers(stage, kind, Load(script="get.lua", tokens=stage.tokens, gids=stage.gids(), path="/auctions"))


def pages(stage: Stage, kind: str, path: str) -> Reading:
    """Return how many pages at `path` per second are answered; `{gid}` in it is the first auction's."""
    gids = stage.gids()
    path = path.format(gid=gids.read_text().split()[0])
    load = Load(script="get.lua", tokens=stage.tokens, gids=gids, path=path, connections=READERS)
    return _answers(stage, kind, load)


def history(stage: Stage, kind: str) -> Reading:
    """Return how many `GET /auctions/{gid}/bids` per second are answered: the newest bids of one with thousands of them."""
    gids = stage.gids(1)
    path = f"/auctions/{gids.read_text().strip()}/bids"
    with stage.database(kind) as url, House(stage.folder, url) as house:
        storm = Load(script="bid.lua", tokens=stage.tokens, gids=gids, first=stage.first_amount())
        wrk.run(house.url, storm, FILL_SECONDS)
        interval = Interval(house.pid, stage.server_pid(kind))
        _, summary = bidding.run_load(
            stage, house, Load(script="get.lua", tokens=stage.tokens, gids=gids, path=path), interval
        )
        bids = data.on(url, lambda connection: bidding.recorded(connection, 0))
    rate = summary.per_second
    figures = bidding.figures(summary, interval, round(rate * interval.seconds))
    return Reading(value=rate, figures=figures | {"bids": float(bids)})


def _answers(stage: Stage, kind: str, load: Load) -> Reading:
    with stage.database(kind) as url, House(stage.folder, url) as house:
        interval = Interval(house.pid, stage.server_pid(kind))
        _, summary = bidding.run_load(stage, house, load, interval)
    rate = summary.per_second
    return Reading(value=rate, figures=bidding.figures(summary, interval, round(rate * interval.seconds)))
