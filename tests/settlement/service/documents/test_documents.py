"""Documents in the store: numbers without gaps whatever happens, lots on one document at a time, and changed rows found."""

import asyncio
import random
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import delete, update

from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.storage import lots
from saleroom.settlement.domain.documents.content import DocumentKind, Draft, number_of
from saleroom.settlement.domain.errors import CreditedAlready, LotOnDocument
from saleroom.settlement.service.document_money import rows_of
from saleroom.settlement.service.documents.document_check import document_faults
from saleroom.settlement.service.documents.register import credit, issue
from saleroom.settlement.storage import documents
from saleroom.settlement.storage.document_tables import document_series
from saleroom.settlement.storage.document_tables import documents as table
from saleroom.settlement.storage.documents import Owner, StoredDocument
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import person
from tests.fixtures_database import FakeClock, OpenDatabase
from tests.sales.service.evenings import Evening, evening
from tests.settlement.documents import draft, line
from tests.statements import counted

CASHIERS, TURNS = 32, 6
FREE = draft(line(TaxScheme.MARGIN))
"""A document about no lot."""


class Slip(Exception):
    """Something that goes wrong after a number was taken."""


async def found_faults(database: Database) -> list[str]:
    """Return what the check of the house says of its documents."""
    return await database.read(lambda tx: list(document_faults(tx)))


def attempt(tx: Transaction, made: Draft, sale_id: int, *, fails: bool) -> StoredDocument:
    """Issue a document, or take a number and fail."""
    one = issue(tx, made, Owner(sale_id=sale_id), {})
    if fails:
        raise Slip
    return one


async def about(house: Evening, *gids: str, kind: DocumentKind = DocumentKind.INVOICE) -> StoredDocument:
    """Issue a document with two lines for each of these lots."""
    made = draft(*[line(TaxScheme.MARGIN, lot=gid) for gid in gids for _ in range(2)], kind=kind)
    numbers = await lots_of(house)
    return await house.database.write(issue, made, Owner(sale_id=house.sale.id), numbers)


async def lots_of(house: Evening) -> dict[str, int]:
    """Return the numbers of the lots of an evening, by gid."""
    return {one.gid: one.id for one in await house.database.read(lots.of_sale, house.sale.id)}


async def test_numbers_have_no_gap_and_no_repeat(database: Database, open_database: OpenDatabase) -> None:
    """32 cashiers in two processes at once, a third of whose transactions fail after they took a number."""
    house = await evening(database)
    other = open_database()
    chance = random.Random(18)

    async def cashier(at: Database) -> list[str]:
        given = []
        for _ in range(TURNS):
            try:
                one = await at.write(attempt, FREE, house.sale.id, fails=chance.random() < 1 / 3)
                given.append(one.document.number)
            except Slip:
                await asyncio.sleep(0)
        return given

    async with asyncio.timeout(300):
        given = await asyncio.gather(*[cashier((database, other)[number % 2]) for number in range(CASHIERS)])
    year = datetime.now(UTC).year
    numbers = sorted(number for some in given for number in some)
    assert [number_of(DocumentKind.INVOICE, year, place) for place in range(1, len(numbers) + 1)] == numbers
    assert 0 < len(numbers) < CASHIERS * TURNS
    assert [] == await found_faults(database)


_KILLED = """
import asyncio, sys, time
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.storage.documents import take_place
from saleroom.storage.database import Database

def take(tx):
    print(take_place(tx, DocumentKind.INVOICE, tx.now().year).place, flush=True)
    time.sleep(600)

asyncio.run(Database(sys.argv[1]).write(take))
"""


async def test_a_process_that_is_killed_gives_its_number_back(database: Database, database_url: str) -> None:
    """It dies between the number and the commit; the next document has that number."""
    house = await evening(database)
    await database.write(attempt, FREE, house.sale.id, fails=False)
    process = subprocess.Popen([sys.executable, "-c", _KILLED, database_url], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert b"2\n" == await asyncio.to_thread(process.stdout.readline)
    finally:
        process.kill()
        await asyncio.to_thread(process.communicate)
    one = await database.write(attempt, FREE, house.sale.id, fails=False)
    assert one.document.number.endswith("-00002")
    assert [] == await found_faults(database)


async def test_each_kind_and_year_has_a_series(clocked_database: Database, clock: FakeClock) -> None:
    """A new year begins at 1, and a credit note does not count as an invoice."""
    house = await evening(clocked_database)
    first = await about(house, house.lots[0])
    note = await clocked_database.write(credit, first.gid, [])
    clock.advance(days=60)
    later = await about(house, house.lots[0])
    numbers = [one.document.number for one in (first, note, later)]
    assert ["INV-2026-00001", "CRN-2026-00001", "INV-2027-00001"] == numbers
    assert [] == await found_faults(clocked_database)


async def test_a_refused_document_leaves_the_transaction_to_its_caller(database: Database) -> None:
    """The database still answers in the transaction of a refused document, as when its Idempotency-Key is looked for."""
    house = await evening(database)
    first, numbers = await about(house, house.lots[0]), await lots_of(house)
    made = draft(line(TaxScheme.MARGIN, lot=house.lots[0]))

    def refused(tx: Transaction) -> StoredDocument | None:
        with pytest.raises(LotOnDocument):
            issue(tx, made, Owner(sale_id=house.sale.id), numbers)
        return documents.find(tx, first.gid)

    assert first == await database.write(refused)


async def test_a_lot_is_on_one_document_until_that_is_credited(database: Database) -> None:
    """An invoice and a statement are two kinds. A refused one takes no number."""
    house = await evening(database)
    one, two, _ = house.lots
    first = await about(house, one, two)
    with pytest.raises(LotOnDocument):
        await about(house, two)
    await about(house, two, kind=DocumentKind.STATEMENT)
    await database.write(credit, first.gid, [0, 2])
    with pytest.raises(LotOnDocument):
        await about(house, one)
    note = await database.write(credit, first.gid, [1])
    assert ("CRN", first.document.number) == (note.document.number[:3], note.document.credits.number)  # type: ignore[union-attr]  # it credits
    again = await about(house, one)
    assert again.document.number.endswith("-00002"), "nothing refused took a number"
    with pytest.raises(CreditedAlready):
        await database.write(credit, first.gid, [0, 3])
    await database.write(credit, first.gid, [])
    with pytest.raises(CreditedAlready):
        await database.write(credit, first.gid, [])
    assert [] == await found_faults(database)


async def test_many_credit_one_document_at_once(database: Database, open_database: OpenDatabase) -> None:
    """One of them does, the others are told so."""
    house = await evening(database)
    first, other = await about(house, *house.lots), open_database()

    async def attempt_at(at: Database) -> bool:
        try:
            await at.write(credit, first.gid, [])
        except CreditedAlready:
            return False
        return True

    done = await asyncio.gather(*[attempt_at((database, other)[number % 2]) for number in range(10)])
    assert 1 == sum(done)
    assert 2 == len(await database.read(documents.of_sale, house.sale.id, 0, 100))


CHANGES: list[dict[str, Any]] = [
    {"content": lambda one: one.replace("120.00", "121.00")},
    {"content": lambda one: one + " "},
    {"user_id": None, "consignor_id": None, "sale_id": 2},
    {"digest": "0" * 64},
    {"place": 7},
    {"kind": "receipt"},
    {"gid": "another"},
]


async def test_a_changed_row_is_found(database: Database) -> None:
    """Whatever is changed in it, until it is as it was."""
    house = await evening(database)
    await evening(database)
    made = [await database.write(attempt, FREE, house.sale.id, fails=False) for _ in range(3)]
    row = await database.read(lambda tx: tx.execute(table.select().where(table.c.id == made[1].id)).one()._asdict())

    def put(tx: Transaction, values: dict[str, Any]) -> None:
        tx.execute(update(table).where(table.c.id == made[1].id).values(values))

    for change in CHANGES:
        assert [] == await found_faults(database), change
        await database.write(
            put, {name: new(row[name]) if callable(new) else new for name, new in change.items() if new is not None}
        )
        assert [] != await found_faults(database), change
        await database.write(put, {name: row[name] for name in change})


def remove(tx: Transaction, number: int) -> None:
    """Delete the row of a document."""
    tx.execute(delete(table).where(table.c.id == number))


async def test_a_row_that_is_gone_is_found(database: Database) -> None:
    """In the middle, at the end, and with its series."""
    house = await evening(database)
    for gone, word in ((1, "is missing"), (2, "not that of its series")):
        made = [await database.write(attempt, FREE, house.sale.id, fails=False) for _ in range(3)]
        await database.write(remove, made[gone].id)
        assert any(word in fault for fault in await found_faults(database))
        await database.write(lambda tx: tx.execute(delete(document_series)))
        assert any("have no series" in fault for fault in await found_faults(database))
        await database.write(lambda tx: tx.execute(delete(table)))


async def test_what_is_paid_is_read_at_once_for_a_whole_list(database: Database) -> None:
    """A list of many buyers takes as many statements as that of one."""
    house = await evening(database)
    buyers = [(await person(database)).account.id for _ in range(5)]
    for user_id in buyers:
        await database.write(issue, FREE, Owner(sale_id=house.sale.id, user_id=user_id), {})

    heard = []
    for count in (1, len(buyers)):
        some = await house.database.read(documents.newest, house.sale.id, count, None)
        rows, statements = await house.database.read(counted, rows_of, some)
        assert count == len(rows)
        heard.append(statements)
    few, many = heard
    assert few == many
    assert 10 == len(many), "six of them ask whether invoices still fit"


async def test_the_check_asks_at_once_which_lines_are_taken_back(database: Database) -> None:
    """The check of a house with many documents takes as many statements as that of one with a single one."""
    house, heard = await evening(database), []
    for count in (1, 5):
        for _ in range(count):
            await database.write(issue, FREE, Owner(sale_id=house.sale.id), {})
        found, statements = await database.read(counted, lambda tx: list(document_faults(tx)))
        assert [] == found
        heard.append(statements)
    assert heard[0] == heard[1]
