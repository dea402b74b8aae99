"""The data of a measurement: 10,000 bidders with tokens and 10,000 open auctions, on either database.

They are created once, by the house's own use cases, in a SQLite file. PostgreSQL gets the same rows by COPY.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
from sqlalchemy import Connection, create_engine, insert, select, update
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from saleroom.accounts.domain.accounts import expiry
from saleroom.accounts.service import accounts
from saleroom.accounts.storage import tables as account_tables
from saleroom.areas import TABLES
from saleroom.bidding.domain.increments import fixed
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions
from saleroom.bidding.storage import search_index, tables
from saleroom.storage.database import Database, Transaction, parse_url
from saleroom.storage.migrations import migrate

BIDDERS = 10_000
AUCTIONS = 10_000
ENDS_IN = timedelta(days=20)
"""Long after the run, and before the tokens expire."""
_CHUNK = 1000

R = TypeVar("R")


def on(url: str, work: Callable[[Connection], R]) -> R:
    """Do `work` in one transaction on the database at `url`, of either kind, and return its result."""
    address = parse_url(url)
    if address.get_backend_name() == "sqlite":
        engine = create_engine(address, poolclass=NullPool)
        with engine.begin() as connection:
            return work(connection)

    async def run() -> R:
        async_engine = create_async_engine(address, poolclass=NullPool)
        async with async_engine.begin() as connection:
            return await connection.run_sync(work)

    return asyncio.run(run())


def fill_sqlite(file: Path, folder: Path) -> None:
    """Make the SQLite template, and `tokens.txt` and `gids.txt` in `folder`, a line for each bidder and auction."""

    async def fill() -> None:
        database = Database(f"sqlite:///{file}")
        try:
            await database.write(migrate)
            *tokens, seller = await database.write(_people)
            gids: list[str] = []
            while len(gids) < AUCTIONS:
                gids += await database.write(_sell, seller, len(gids), min(_CHUNK, AUCTIONS - len(gids)))
        finally:
            await database.close()
        (folder / "tokens.txt").write_text("".join(f"{token}\n" for token in tokens))
        (folder / "gids.txt").write_text("".join(f"{gid}\n" for gid in gids))

    asyncio.run(fill())
    on(f"sqlite:///{file}", _delivered)  # the events of the creation need not go to a broker
    gather(file)


def gather(file: Path) -> None:
    """Write SQLite's log into its file, as one file is easier to copy than three."""
    with create_engine(f"sqlite:///{file}").connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")


def fill_postgresql(url: str, file: Path) -> None:
    """Make the tables at `url` and copy every row of the SQLite template into them."""

    async def fill() -> None:
        database = Database(url)
        try:
            await database.write(migrate)
            await _copy(url, on(f"sqlite:///{file}", _contents))
            await database.write(_index)
        finally:
            await database.close()

    asyncio.run(fill())


def _index(tx: Transaction) -> None:
    """Make the index of searches, which is another on each database, and so not among the rows."""
    search_index.drop_index(tx)
    search_index.make_index(tx, lambda _: None)


def _people(tx: Transaction) -> list[str]:
    """Store the bidders and, last, one seller; return their tokens. Written as rows, as passwords would take an hour."""
    now = tx.now()
    names = [f"bidder-{number:05}" for number in range(1, BIDDERS + 1)] + ["seller"]
    tx.execute(insert(account_tables.users), [{"username": name, "created_at": now} for name in names])
    numbers = {
        row.username: row.id for row in tx.execute(select(account_tables.users.c.id, account_tables.users.c.username))
    }
    values = [accounts.new_token_value() for _ in names]
    rows = [
        {
            "user_id": numbers[name],
            "token": accounts.token_digest(value),
            "created_at": now,
            "expires_at": expiry(now),
        }
        for name, value in zip(names, values, strict=True)
    ]
    tx.execute(insert(account_tables.auth_tokens), rows)
    return values


def _sell(tx: Transaction, seller: str, before: int, count: int) -> list[str]:
    """Create `count` auctions and return their gids."""
    ends_at = datetime.now(UTC) + ENDS_IN
    price, step = Decimal("1.000"), Decimal("0.001")
    for number in range(before + 1, before + count + 1):
        # The ends spread over an hour, so that lists by end have something to sort.
        draft = Draft(
            name=f"Lot {number}",
            description="A thing that somebody has had in the family for long.",
            starting_price=price,
            ends_at=ends_at + timedelta(seconds=number * 3600 / AUCTIONS),
            increment=fixed(step),
        )
        auctions.create(tx, seller, draft, None)
    newest = select(tables.auctions.c.gid).order_by(tables.auctions.c.id.desc()).limit(count)
    return list(tx.execute(newest).scalars())[::-1]


def _delivered(connection: Connection) -> None:
    connection.execute(update(tables.events).values(delivered_at=datetime.now(UTC)))


def _contents(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, in an order that foreign keys allow."""
    return {
        table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key.columns))]
        for table in TABLES.tables
    }


async def _copy(url: str, contents: dict[str, list[tuple[Any, ...]]]) -> None:
    connection = await asyncpg.connect(url)
    try:
        for name, rows in contents.items():
            columns = [column.name for table in TABLES.tables if table.name == name for column in table.columns]
            if await connection.fetchval(f"SELECT EXISTS (SELECT FROM {name})"):
                await connection.execute(f"DELETE FROM {name}")  # rows of migrations, such as the secret of the house
            await connection.copy_records_to_table(name, records=rows, columns=columns)
            if rows and "id" in columns:
                await connection.execute(
                    f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), max(id)) FROM {name}"
                )  # names of our own
        if "written_by" in tables.events.columns:
            await connection.execute("UPDATE events SET written_by = pg_current_xact_id()")
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()
