"""Answers per second to readers: one auction, and a list."""

from __future__ import annotations

from bench import bidding
from bench.bidding import Interval
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage
from bench.wrk import Load


def shows(stage: Stage, kind: str, *, auctions: int) -> Reading:
    """Return how many `GET /auctions/{gid}` per second are answered, of random ones of the first `auctions`."""
    return _answers(stage, kind, Load(script="get.lua", tokens=stage.tokens, gids=stage.gids(auctions)))


def lists(stage: Stage, kind: str) -> Reading:
    """Return how many `GET /auctions` per second are answered: the first 50 of 10,000, by their end."""
    return _answers(stage, kind, Load(script="get.lua", tokens=stage.tokens, gids=stage.gids(), path="/auctions"))


def _answers(stage: Stage, kind: str, load: Load) -> Reading:
    with stage.database(kind) as url, House(stage.folder, url) as house:
        interval = Interval(house.pid, stage.server_pid(kind))
        _, summary = bidding.run_load(stage, house, load, interval)
    rate = summary.per_second
    return Reading(value=rate, figures=bidding.figures(summary, interval, round(rate * interval.seconds)))
