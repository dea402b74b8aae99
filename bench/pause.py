"""Bids that keep coming while the database stands still, and how long the house takes for those that have waited."""

from __future__ import annotations

import asyncio
import random
import signal
import statistics
import time
from collections.abc import Sequence

import aiohttp
import psutil

from bench import BenchError, data, violations
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage

RATE = 500.0
"""Bids a second, at random instants, whatever becomes of those before."""
LEAD_SECONDS, PAUSE_SECONDS, REST_SECONDS = 3.0, 5.0, 5.0

Answer = tuple[float, float, int]
"""When a bid was sent and when it was answered, on the monotonic clock, and the status of the answer."""


def pause(stage: Stage, kind: str) -> Reading:
    """Return the seconds from the end of a pause of the database until all bids are answered that were sent before it ended."""
    pid = stage.server_pid(kind)
    if pid is None:
        raise BenchError("only a database in a process of its own can be stopped")
    tokens, gids = stage.tokens.read_text().split(), stage.gids().read_text().split()
    with stage.database(kind) as url:
        with House(stage.folder, url) as house:
            answers, ended = asyncio.run(_storm(house.url, tokens, gids, stage.first_amount(), pid))
        found = data.on(url, violations.find)
    waited = [at - sent for sent, at, _ in answers]
    before = [at - sent for sent, at, _ in answers if at < ended - PAUSE_SECONDS]
    figures = {
        "bids_per_s": RATE,
        "pause_s": PAUSE_SECONDS,
        "p50_before_ms": 1000 * statistics.median(before),
        "longest_s": max(waited),
        "refused_busy": float(sum(status == 503 for _, _, status in answers)),
        "answered": float(len(answers)),
    }
    drained = max(at for sent, at, _ in answers if sent < ended)
    return Reading(value=drained - ended, figures=figures, violations=found)


async def _storm(
    url: str, tokens: Sequence[str], gids: Sequence[str], first: int, database: int
) -> tuple[list[Answer], float]:
    """Bid, stop all processes of the database for a while, and return the answers and when they went on."""
    chance = random.Random(19)
    answers: list[Answer] = []
    bids: list[asyncio.Task[None]] = []
    resumed = 0.0
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def bid(number: int) -> None:
            amount = first + 1000 * number
            headers = {"X-Requested-With": "bench", "Authorization": f"Bearer {chance.choice(tokens)}"}
            sent = time.monotonic()
            async with session.post(
                f"{url}/auctions/{chance.choice(gids)}/bids",
                json={"amount": f"{amount // 1000}.{amount % 1000:03}"},
                headers=headers,
            ) as answer:
                await answer.read()
                answers.append((sent, time.monotonic(), answer.status))

        async def stop_for_a_while() -> float:
            await asyncio.sleep(LEAD_SECONDS)
            parent = psutil.Process(database)
            stopped = [parent, *parent.children(recursive=True)]
            try:
                for process in stopped:
                    process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(PAUSE_SECONDS)
            finally:
                for process in stopped:
                    process.send_signal(signal.SIGCONT)
            return time.monotonic()

        pausing = asyncio.create_task(stop_for_a_while())
        due = began = time.monotonic()
        while due < began + LEAD_SECONDS + PAUSE_SECONDS + REST_SECONDS:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            bids.append(asyncio.create_task(bid(len(bids))))
            due += chance.expovariate(RATE)
        await asyncio.gather(*bids)
        resumed = await pausing
    return answers, resumed
