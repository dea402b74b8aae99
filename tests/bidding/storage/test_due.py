"""The next instant at which an auction opens or ends: it is asked after every round of the closer."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event

from saleroom.bidding.storage import auctions
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import after
from tests.storage.rows import add_auction, add_author


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_the_next_end_is_read_from_its_index(database: Database) -> None:
    """However many auctions there are, the first of those that are due is found by the index, as the plan shows."""

    def sell(tx: Transaction) -> None:
        author = add_author(tx)
        for minutes in (30, 10, 20):
            add_auction(tx, author, ends_at=after(60 * minutes))
        add_auction(tx, author, ends_at=None)

    def plan(tx: Transaction) -> str:
        asked: list[tuple[str, Any]] = []

        def hear(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
            asked.append((statement, parameters))

        event.listen(tx.connection, "before_cursor_execute", hear)
        assert after(600) == auctions.next_due(tx)
        event.remove(tx.connection, "before_cursor_execute", hear)
        return "\n".join(map(str, tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked[0][0]}", asked[0][1])))

    assert await database.read(auctions.next_due) is None
    await database.write(sell)
    shown = await database.read(plan)
    assert "ix_auctions_due_at" in shown, shown
