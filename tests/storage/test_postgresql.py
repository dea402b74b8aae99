"""The reasons that PostgreSQL and its driver give, and the sessions that transactions have."""

import asyncio

import asyncpg
import pytest
from sqlalchemy import text

from saleroom.storage.database import Database, Transaction
from saleroom.storage.postgresql import in_words


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
