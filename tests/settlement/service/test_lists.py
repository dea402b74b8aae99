"""Lists of settlement take as many statements for many rows as for one."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from secrets import token_hex

import pytest
from msgspec import structs

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.storage import consignors, lots, sales
from saleroom.settlement.domain.bank.banking import BankPayment, BankStatement
from saleroom.settlement.domain.bank.payouts import end_to_end, file_number, message_id, of_payout
from saleroom.settlement.domain.bank.status_reports import BankAnswer, StatusReport, Whole
from saleroom.settlement.domain.documents.content import DocumentKind, Letterhead, Party
from saleroom.settlement.domain.journal import Account, Book, EntryKind, of_pledge
from saleroom.settlement.domain.reminders.reminding import Calendar
from saleroom.settlement.domain.unsold.offers import Offer
from saleroom.settlement.service import rates
from saleroom.settlement.service.bank import banking, payout_accounts, payout_reporting
from saleroom.settlement.service.documents.register import issue
from saleroom.settlement.service.online import online_showing
from saleroom.settlement.service.reminders import reminding
from saleroom.settlement.service.unsold.offering import offers_view
from saleroom.settlement.storage import bank, journal, offers, online, payouts
from saleroom.settlement.storage.documents import Owner, StoredDocument
from saleroom.settlement.storage.payouts import NewPaymentFile
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import person
from tests.fixtures_database import FakeClock
from tests.sales.service.evenings import Evening, evening
from tests.settlement.documents import draft, line
from tests.statements import counted

OWED = Decimal("120.000")


@pytest.fixture
async def house(clocked_database: Database, clock: FakeClock) -> Evening:
    """A sale whose clerk may settle and set rates, long after the day on which the invoices of `draft` are due."""
    clock.now = datetime(2030, 1, 1, tzinfo=UTC)
    one = await evening(clocked_database, 5)
    await clocked_database.write(accounts.set_role, one.clerk.account.id, Role.MANAGER)
    return one


async def buyers(house: Evening, count: int) -> list[int]:
    """Add users, and return their numbers."""
    return [(await person(house.database)).account.id for _ in range(count)]


def invoiced(tx: Transaction, house: Evening, user_id: int) -> StoredDocument:
    """Issue an invoice that a buyer owes."""
    journal.add(tx, house.sale.id, EntryKind.PLEDGE, of_pledge(user_id, OWED), house.clerk.account.id)
    made = draft(line(TaxScheme.MARGIN), kind=DocumentKind.INVOICE)
    return issue(tx, made, Owner(sale_id=house.sale.id, user_id=user_id), {})


async def test_overdue_invoices_are_read_at_once(house: Evening) -> None:
    """Buyers and their strikes are not asked for one by one."""
    heard = []
    for count in (1, 5):
        for user_id in await buyers(house, count):
            await house.database.write(invoiced, house, user_id)
        found, statements = await house.database.read(counted, reminding.listed, house.clerk.token, Calendar())
        heard.append((len(found.overdue_invoices), statements))
    assert 6 == heard[-1][0]
    assert heard[0][1] == heard[-1][1]


async def test_payments_online_are_read_at_once(house: Evening) -> None:
    """Their invoices and buyers are not asked for one by one."""
    heard = []
    for count in (1, 5):
        for user_id in await buyers(house, count):
            invoice = await house.database.write(invoiced, house, user_id)
            await house.database.write(online.add, invoice, user_id, OWED, invoice.issued_at + timedelta(hours=1))
        found, statements = await house.database.read(counted, online_showing.listed, house.clerk.token, 50, None)
        heard.append((len({one.buyer for one in found.rows}), statements))
    assert 6 == heard[-1][0]
    assert heard[0][1] == heard[-1][1]


async def test_offers_are_read_at_once(house: Evening) -> None:
    """The people whom they are for are not asked for one by one."""
    some, heard = await house.database.read(lots.of_sale, house.sale.id), []
    for lot, user_id in zip(some, await buyers(house, 5), strict=True):
        now = await house.database.read(lambda tx: tx.now())
        end = now + timedelta(days=1)
        made = Offer(id=0, gid=lot.gid, lot_id=lot.id, user_id=user_id, price=OWED, offered_at=now, until=end)
        await house.database.write(offers.add, made, house.clerk.account.id)
        found, statements = await house.database.read(counted, offers_view, house.sale)
        heard.append((len(found.offers), statements))
    assert 5 == heard[-1][0]
    assert heard[0][1] == heard[-1][1]


async def test_the_cards_of_sales_are_read_at_once(house: Evening) -> None:
    """The page on which cards are chosen does not ask for that of each sale."""
    heard = []
    for _ in range(3):
        found, statements = await house.database.read(counted, rates.overview, house.clerk.token)
        heard.append((len(found.sales), statements))
        await evening(house.database)
    assert 3 == heard[-1][0]
    assert heard[0][1] == heard[-1][1]


def payment(invoice: StoredDocument) -> BankPayment:
    """A payment that names an invoice, but is of another amount, so that a person decides what it is for."""
    said, on = (invoice.document.number,), invoice.issued_at.date()
    return BankPayment(account="", on=on, amount=Decimal(1), currency="EUR", payer="Ada", texts=said)


async def test_payments_that_wait_are_read_at_once(house: Evening) -> None:
    """The balances of those who may have paid, also in several sales, are not asked for one by one."""
    heard, left = [], list[str]()
    for count in (1, 5):
        on = await evening(house.database)
        for user_id in await buyers(house, count):
            made = payment(await house.database.write(invoiced, on, user_id))
            await house.database.write(bank.add, [(token_hex(), made)], house.clerk.account.id)
        asked = partial(banking.listed, waiting=True, before=None, limit=50)
        found, statements = await house.database.read(counted, asked, house.clerk.token)
        left = [one.left_to_pay for row in found.rows for one in row.proposals]
        heard.append(statements)
    assert [f"{OWED}"] * 6 == left
    assert heard[0] == heard[1]


async def test_a_statement_of_a_bank_reads_its_sales_at_once(house: Evening) -> None:
    """They are locked one after the other, but not looked up so."""
    payments = []
    for _ in range(3):
        on, [user_id] = await evening(house.database), await buyers(house, 1)
        payments.append(payment(await house.database.write(invoiced, on, user_id)))
    _, [by_number] = await house.database.read(counted, sales.by_id, house.sale.id)
    head = Letterhead(house=Party(name="House"), bank=None, currency="EUR")
    statement = BankStatement(payments=tuple(payments), others=0)
    found, statements = await house.database.write(
        counted, banking.import_statement, house.clerk.token, statement, head
    )
    assert 3 == found.doubtful_payments
    assert 3 == statements.count(by_number), "as each is locked"


async def test_a_statement_of_a_bank_reads_its_invoices_at_once(house: Evening) -> None:
    """What is taken back of invoices, and what their buyers owe, is not asked for one by one, also as payments are taken."""
    heard, head = [], Letterhead(house=Party(name="House"), bank=None, currency="EUR")
    for count in (1, 5):
        payments = []
        for user_id in await buyers(house, count):
            invoice = await house.database.write(invoiced, house, user_id)
            payments.append(structs.replace(payment(invoice), amount=invoice.document.due))
        statement = BankStatement(payments=tuple(payments), others=0)
        found, statements = await house.database.write(
            counted, banking.import_statement, house.clerk.token, statement, head
        )
        assert count == found.taken_payments
        reads = [one for one in statements if one.startswith("SELECT")]
        heard.append([sum(table in one for one in reads) for table in ("FROM document_credits", "FROM document_lots")])
        balances = [one for one in reads if "FROM journal_postings JOIN journal_entries" in one]
        heard[-1].append(len(balances))
    assert heard[0] == heard[1]


async def test_a_second_payment_of_an_invoice_is_for_a_person(house: Evening) -> None:
    """Also if both come with one statement: after the first one nothing is owed any more."""
    [user_id] = await buyers(house, 1)
    invoice = await house.database.write(invoiced, house, user_id)
    first = structs.replace(payment(invoice), amount=invoice.document.due)
    second = structs.replace(first, texts=(*first.texts, "again"))
    head, both = Letterhead(house=Party(name="House"), bank=None, currency="EUR"), (first, second)
    statement = BankStatement(payments=both, others=0)
    found = await house.database.write(banking.import_statement, house.clerk.token, statement, head)
    assert (1, 1) == (found.taken_payments, found.doubtful_payments)


def paid_out(tx: Transaction, house: Evening, count: int) -> str:
    """Store a payment file with payouts, and return its message."""
    place, staff = payouts.take_place(tx, tx.now().year), house.clerk.account.id
    message = message_id(file_number(place.year, place.place), token_hex(3))
    rows = []
    for turn in range(1, count + 1):
        consignor = consignors.add(tx, token_hex(4), token_hex(4), "Ada", "", None)
        account = Account(Book.CONSIGNORS, consignor)
        entry = journal.add(tx, house.sale.id, EntryKind.PAYOUT, of_payout(account, OWED), staff)
        rows.append({
            "sale_id": house.sale.id, "consignor_id": consignor, "amount": OWED, "country": "DE", "ending": "3000",
            "end_to_end": end_to_end(message, turn), "entry_id": entry, "place": turn,
        })  # fmt: skip
    payouts.add(tx, place, NewPaymentFile(message, tx.now(), staff, "<file>"), rows)
    return message


async def test_a_report_of_a_bank_reads_what_banks_have_said_at_once(house: Evening) -> None:
    """What was said of each payout before is not asked for one by one."""
    heard = []
    for count in (1, 5):
        message = await house.database.write(paid_out, house, count)
        whole = Whole(known_by=message, said=BankAnswer("PDNG"))
        report = StatusReport(message=token_hex(4), said_at="2026-11-26T10:00:00", file=whole, blocks=())
        found, statements = await house.database.write(
            counted, payout_reporting.import_report, house.clerk.token, report
        )
        assert count == found.noted_payouts
        heard.append(sum("WHERE payout_reports.payout_id" in one for one in statements))
    assert heard[0] == heard[1] > 0


async def test_the_accounts_of_consignors_are_read_at_once(house: Evening) -> None:
    """One person may be several consignors."""
    one, heard = await person(house.database), []
    for count in (1, 4):
        for _ in range(count):
            said = (token_hex(4), token_hex(4), "Ada", "", one.account.id)
            await house.database.write(consignors.add, *said)
        found, statements = await house.database.read(counted, payout_accounts.mine, one.token)
        heard.append((len(found.payout_accounts), statements))
    assert 5 == heard[-1][0]
    assert heard[0][1] == heard[-1][1]
