"""The latency of a bid at half the highest rate."""

from __future__ import annotations

from bench import bidding, data, violations, wrk
from bench.bidding import CONNECTIONS, Interval
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage
from bench.wrk import Load

CALIBRATIONS, CALIBRATION_SECONDS = 2, 2.0


def at_half_rate(stage: Stage, kind: str, *, auctions: int) -> Reading:
    """Return the rate at which bids were answered, about half the highest one, with p50 and p99 (ms).

    The highest rate comes first, on the same house. Then each connection pauses by chance before each bid.
    """
    with stage.database(kind) as url:
        with House(stage.folder, url) as house:
            interval = Interval(house.pid, stage.server_pid(kind))
            load = Load(script="bid.lua", tokens=stage.tokens, gids=stage.gids(auctions), connections=CONNECTIONS)
            warm, full = bidding.run_load(stage, house, load, interval)
            wanted = full.requests / full.seconds / 2
            summaries = [warm, full]
            pause = 1000 * CONNECTIONS / wanted
            for seconds in (*(CALIBRATION_SECONDS for _ in range(CALIBRATIONS)), stage.seconds):
                paced = bidding.rising(load, stage.first_amount(), pause)
                summaries.append(wrk.run(house.url, paced, seconds))
                # A connection alternates between its pause and its answer, whose time must be measured first.
                turn = 1000 * CONNECTIONS / (summaries[-1].requests / summaries[-1].seconds)
                pause = max(1.0, 1000 * CONNECTIONS / wanted - (turn - pause))
        found = data.on(url, violations.find)
        total = data.on(url, lambda connection: bidding.recorded(connection, 0))
    half = summaries[-1]
    found |= violations.between_client_and_database(
        sum(summary.succeeded for summary in summaries), total, len(summaries) * CONNECTIONS
    )
    achieved = half.requests / half.seconds
    told = {"p50_ms": half.p50_ms, "p99_ms": half.p99_ms, "share_of_highest": achieved / (2 * wanted)}
    return Reading(value=achieved, figures=told, violations=found)
