"""`saleroom verify --database` finds each changed row of the journal and of documents, whatever column is changed."""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Column, Table, delete, func, select, text, update
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage import consignors
from saleroom.settlement.service.bank.payout_check import payout_faults
from saleroom.settlement.service.documents.document_check import document_faults
from saleroom.settlement.service.series_check import row_faults
from saleroom.settlement.service.verifying import faults
from saleroom.settlement.storage import series
from saleroom.settlement.storage.area_tables import TABLES as AREA
from saleroom.settlement.storage.bank_tables import bank_payments
from saleroom.settlement.storage.online_tables import online_payments, online_refunds
from saleroom.settlement.storage.payout_tables import payment_files, payment_series, payout_reports, payouts
from saleroom.settlement.storage.reminder_tables import reminders
from saleroom.settlement.storage.series_tables import row_series
from saleroom.settlement.storage.tables import journal_entries, journal_postings, journal_series
from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import migrate
from saleroom.storage.schema import Instant, Money
from tests.sales.service.evenings import Evening, evening
from tests.settlement.rows import furnish

UNSEEN = {
    "payouts.reason": "people say why one failed, and it moves nothing",
    "pickups.undone_at": "a pick-up that is undone moves no money; the audit log notes it",
    "pickups.undone_by_id": "the same",
    "offers.user_id": "who accepted an offer is in the log of the lot, which is what counts",
    "offers.settled": "the same",
    "offers.settled_at": "the same",
    "payout_accounts.*": "an account may change at any time; each payment file has its own, with a digest",
    "online_payments.*": "what came is compared with the journal; all else is as the provider says, who is asked again",
    "online_refunds.*": "the same",
    "memberships.*": "the audit log has each mark, with which another check compares it (test_members.py)",
}
"""Columns of which no check sees a change, and why it need not."""
UNMISSED = {
    "payout_accounts": "an account may be taken away at any time",
    "memberships": UNSEEN["memberships.*"],
}
"""Tables of which no check misses a row, and why it need not."""
TABLES = AREA.tables


class Undone(Exception):
    """A change that was looked at is taken back."""


def found(tx: Transaction) -> list[str]:
    """Return all faults of journal, documents and payouts."""
    return [*faults(tx), *document_faults(tx), *payout_faults(tx), *row_faults(tx)]


async def furnished(database: Database) -> Evening:
    """Return an evening with a journal and documents, beside another evening without."""

    def consign(tx: Transaction) -> int:
        return consignors.add(tx, "consignor", "K1", "Erben", "", None)

    house = await evening(database, consignor=await database.write(consign))
    await evening(database)
    await database.write(furnish, house.sale, house.clerk.account.party, "Vase")
    return house


async def look(database: Database, change: Any) -> list[str] | None:
    """Return what the check finds after a change, which is taken back; None if the database refuses the change."""
    said: list[str] = []

    def work(tx: Transaction) -> None:
        change(tx)
        said.extend(found(tx))
        raise Undone

    try:
        await database.write(work)
    except Undone:
        return said
    except IntegrityError:
        return None
    raise AssertionError("it was undone")


def rows_of(tx: Transaction, table: Table) -> list[Any]:
    """Return all rows of a table."""
    return [*tx.execute(select(table)).mappings()]


def other(tx: Transaction, column: Column[Any], value: Any) -> Any:
    """Return another value for a column, one that its foreign key allows."""
    if column.foreign_keys:
        [key] = column.foreign_keys
        rest = select(key.column).where(key.column != value) if value is not None else select(key.column)
        return tx.execute(rest.limit(1)).scalar_one_or_none()
    if isinstance(value, bool):
        return not value
    if value is None and isinstance(column.type, Instant | Money):
        return tx.now() if isinstance(column.type, Instant) else Decimal(1)
    if isinstance(value, datetime):
        return value + timedelta(microseconds=1)
    if isinstance(value, int | Decimal):
        return value + 1_000
    return "receipt" if column.name == "kind" else f"{value or ''} "


async def test_a_change_of_any_column_is_found(database: Database) -> None:
    """In each row of each table, one column after the other; what is not found is refused by the database itself."""
    await furnished(database)
    assert [] == await database.read(found)
    unseen, refused = set[str](), set[str]()
    for table in TABLES:
        rows = await database.read(rows_of, table)
        assert rows
        for row in rows[:1] if table in series.CHANGING else rows:  # the rows of a series are all checked alike
            keys = [column == row[column.name] for column in table.primary_key]
            for column in table.c:

                def change(
                    tx: Transaction,
                    table: Table = table,
                    column: Column[Any] = column,
                    row: Any = row,
                    keys: Any = keys,
                ) -> None:
                    new = {column.name: other(tx, column, row[column.name])}
                    tx.execute(update(table).where(*keys).values(new))

                said = await look(database, change)
                if said is None:
                    refused.add(str(column))
                elif not said:
                    unseen.add(str(column))
    assert set() == {one for one in unseen if one not in UNSEEN and f"{one.split('.')[0]}.*" not in UNSEEN}
    assert set() == {one for one in UNSEEN if one not in unseen and not one.endswith(".*")}, "a check sees these"
    assert refused <= {str(column) for table in TABLES for column in table.c if _is_tied(column)}


def _is_tied(column: Column[Any]) -> bool:
    """Whether a database can refuse another value: it is a key, refers to one, may not be missing, or is the only such one."""
    return bool(column.primary_key or column.foreign_keys or column.unique or not column.nullable)


def unbind(tx: Transaction) -> None:
    """Let rows be deleted that others refer to, as somebody can who is at the database."""
    tx.execute(
        text(
            "PRAGMA defer_foreign_keys = ON"
            if tx.dialect == "sqlite"
            else "SET LOCAL session_replication_role = 'replica'"
        )
    )


async def test_any_row_that_is_gone_is_found(database: Database) -> None:
    """Each row of each table of the area, one after the other, but for the tables that need not have it."""
    await furnished(database)
    for table in AREA.tables:
        rows = await database.read(rows_of, table)
        assert rows, f"{table.name} has a row to be deleted"
        for row in rows:

            def without(tx: Transaction, table: Table = table, row: Any = row) -> None:
                unbind(tx)
                tx.execute(delete(table).where(*[column == row[column.name] for column in table.primary_key]))

            said = await look(database, without)
            assert bool(said) is (table.name not in UNMISSED), f"{table.name}: {said}"


async def test_a_row_that_is_added_is_found(database: Database) -> None:
    """What banks have paid, said of payouts, and what was chosen cannot be made up; each is named by its table."""
    await furnished(database)
    for table in series.CHANGING:
        row = (await database.read(rows_of, table))[0]
        unique: dict[str, Any] = {
            column.name: f"{row[column.name]}2" for column in table.c if column.unique and not column.primary_key
        }
        unique |= {"number": 9} if table.name == "rate_card_versions" else {}
        unique |= {"level": 9} if table.name == "reminders" else {}
        unique |= {name: None for name in ("entry_id", "back_entry_id") if name in unique}

        new = {**row, "id": 10_000, **unique}

        def more(tx: Transaction, table: Table = table, new: Any = new) -> None:
            tx.execute(table.insert().values(new))

        said = await look(database, more) or []
        assert f"table {table.name}: a row was changed, added or deleted" in said


async def test_a_row_that_is_gone_or_new_is_found(database: Database) -> None:
    """A posting that is deleted, one that is added, and an entry with its postings before the last one."""
    await furnished(database)

    def first(tx: Transaction) -> Any:
        return tx.execute(select(journal_postings).order_by(journal_postings.c.id)).mappings().first()

    row = await database.read(first)
    deleted = await look(
        database, lambda tx: tx.execute(delete(journal_postings).where(journal_postings.c.id == row["id"]))
    )
    added = await look(
        database, lambda tx: tx.execute(journal_postings.insert().values({**row, "id": row["id"] + 1_000}))
    )

    def without_reversal(tx: Transaction) -> None:
        which = select(journal_entries.c.id).where(journal_entries.c.reverses.is_not(None)).scalar_subquery()
        tx.execute(delete(journal_postings).where(journal_postings.c.entry_id == which))
        tx.execute(delete(journal_entries).where(journal_entries.c.reverses.is_not(None)))

    assert deleted and added and await look(database, without_reversal)


async def test_entries_that_are_gone_from_the_end_are_found(database: Database) -> None:
    """The last entry with its postings, all entries of a sale, and what is noted of its last one."""
    await furnished(database)

    def without(least: int) -> Any:
        def change(tx: Transaction) -> None:
            tx.execute(delete(bank_payments))
            for table in (online_refunds, online_payments):
                tx.execute(delete(table))
            for table in (payout_reports, payouts, payment_files, payment_series) if least == 1 else ():
                tx.execute(delete(table))
            tx.execute(delete(journal_postings).where(journal_postings.c.entry_id >= least))
            tx.execute(update(journal_entries).where(journal_entries.c.id >= least).values(reverses=None))
            tx.execute(delete(journal_entries).where(journal_entries.c.id >= least))

        return change

    last = max([row["id"] for row in await database.read(rows_of, journal_entries)])
    for change in (without(last), without(1), lambda tx: tx.execute(delete(journal_series))):
        [said] = [one for one in await look(database, change) or [] if not one.startswith("table ")]
        assert re.fullmatch(r"journal of sale \d+: its last entry is not there", said)


async def test_a_payment_online_that_is_not_posted_as_it_says_is_found(database: Database) -> None:
    """Another amount or buyer, an entry of something else, and a posted payment whose row is gone."""
    await furnished(database)

    def gone(tx: Transaction) -> None:
        tx.execute(delete(online_refunds))
        tx.execute(delete(online_payments))

    changes: list[Any] = [
        lambda tx: tx.execute(update(online_payments).values(received=Decimal("4.001"))),
        lambda tx: tx.execute(update(online_payments).values(entry_id=1)),
        lambda tx: tx.execute(update(online_payments).values(user_id=select(func.max(users.c.id)).scalar_subquery())),
        gone,
    ]
    for change in changes:
        said = await look(database, change) or []
        assert [one for one in said if "by card online" in one], said


async def test_a_house_of_before_gets_its_series(database: Database) -> None:
    """Rows that an older version has stored are taken as they are: afterwards a row that is gone is found among them."""
    await furnished(database)
    before = await database.read(rows_of, row_series)
    await database.write(migrate, "0070")
    await database.write(migrate)
    by_table = {row["of"]: row for row in await database.read(rows_of, row_series)}
    assert {row["of"]: row for row in before} == by_table
    assert {table.name for table in series.CHANGING} == by_table.keys()
    assert [] == await database.read(found)
    assert await look(database, lambda tx: tx.execute(delete(reminders)))
