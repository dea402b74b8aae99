"""Databases of tests share the statements that they compile: `tests/shared_start.py`."""

from typing import Any

from sqlalchemy import Column, Integer, MetaData, Select, Table, select
from sqlalchemy.engine.interfaces import CacheStats

from saleroom.storage.database import Transaction
from tests.fixtures_database import OpenDatabase

counts = Table("counts", MetaData(), Column("count", Integer))


def finds_compiled(tx: Transaction, statement: Select[Any]) -> bool:
    """Whether another database has compiled the statement already."""
    return tx.execute(statement).context.cache_hit is CacheStats.CACHE_HIT


async def test_a_statement_is_compiled_once(open_database: OpenDatabase) -> None:
    """A database finds the statements that another one of the process has compiled, whatever their values."""
    await open_database().write(lambda tx: counts.create(tx.connection))
    statements = [select(counts.c.count).where(counts.c.count < bound) for bound in (1, 2)]
    assert [False, True] == [await open_database().read(finds_compiled, one) for one in statements]
