"""Names and addresses of old papers go once they need not be kept any more, and the check of the house goes on to hold."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Table, select, update

from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.storage import consignors
from saleroom.sales.storage.tables import consignors as consignor_table
from saleroom.sales.storage.tables import participants, sales
from saleroom.settlement.domain.documents.content import Party
from saleroom.settlement.domain.documents.document_views import document_view
from saleroom.settlement.service import retention
from saleroom.settlement.service.bank.payout_check import payout_faults
from saleroom.settlement.service.documents.document_check import document_faults
from saleroom.settlement.service.documents.document_papers import paper_data
from saleroom.settlement.service.documents.register import credit, issue
from saleroom.settlement.service.verifying import faults
from saleroom.settlement.storage import documents
from saleroom.settlement.storage.bank_tables import bank_payments
from saleroom.settlement.storage.document_tables import documents as table
from saleroom.settlement.storage.documents import Owner
from saleroom.settlement.storage.payout_tables import payment_files, payout_accounts
from saleroom.storage.database import Database, Transaction
from tests.fixtures_database import FakeClock
from tests.sales.service.evenings import Evening, evening
from tests.settlement.documents import draft, line
from tests.settlement.rows import furnish

YEARS = 10
NAME, ADDRESS = "Erben Käufer", "Lange Str. 1"


async def furnished(database: Database) -> Evening:
    """Return an evening that is over, whose papers name a buyer, a consignor, a guest and one who paid by transfer."""

    def consign(tx: Transaction) -> int:
        return consignors.add(tx, "consignor", "K1", NAME, ADDRESS, None)

    house = await evening(database, consignor=await database.write(consign))
    await database.write(furnish, house.sale, house.clerk.account.party, "Vase")

    def fill(tx: Transaction) -> None:
        made = draft(line(TaxScheme.MARGIN), party=Party(name=NAME, street=ADDRESS, country="DE"))
        one = issue(tx, made, Owner(sale_id=house.sale.id, user_id=house.clerk.account.id), {})
        credit(tx, one.gid, [])
        guest = {
            "gid": "guest",
            "sale_id": house.sale.id,
            "user_id": house.clerk.account.id,
            "paddle": 77,
            "status": "approved",
            "reason": "",
            "channel": "room",
            "name": NAME,
            "contact": ADDRESS,
            "registered_at": tx.now(),
            "guest": True,
        }
        tx.execute(participants.insert(), guest)
        paid = {
            "gid": "paid",
            "digest": "0" * 64,
            "booked_on": "2026-11-21",
            "amount": 5,
            "currency": "EUR",
            "payer": NAME,
            "said": f"{NAME} INV-2026-00001",
            "imported_at": tx.now(),
            "by_id": house.clerk.account.id,
        }
        tx.execute(bank_payments.insert(), paid)
        tx.execute(update(sales).values(status="closed"))

    await database.write(fill)
    return house


async def rows_of(database: Database, *tables: Table) -> list[str]:
    """Return all rows of some tables as text."""
    return await database.read(lambda tx: [str(row) for one in tables for row in tx.execute(select(one))])


async def found_faults(database: Database) -> list[str]:
    """Return what the check of the house says of documents and journal."""
    return await database.read(lambda tx: [*document_faults(tx), *faults(tx), *payout_faults(tx)])


NAMING = (table, participants, consignor_table, bank_payments, payout_accounts, payment_files)
IBAN = "DE89370400440532013000"


async def test_names_go_after_their_years_and_the_check_holds(clocked_database: Database, clock: FakeClock) -> None:
    """On the last day of the tenth year nothing is gone; the day after, all that names somebody."""
    house = await furnished(clocked_database)
    before = await rows_of(clocked_database, *NAMING)
    clock.now = datetime(2036, 12, 31, 23, 59, tzinfo=UTC)
    assert 0 == await clocked_database.write(retention.forget, YEARS)
    assert before == await rows_of(clocked_database, *NAMING)

    clock.now = datetime(2037, 1, 1, tzinfo=UTC)
    assert 0 < await clocked_database.write(retention.forget, YEARS)
    after = "".join(await rows_of(clocked_database, *NAMING))
    assert (False, False) == (NAME in after, ADDRESS in after)
    assert (True, False) == (IBAN in "".join(before), IBAN in after)
    assert [] == await found_faults(clocked_database)
    assert 0 == await clocked_database.write(retention.forget, YEARS), "nothing is left to do"

    another = await clocked_database.write(issue, draft(line(TaxScheme.MARGIN)), Owner(sale_id=house.sale.id), {})
    assert ("INV-2037-00001", []) == (another.document.number, await found_faults(clocked_database))


async def test_a_document_keeps_all_but_its_party(clocked_database: Database, clock: FakeClock) -> None:
    """Number, lines and amounts stay; it says that the name is gone, and has no electronic form any more."""
    house = await furnished(clocked_database)
    first = (await clocked_database.read(documents.newest, house.sale.id, 2))[1]
    clock.now = datetime(2040, 1, 1, tzinfo=UTC)
    await clocked_database.write(retention.forget, YEARS)
    found = await clocked_database.read(documents.find, first.gid)
    assert found is not None
    assert (first.document.lines, first.document.number) == (found.document.lines, found.document.number)
    assert Party(name="") == found.document.party
    view = document_view(found.gid, found.document, "", found.digest, 2, None)
    assert (first.digest, True) == (view.document_digest, "name" in view.lacks)
    assert ["Name und Anschrift sind gelöscht."] == paper_data(found.document)["recipient"]


async def test_papers_of_a_sale_that_lives_on_keep_their_names(clocked_database: Database, clock: FakeClock) -> None:
    """Registrations and consignors are as old as the last that happened in their sales."""
    house = await furnished(clocked_database)
    clock.now = datetime(2030, 3, 1, tzinfo=UTC)
    made = draft(line(TaxScheme.MARGIN))
    await clocked_database.write(issue, made, Owner(sale_id=house.sale.id), {})
    clock.now = datetime(2037, 1, 1, tzinfo=UTC)
    await clocked_database.write(retention.forget, YEARS)
    assert NAME not in "".join(await rows_of(clocked_database, table, bank_payments))
    assert 2 == "".join(await rows_of(clocked_database, participants, consignor_table)).count(NAME)
    clock.now = datetime(2041, 1, 1, tzinfo=UTC)
    await clocked_database.write(retention.forget, YEARS)
    assert NAME not in "".join(await rows_of(clocked_database, participants, consignor_table))


@pytest.mark.parametrize(
    "change",
    [
        {"content": "content"},
        {"rest_digest": "0" * 64},
        {"digest": "0" * 64},
        {"forgotten_at": datetime(2027, 12, 31, tzinfo=UTC)},
        {"forgotten_at": None},
    ],
)
async def test_a_change_to_what_is_left_is_found(
    clocked_database: Database, clock: FakeClock, change: dict[str, Any]
) -> None:
    """Whatever is changed in it; and nobody can take names away early by saying that they were forgotten."""
    await furnished(clocked_database)
    clock.now = datetime(2037, 1, 1, tzinfo=UTC)
    await clocked_database.write(retention.forget, YEARS)

    def damage(tx: Transaction) -> None:
        one = tx.execute(select(table).order_by(table.c.id.desc())).first()
        assert one is not None
        values = {**change, **({"content": one.content.replace("120", "121")} if "content" in change else {})}
        tx.execute(update(table).where(table.c.id == one.id).values(values))

    await clocked_database.write(damage)
    assert [] != await found_faults(clocked_database)
