"""The lots on which a clerk has named somebody, among the events of all lots."""

from __future__ import annotations

import pytest

from saleroom.bidding.storage import bidder_names
from saleroom.storage.database import Database, Transaction


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_they_are_found_by_their_index(database: Database) -> None:
    """My saleroom asks for them, and a house may have millions of events, as the plan shows."""

    def plan(tx: Transaction) -> str:
        asked = bidder_names._named(7).compile(tx.connection)
        return str(tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}", tuple(asked.params.values())).all())

    shown = await database.read(plan)
    assert "USING INDEX ix_events_named" in shown, shown
