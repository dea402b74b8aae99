"""PostgreSQL's databases for tests, which come back: to make and drop one costs several times as much as to empty it.

The kernel copies and removes more than a thousand files for each. A database is lent again if it equals a new one: its rows
and sequences are put back, and whatever else a test may have changed is a reason to drop it.
"""

import asyncio
import time
from contextlib import suppress
from typing import Any

import asyncpg

from tests.patience import pause_after

PAGES_MAX = 9
"""PostgreSQL plans for a table that has no statistics as if it had at least ten pages: smaller ones make no difference."""
PAGE_BYTES = 8192
LEAVE_SECONDS_MAX = 1.0
"""How long the sessions of clients that have gone may take to end. One that stays belongs to somebody who still works."""
LOST = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""What becomes of the connection to a database that a test drops, or whose sessions it ends."""

CATALOGUES = (
    "SELECT oid FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' AND NOT relisshared"
)
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
KEPT = """SELECT
    (SELECT sum(pg_stat_get_tuples_inserted(oid) + pg_stat_get_tuples_updated(oid) + pg_stat_get_tuples_deleted(oid))
        FROM unnest($1::oid[]) AS catalogue(oid)) AS changes,
    (SELECT database::text FROM pg_database AS database WHERE datname = current_database()) AS database,
    (SELECT array_agg(setting::text) FROM pg_db_role_setting AS setting JOIN pg_database AS database
        ON database.oid = setdatabase WHERE datname = current_database()) AS settings,
    (SELECT sum(reltuples) FROM pg_class WHERE relnamespace = 'public'::regnamespace) AS estimates"""
"""What must be as it was: all that stands in the catalogues, and what VACUUM notes there without another row.

The server counts the rows of the catalogues that a session has changed once the session has ended, and loses none.
"""
TABLES = """SELECT oid::regclass::text AS name, pg_relation_size(oid) AS bytes
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0"""
"""The tables that have rows, or had some."""
SEQUENCES = """SELECT seqrelid::regclass::text AS name, coalesce(pg_sequence_last_value(seqrelid), seqstart) AS value,
    pg_sequence_last_value(seqrelid) IS NOT NULL AS is_used FROM pg_sequence"""
SET = "SELECT setval('{name}', {value}, {is_used})"
ROWS = "SELECT array_agg(to_jsonb(kept)::text) FROM {0} AS kept"
INSERT = """INSERT INTO {0} SELECT kept.*
    FROM unnest($1::text[]) AS written, jsonb_populate_record(NULL::{0}, written::jsonb) AS kept"""


class LentDatabase:
    """A new database with its tables, and a connection to it that stays. It knows what it was like when it was new."""

    def __init__(self, name: str, url: str) -> None:
        self.name, self.url = name, url
        self._runner = asyncio.Runner()
        self._connection = self._runner.run(asyncpg.connect(url))
        self._catalogues = [row["oid"] for row in self._fetch(CATALOGUES)]
        self._kept = self._fetch(KEPT, self._catalogues)
        self._sequences = self._fetch(SEQUENCES)
        self._rows = {row["name"]: self._fetch(ROWS.format(row["name"]))[0][0] for row in self._fetch(TABLES)}

    def renewed(self) -> bool:
        """Make it equal to a new one; False if it cannot be, as it was changed by more than rows or is still in use."""
        try:
            start = time.monotonic()
            while self._fetch(SESSIONS)[0][0]:
                waited = time.monotonic() - start
                if waited > LEAVE_SECONDS_MAX:
                    return False
                time.sleep(pause_after(waited))
            tables = self._fetch(TABLES)
            is_small = all(row["bytes"] <= PAGES_MAX * PAGE_BYTES for row in tables)
            if not is_small or self._fetch(KEPT, self._catalogues) != self._kept:
                return False
            self._runner.run(self._put_back([row["name"] for row in tables]))
        except LOST:
            return False
        return True

    def close(self) -> None:
        """Close the connection."""
        with suppress(*LOST):
            self._runner.run(self._connection.close())
        self._runner.close()

    async def _put_back(self, tables: list[str]) -> None:
        async with self._connection.transaction():
            moved = {row["name"] for row in set(await self._connection.fetch(SEQUENCES)) - set(self._sequences)}
            # Foreign keys and triggers are for those who change rows one by one.
            orders = ["SET LOCAL session_replication_role = replica", *map("DELETE FROM {}".format, tables)]
            orders += [SET.format(**row) for row in self._sequences if row["name"] in moved]
            await self._connection.execute("; ".join(orders))
            for name, rows in self._rows.items():
                await self._connection.execute(INSERT.format(name), rows)

    def _fetch(self, question: str, *values: Any) -> Any:
        return self._runner.run(self._connection.fetch(question, *values))
