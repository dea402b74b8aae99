"""The reasons that PostgreSQL and its driver give, and the sessions that transactions have."""

import asyncio
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text

from saleroom.storage import postgresql
from saleroom.storage.database import Database, Transaction
from saleroom.storage.postgresql import in_words
from tests.fixtures_database import OpenDatabase


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            asyncpg.InternalClientError("cannot switch to state 15; another operation (2) is in progress"),
            "the server closed the connection",
        ),
        (TimeoutError(), "no answer in time"),
        (asyncpg.AdminShutdownError("terminating connection"), "terminating connection"),
        (ConnectionRefusedError(), "ConnectionRefusedError"),
    ],
)
def test_why_is_said_for_the_operator(error: Exception, words: str) -> None:
    """The reason in the log is never about the driver's own states, and never empty, also if SQLAlchemy has wrapped it."""
    assert words == in_words(error)
    wrapped = Exception(f"<class 'driver'>: {error}")
    wrapped.__cause__ = error
    assert isinstance(error, OSError) or words == in_words(wrapped)


@pytest.mark.databases("postgresql")
async def test_transactions_one_after_another_share_a_session(database: Database) -> None:
    """The session that has planned the statements gets the next transaction, however many are open: others plan again."""

    def busy(tx: Transaction) -> int:
        return int(tx.execute(text("SELECT pg_backend_pid() FROM pg_sleep(0.2)")).scalar_one())

    def brief(tx: Transaction) -> int:
        return int(tx.execute(text("SELECT pg_backend_pid()")).scalar_one())

    at_once = await asyncio.gather(*[database.read(busy) for _ in range(4)])
    assert len(set(at_once)) > 1
    assert 1 == len({await database.write(brief) for _ in range(12)})


@pytest.mark.databases("postgresql")
@pytest.mark.parametrize("pooled", [False, True])
async def test_only_one_connection_asks_about_fixed_types(
    *, pooled: bool, open_database: OpenDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array of fixed types is asked about once, also by statements without names; one of other types each time."""
    asked: list[frozenset[int]] = []
    ask = asyncpg.Connection._introspect_types

    async def noted(connection: asyncpg.Connection, types: frozenset[int], timeout: float | None) -> Any:
        asked.append(types)
        return await ask(connection, types, timeout)

    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", noted)
    monkeypatch.setattr(postgresql._Session, "_known", {})
    numbers, words = text("SELECT :asked = ARRAY[3, 5]::BIGINT[]"), text("SELECT :asked = ARRAY['a', 'b']::kind[]")

    def hold(tx: Transaction) -> bool:
        return bool(
            tx.execute(numbers, {"asked": [3, 5]}).scalar_one()
            and tx.execute(words, {"asked": ["a", "b"]}).scalar_one()
        )

    await open_database().write(lambda tx: tx.execute(text("CREATE TYPE kind AS ENUM ('a', 'b')")))
    assert [True, True] == [await open_database(pooled=pooled).read(hold) for _ in range(2)]
    fixed = [types for types in asked if max(types) < 10_000]
    assert [1, 2] == [len(fixed), len(asked) - len(fixed)]
