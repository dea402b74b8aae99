"""Lists of one category: which auctions they have, and from where they are read."""

from __future__ import annotations

from itertools import product
from typing import Any

from sqlalchemy import event, text

from saleroom.bidding.domain import selling
from saleroom.bidding.storage.listing import Filter, Sort, count, page
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import after
from tests.storage.rows import add_auction, add_author, go_on


async def test_lists_of_a_category(database: Database) -> None:
    """A list has the auctions of its category alone, in its state and order, by pages; so has the count."""

    def sell(tx: Transaction) -> str:
        author = add_author(tx)
        for number, category in enumerate(("Clocks", "Silver", None, "Clocks", "Clocks", "Clocks", "Clocks")):
            starts_at = after(60) if number == 5 else None
            lot = add_auction(tx, author, name=f"{number}", category=category, starts_at=starts_at)
            if number in (4, 6):
                go_on(tx, lot, selling.cancel(lot, author, after(1)))
        return author.name

    author = await database.write(sell)
    for which, names in (
        ({"category": "Clocks"}, "03546"),
        ({"category": "Clocks", "status": "open"}, "03"),
        ({"category": "Clocks", "status": "scheduled"}, "5"),
        ({"category": "Clocks", "status": "cancelled"}, "46"),
        ({"category": "Clocks", "over": True}, "46"),
        ({"category": "Clocks", "over": False}, "035"),
        ({"category": "clocks"}, ""),
        ({"category": "Given up"}, ""),
        ({}, "0123546"),
    ):
        wanted = Filter(author=author, **which)
        for sort in Sort:
            found, mark = await database.read(page, wanted, sort, 1, None)
            while mark is not None:
                more, mark = await database.read(page, wanted, sort, 1, mark)
                found += more
            assert sorted(names) == sorted(lot.name for lot in found), (which, sort)
        assert len(names) == await database.read(count, wanted, 100)


async def test_a_category_is_read_from_its_index(database: Database) -> None:
    """Neither database looks at the other auctions of the house, as its query plan shows; by end it sorts nothing."""
    author = await database.write(add_author)
    await database.write(lambda tx: [add_auction(tx, author, category="Clocks" if n == 9 else None) for n in range(10)])

    def plan(tx: Transaction, which: dict[str, Any], sort: Sort) -> str:
        if tx.dialect == "postgresql":
            tx.execute(text("SET LOCAL enable_seqscan = off"))  # so few rows would be scanned
        asked: list[tuple[str, Any]] = []

        def hear(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
            asked.append((statement, parameters))

        event.listen(tx.connection, "before_cursor_execute", hear)
        page(tx, Filter(category="Clocks", **which), sort, 24, None)
        event.remove(tx.connection, "before_cursor_execute", hear)
        explain = "EXPLAIN" if tx.dialect == "postgresql" else "EXPLAIN QUERY PLAN"
        return "\n".join(map(str, tx.connection.exec_driver_sql(f"{explain} {asked[0][0]}", asked[0][1])))

    filters: list[dict[str, Any]] = [{"status": "open"}, {"over": True}, {}]
    for which, sort in product(filters, Sort):
        shown = await database.read(plan, which, sort)
        assert "ix_auctions_category" in shown, (which, sort, shown)
        if sort is Sort.ENDING:
            assert "ix_auctions_category_ending_rank" in shown, (which, shown)
            assert "TEMP B-TREE" not in shown and "Sort" not in shown, (which, shown)
