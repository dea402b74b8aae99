"""The peers of the house: pgbench, the echo, the textbook. Each is measured like the house, in turn with it."""

from __future__ import annotations

import asyncio
import hashlib
import re
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg

from bench import BenchError, bidding, violations
from bench.bidding import CONNECTIONS, Interval
from bench.data import AUCTIONS, BIDDERS
from bench.results import Reading
from bench.servers import Uvicorn, cpu_seconds
from bench.stage import Stage
from bench.wrk import Load

SETTLE_SECONDS = 0.5
"""The time until the server has counted the processor time of ended connections."""
_STATEMENT = Path(__file__).with_name("pgbench.sql")
_TABLES = f"""
CREATE TABLE auctions (id bigint PRIMARY KEY, gid text NOT NULL UNIQUE, ends_at timestamptz NOT NULL,
  current_bid numeric(20,3) NOT NULL, increment numeric(20,3) NOT NULL, bidder_id bigint, bid_count bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE bids (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, auction_id bigint NOT NULL REFERENCES auctions,
  number bigint NOT NULL, bidder_id bigint NOT NULL, amount numeric(20,3) NOT NULL,
  placed_at timestamptz NOT NULL DEFAULT now(), UNIQUE (auction_id, number));
CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, auction_id bigint NOT NULL, type text NOT NULL,
  payload text NOT NULL, at timestamptz NOT NULL DEFAULT now());
INSERT INTO auctions SELECT n, 'auction-' || n, now() + interval '20 days', 1, 0.001, NULL, 0
  FROM generate_series(1, {AUCTIONS}) AS n;
ANALYZE"""


def pgbench(stage: Stage, *, auctions: int, clients: int) -> Reading:
    """Return how many bids per second pgbench records by one prepared statement each, on minimal tables."""
    server = stage.postgresql
    url = server.create("bench_pgbench")
    try:
        server.order(_TABLES, "CHECKPOINT", database="bench_pgbench")
        _pgbench(stage, url, auctions, clients, 1)
        time.sleep(SETTLE_SECONDS)
        before, cpu = int(server.ask("SELECT count(*) FROM bids", "bench_pgbench")), cpu_seconds(server.pid)
        rate = _pgbench(stage, url, auctions, clients, max(1, round(stage.seconds)))
        time.sleep(SETTLE_SECONDS)
        cpu = cpu_seconds(server.pid) - cpu
        count = int(server.ask("SELECT count(*) FROM bids", "bench_pgbench")) - before
    finally:
        server.drop("bench_pgbench")
    return Reading(value=rate, figures={"database_cpu_us": 1e6 * cpu / max(1, count)})


def _pgbench(stage: Stage, url: str, auctions: int, clients: int, seconds: int) -> float:
    load = ["--no-vacuum", "--protocol", "prepared", "--file", str(_STATEMENT), "--define", f"auctions={auctions}"]
    size = ["--client", str(clients), "--jobs", "1", "--time", str(seconds)]
    told = subprocess.run(
        [stage.postgresql.pgbench, *load, *size, url], capture_output=True, text=True, check=False, timeout=seconds + 60
    )
    rate = re.search(r"^tps = ([0-9.]+)", told.stdout, re.MULTILINE)
    if rate is None or told.returncode != 0:
        raise BenchError(f"pgbench failed: {told.stdout}{told.stderr}")
    return float(rate[1])


def echo(stage: Stage) -> Reading:
    """Return how many requests per second a bare ASGI callable answers that gets the same bids."""
    load = Load(script="bid.lua", tokens=stage.tokens, gids=stage.gids(), connections=CONNECTIONS)
    with Uvicorn(stage.folder, "bench.echo:app") as program:
        interval = Interval(program.pid, None)
        _, summary = bidding.run_load(stage, program, load, interval)
    rate = summary.per_second
    return Reading(
        value=rate, figures=bidding.figures(summary, interval, round(rate * interval.seconds)), violations={}
    )


def textbook(stage: Stage, *, auctions: int) -> Reading:
    """Return the accepted bids per second of the textbook peer, on PostgreSQL, counted in its database."""
    server = stage.postgresql
    url = server.create("bench_textbook")
    address = url.replace("postgresql://", "postgresql+asyncpg://", 1)
    try:
        tokens, gids = stage.tokens.read_text().splitlines(), stage.gids().read_text().splitlines()
        asyncio.run(_fill_textbook(url, tokens, gids))
        load = Load(script="bid.lua", tokens=stage.tokens, gids=stage.gids(auctions), connections=CONNECTIONS)
        with Uvicorn(stage.folder, "bench.textbook:application", TEXTBOOK_DATABASE=address) as program:
            interval = Interval(program.pid, server.pid)
            warm, summary = bidding.run_load(stage, program, load, interval)
        accepted, total, unlike = asyncio.run(_count_textbook(url, interval))
    finally:
        server.drop("bench_textbook")
    found = {"auctions that contradict their bids": unlike} if unlike else {}
    found |= violations.between_client_and_database(warm.succeeded + summary.succeeded, total, 2 * CONNECTIONS)
    told = bidding.figures(summary, interval, accepted)
    return Reading(value=accepted / interval.seconds, figures=told, violations=found)


async def _fill_textbook(url: str, tokens: list[str], gids: list[str]) -> None:
    """Give the textbook the same bidders with the same tokens, and auctions with the same gids."""
    from sqlalchemy.ext.asyncio import create_async_engine

    from bench.textbook import ENDS_IN, Base

    engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://", 1))
    async with engine.begin() as opened:
        await opened.run_sync(Base.metadata.create_all)
    await engine.dispose()
    ends_at = datetime.now(UTC) + ENDS_IN
    sessions = [
        (number, number, hashlib.sha256(token.encode()).hexdigest(), ends_at) for number, token in enumerate(tokens, 1)
    ]
    rows: dict[str, tuple[list[str], list[Any]]] = {
        "users": (["id", "username"], [(number, f"bidder-{number:05}") for number in range(1, BIDDERS + 1)]),
        "auth_tokens": (["id", "user_id", "token", "expires_at"], sessions),
    }
    connection = await asyncpg.connect(url)
    try:
        for name, (columns, records) in rows.items():
            await connection.copy_records_to_table(name, records=records, columns=columns)
        await connection.executemany(
            "INSERT INTO auctions (id, gid, name, increment, ends_at, bid_count, version) "
            "VALUES ($1, $2, 'Lot', 0.001, $3, 0, 1)",
            [(number, gid, ends_at) for number, gid in enumerate(gids, 1)],
        )
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


async def _count_textbook(url: str, interval: Interval) -> tuple[int, int, int]:
    """Return the number of bids within `interval`, of all bids, and of auctions that contradict their bids."""
    connection = await asyncpg.connect(url)
    try:
        counted = await connection.fetchval(
            "SELECT count(*) FROM bids WHERE placed_at >= $1 AND placed_at < $2", interval.began, interval.ended
        )
        total = await connection.fetchval("SELECT count(*) FROM bids")
        unlike = await connection.fetchval(
            "SELECT count(*) FROM auctions AS a JOIN (SELECT auction_id, count(*) AS bids, max(amount) AS highest,"
            " (array_agg(amount ORDER BY number DESC))[1] AS last FROM bids GROUP BY auction_id) AS b"
            " ON b.auction_id = a.id WHERE a.bid_count <> b.bids OR a.current_bid <> b.highest OR b.last <> b.highest"
        )
    finally:
        await connection.close()
    return int(counted), int(total), int(unlike)
