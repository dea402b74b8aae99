"""The resident size of the house: at its start, with 5,000 idle connections, and after a million bids."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import urlsplit

from bench import BenchError, bidding, data, violations, wrk
from bench.bidding import CONNECTIONS, MIB
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage
from bench.wrk import Load

IDLE = 5_000
AT_ONCE = 100
STORM_SECONDS = 20.0
SETTLE_SECONDS = 1.0
A_MILLION = 1_000_000


def resident(stage: Stage) -> Reading:
    """Return the resident size (MiB) at the end, on PostgreSQL; the figures have it at each stage."""
    told: dict[str, float] = {}
    load = Load(script="bid.lua", tokens=stage.tokens, gids=stage.gids(), connections=CONNECTIONS)
    succeeded, storms = 0, 0
    with stage.database("postgresql") as url:
        with House(stage.folder, url) as house:
            # A first bid and a first page make the house load its late imports.
            succeeded += wrk.run(house.url, bidding.rising(load, stage.first_amount()), 1).succeeded
            told["start_mib"] = _size(house)
            told["idle_mib"], told["idle_connections"] = asyncio.run(_with_idle(house))
            while succeeded < stage.memory_bids:
                stage.say(f"memory: {succeeded:,} of {stage.memory_bids:,} bids")
                storms += 1
                done = wrk.run(house.url, bidding.rising(load, stage.first_amount()), STORM_SECONDS).succeeded
                if not done:
                    raise BenchError(f"the house accepts no bids any more:\n{house.log()[-2000:]}")
                succeeded += done
            time.sleep(SETTLE_SECONDS)
            told["after_mib"] = _size(house)
            told["end_mib"], _ = asyncio.run(_with_idle(house))
        total = data.on(url, lambda connection: bidding.recorded(connection, 0))
        found = data.on(url, violations.find)
    found |= violations.between_client_and_database(succeeded, total, (storms + 1) * CONNECTIONS)
    told["bids"] = float(total)
    note = "" if total >= A_MILLION else f"only {total:,} bids"
    return Reading(value=told["end_mib"], figures=told, violations=found, note=note)


async def _with_idle(house: House) -> tuple[float, float]:
    """Return the size with 5,000 connections after one request each, and how many of them the house has kept open."""
    address = urlsplit(house.url)
    request = f"GET /healthz HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode()

    async def open_one() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(request)
        await reader.readuntil(b"\r\n\r\n")
        return reader, writer

    opened = []
    for _ in range(0, IDLE, AT_ONCE):
        opened += await asyncio.gather(*(open_one() for _ in range(AT_ONCE)))
    await asyncio.sleep(SETTLE_SECONDS)
    size = _size(house)
    kept = sum(not reader.at_eof() for reader, _ in opened)
    for _, writer in opened:
        writer.close()
    await asyncio.sleep(SETTLE_SECONDS)
    return size, float(kept)


def _size(house: House) -> float:
    return house.resident_bytes() / MIB
