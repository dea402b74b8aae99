"""All that must hold of the money of a sale at any moment: journal, rules, documents, receipts and reports agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlalchemy import select

from saleroom.accounts.storage import accounts as users
from saleroom.sales.service.people.merging import faults as merger_faults
from saleroom.sales.storage import sales as sale_rows
from saleroom.sales.storage.tables import mergers as merger_rows
from saleroom.settlement.domain.bank.payouts import UNDER_WAY, PayoutState
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.journal import Account, Book, EntryKind, Method
from saleroom.settlement.domain.rates.bills import Charge, Item, RateCard
from saleroom.settlement.service import desk, reporting
from saleroom.settlement.service.bank.payout_check import payout_faults
from saleroom.settlement.service.buyers import find_buyer
from saleroom.settlement.service.documents.document_check import document_faults
from saleroom.settlement.service.members import faults as member_faults
from saleroom.settlement.service.verifying import faults as journal_faults
from saleroom.settlement.storage import documents, journal, payouts, rates, reminders
from saleroom.settlement.storage.document_tables import documents as document_rows
from saleroom.settlement.storage.journal import StoredPosting
from saleroom.settlement.storage.member_tables import memberships as member_rows
from saleroom.settlement.storage.tables import journal_postings as posting_rows
from saleroom.storage.database import Transaction
from tests.settlement.calculated import EARNED, ZERO, CalculatedLine, Rules
from tests.settlement.sold_sales import SettledSale


def faults_of(tx: Transaction, sale: SettledSale) -> Iterator[str]:
    """Yield what does not hold of a sale, all at one moment."""
    _, _, book = desk.begin(tx, sale.token, sale.gid, sale.places)
    moved = journal.moved(tx, sale.on.sale.id)
    yield from journal_faults(tx)
    yield from document_faults(tx)
    yield from payout_faults(tx)
    yield from _payouts(tx, sale, moved)
    yield from _unbalanced(moved)
    yield from _against_rules(tx, sale, book, moved)
    yield from _flows(moved)
    yield from _documents(tx, sale, book)
    yield from _receipts(tx, sale, moved)
    yield from _reports(tx, sale, moved)
    yield from _one_person(tx, sale, moved)
    yield from _members(tx, sale, book)


def _members(tx: Transaction, sale: SettledSale, book: Any) -> Iterator[str]:
    """Who was marked when the lot was sold has the rates of members, but for a lot that was on its invoice before a merger."""
    yield from member_faults(tx)
    rows = tx.execute(select(member_rows).order_by(member_rows.c.id)).all()
    found = tx.execute(select(merger_rows).where(merger_rows.c.sale_id == sale.on.sale.id)).all()
    who = {row.source_id: row.target_id for row in found}
    cards = {one.id: one.card for some in rates.versions_of(tx, _card_ids(tx)).values() for one in some}
    invoiced = documents.on_documents(tx, DocumentKind.INVOICE, [*book.posted])
    for number, one in book.posted.items():
        result = one.whole.result
        card = RateCard() if result.version is None else cards[result.version]
        last: dict[tuple[str, int], Any] = {}
        for row in rows:
            if row.since <= result.at:
                last["buyer" if row.user_id else "seller", row.user_id or row.consignor_id] = row
        true = {key for key, row in last.items() if row.is_member and (row.until is None or result.at < row.until)}
        buys = result.price is not None and any(
            side == "buyer" and who.get(user, user) == result.buyer for side, user in true
        )
        sells = result.price is not None and ("seller", result.consignor) in true
        if (card.member_premium is not None and buys) != result.buyer_member and number not in invoiced:
            yield f"lot {number}: its buyer is a member: {buys}, and pays as one: {result.buyer_member}"
        if (card.member_commission is not None and sells) != result.seller_member:
            yield f"lot {number}: its consignor is a member: {sells}, and bears as one: {result.seller_member}"


def _unbalanced(moved: list[StoredPosting]) -> Iterator[str]:
    sums: dict[int, Decimal] = defaultdict(Decimal)
    for one in moved:
        sums[one.entry_id] += one.posting.amount
    yield from (f"entry {number} is out of balance by {left}" for number, left in sums.items() if left)


def _against_rules(tx: Transaction, sale: SettledSale, book: Any, moved: list[StoredPosting]) -> Iterator[str]:
    """Compare each line of each lot, and the sums of the accounts, with what the rules say."""
    cards = {one.id: one.card for some in rates.versions_of(tx, _card_ids(tx)).values() for one in some}
    sums: dict[Account, Fraction] = defaultdict(lambda: ZERO)
    for number, one in book.posted.items():
        result = one.whole.result
        card = RateCard() if result.version is None else cards[result.version]
        rules = Rules(
            card,
            result.scheme,
            result.price,
            one.whole.channel,
            sale.places,
            (result.buyer_member, result.seller_member),
        )
        buyer, consignor = rules.buyer(), rules.consignor()
        for side, said, due in (
            ("buyer", one.whole.bill.buyer, buyer),
            ("consignor", one.whole.bill.consignor, consignor),
        ):
            if [_of(line) for line in said] != [(one.item, one.amount, one.tax, one.hidden) for one in due]:
                yield f"lot {number}: the lines of the {side} are {said}, and by the rules {due}"
        gone = [{line.item for _, bill in one.given_up for line in side(bill)} for side in (_buyers, _consignors)]
        _add(sums, result.buyer, Book.BUYERS, [line for line in buyer if line.item not in gone[0]])
        if result.consignor is not None:
            _add(sums, result.consignor, Book.CONSIGNORS, [line for line in consignor if line.item not in gone[1]])
        elif result.buyer is not None:
            sums[Account(Book.OWN_LOTS)] -= sum((line.amount for line in buyer if line.item is Item.HAMMER), ZERO)
    posted: dict[Account, Fraction] = defaultdict(lambda: ZERO)
    for entry in moved:
        if entry.kind in (EntryKind.LOT, EntryKind.REVERSAL, EntryKind.CREDIT):
            posted[entry.posting.account] += Fraction(entry.posting.amount)
    for account in {*sums, *posted}:
        if sums[account] != posted[account]:
            yield f"{account} is {float(posted[account])}, and by the rules {float(sums[account])}"


def _card_ids(tx: Transaction) -> set[int]:
    from saleroom.settlement.storage.tables import rate_cards as table

    return {*tx.execute(select(table.c.id)).scalars()}


def _of(line: Charge) -> tuple[Item, Fraction, Fraction, Fraction]:
    return line.item, abs(Fraction(line.amount)), abs(Fraction(line.tax)), Fraction(line.hidden_tax)


def _buyers(bill: Any) -> Any:
    return bill.buyer


def _consignors(bill: Any) -> Any:
    return bill.consignor


def _add(sums: dict[Account, Fraction], party: int | None, book: Book, lines: list[CalculatedLine]) -> None:
    if party is None:
        return
    for line in lines:
        price = book is Book.CONSIGNORS and line.item is Item.HAMMER
        sums[Account(book, party)] += -line.amount if price else line.amount + line.tax
        if line.item in EARNED:
            sums[Account(EARNED[line.item])] -= line.amount - line.hidden
        sums[Account(Book.TAX)] -= line.tax + line.hidden


def _flows(moved: list[StoredPosting]) -> Iterator[str]:
    """What came in is what consignors got, the house keeps, the state, artists and donees get, and what is still owed."""
    totals: dict[Book, Decimal] = defaultdict(Decimal)
    for one in moved:
        totals[one.posting.account.book] += one.posting.amount
    held = sum(totals[Book(one.value)] for one in Method) + totals[Book.IN_TRANSIT]
    kept = -sum(totals[one] for one in (Book.PREMIUM, Book.COMMISSION, Book.FEES, Book.OWN_LOTS, Book.ROUNDING))
    passed_on = -sum(totals[one] for one in (Book.TAX, Book.RESALE_RIGHT, Book.DONATIONS))
    still = -totals[Book.CONSIGNORS] - totals[Book.BUYERS]
    if held != kept + passed_on + still:
        yield f"{held} is held: {kept} kept, {passed_on} passed on, {still} still to move"


def _documents(tx: Transaction, sale: SettledSale, book: Any) -> Iterator[str]:
    """What somebody owes is what is open of their documents, and their lots that are on none; totals are the sums of lines."""
    mine = [one for one in documents.readable(tx) if one.owner.sale_id == sale.on.sale.id]
    for one in mine:
        document = one.document
        if document.lines and document.total != sum(line.net + line.tax for line in document.lines):
            yield f"{document.number} does not add up"
    for of, kind in ((Book.BUYERS, DocumentKind.INVOICE), (Book.CONSIGNORS, DocumentKind.STATEMENT)):
        on_one = documents.on_documents(tx, kind, [*book.posted])
        due: dict[int, Decimal] = defaultdict(Decimal)
        for number, one in book.posted.items():
            result, bill = one.settled.result, one.settled.bill
            party = result.buyer if of is Book.BUYERS else result.consignor
            if party is not None and number not in on_one:
                due[party] += bill.due if of is Book.BUYERS else bill.proceeds
        for one in mine:
            party = one.owner.user_id if of is Book.BUYERS else one.owner.consignor_id
            if party is None or (of is Book.BUYERS and one.owner.consignor_id is not None):
                continue
            sign = {kind: 1, DocumentKind.CREDIT_NOTE: -1}.get(one.document.kind, 0)
            due[party] += sign * one.document.total
        for party, total in due.items():
            account = Account(of, party)
            settled = journal.money_on(tx, [(sale.on.sale.id, account)])[sale.on.sale.id, account]
            owed = desk.balance(tx, sale.on.sale, account) - settled
            if total != (owed if of is Book.BUYERS else -owed):
                yield f"{account}: {total} by the documents, {owed} by the journal"


def _receipts(tx: Transaction, sale: SettledSale, moved: list[StoredPosting]) -> Iterator[str]:
    """Each payment at the desk has a receipt: together they say what moved by hand."""
    said: dict[Account, Decimal] = defaultdict(Decimal)
    for one in documents.readable(tx):
        if one.owner.sale_id == sale.on.sale.id and one.document.kind is DocumentKind.RECEIPT:
            owner = one.owner
            account = Account(Book.BUYERS, owner.user_id)
            if owner.consignor_id is not None:
                account = Account(Book.CONSIGNORS, owner.consignor_id)
            said[account] += one.document.paid
    by_bank = {one.entry_id for one in _from_bank(tx)}
    for entry in moved:
        by_hand = entry.kind is EntryKind.PAYMENT and entry.entry_id not in by_bank
        if by_hand and entry.posting.account.party is not None:
            said[entry.posting.account] += entry.posting.amount
    yield from (f"{account}: receipts and payments differ by {left}" for account, left in said.items() if left)


def _payouts(tx: Transaction, sale: SettledSale, moved: list[StoredPosting]) -> Iterator[str]:
    """What is in transit is under way; what has arrived or is on its way was paid, and nothing of it twice."""
    files = payouts.newest(tx, 100_000)
    rows = [
        one
        for some in payouts.of_files(tx, [file.id for file in files]).values()
        for one in some
        if one.sale_id == sale.on.sale.id
    ]
    totals: dict[Account, Decimal] = defaultdict(Decimal)
    for entry in moved:
        if entry.kind is EntryKind.PAYOUT:
            totals[entry.posting.account] += entry.posting.amount
    under_way = sum((one.amount for one in rows if one.state in UNDER_WAY), Decimal(0))
    if -totals[Account(Book.IN_TRANSIT)] != under_way:
        yield f"{-totals[Account(Book.IN_TRANSIT)]} is in transit, and {under_way} is under way"
    booked = sum((one.amount for one in rows if one.state is PayoutState.BOOKED), Decimal(0))
    if -totals[Account(Book.BANK)] != booked:
        yield f"{-totals[Account(Book.BANK)]} has left the bank, and {booked} is booked"
    for number in {one.consignor_id for one in rows}:
        theirs = [one.amount for one in rows if one.consignor_id == number and one.state is not PayoutState.FAILED]
        said = totals[Account(Book.CONSIGNORS, number)]
        if said != sum(theirs, Decimal(0)):
            yield f"consignor {number} was paid {theirs} by files, and {said} by the journal"


def _from_bank(tx: Transaction) -> list[Any]:
    from saleroom.settlement.storage import bank

    return bank.newest(tx, waiting=False, before=None, limit=100_000)


def _reports(tx: Transaction, sale: SettledSale, moved: list[StoredPosting]) -> Iterator[str]:
    """The report of the sale and that of the tax say what the journal says."""
    found = reporting.of_sale(tx, sale.token, sale.gid, sale.places)
    totals: dict[Book, Decimal] = defaultdict(Decimal)
    for one in moved:
        totals[one.posting.account.book] += one.posting.amount
    pairs = {
        "charged": (found.charged_total, sum(D(one.charged) for one in found.report_buyers)),
        "unpaid": (found.unpaid_total, totals[Book.BUYERS]),
        "paid out": (found.to_pay_out_total, -totals[Book.CONSIGNORS]),
        "lots": (found.charged_total, sum(D(one.due) for one in found.report_lots if one.due is not None)),
        "sellers": (
            found.credited_total,
            sum(D(one.proceeds) for one in found.report_lots if one.proceeds is not None),
        ),
        "tax": (-totals[Book.TAX], sum(D(one.owed_tax) for one in found.tax_rows)),
    }
    for earned in found.earned_by:
        pairs[f"earned: {earned.ledger_account}"] = (earned.earned, -totals[Book(earned.ledger_account)])
    yield from (f"the report: {name} is {a} and {b}" for name, (a, b) in pairs.items() if D(a) != D(b))


def _one_person(tx: Transaction, sale: SettledSale, moved: list[StoredPosting]) -> Iterator[str]:
    """Who was merged has nothing of their own any more, and all of it is where the other one is: on each page and list."""
    yield from merger_faults(tx)
    found = tx.execute(select(merger_rows).where(merger_rows.c.sale_id == sale.on.sale.id)).all()
    who = {row.source_id: row.target_id for row in found}
    if chained := {target for target in who.values() if target in who}:
        yield f"{chained} were merged further, and others still lead to them"
    named = {one.posting.account.party for one in moved if one.posting.account.book is Book.BUYERS}
    named |= {one.owner.user_id for one in documents.readable(tx) if one.owner.sale_id == sale.on.sale.id}
    named |= {user for sale_id, user in reminders.debtors(tx) if sale_id == sale.on.sale.id}
    if named & {*who}:
        yield f"{named & {*who}} were merged, and money or papers still are theirs"
    for source, target in who.items():
        names = users.names_of(tx, [source, target])
        if find_buyer(tx, sale.on.sale, names[source]).id != target:
            yield f"the desk does not find {target} by the name of {source}"
        if documents.of_user(tx, source, 1):
            yield f"{source} has documents of {target}"
        mine = {one.id for one in documents.of_user(tx, target, 1_000)}
        issued = select(document_rows.c.id).where(document_rows.c.user_id.in_([source, target]))
        if (
            mine - {*tx.execute(issued).scalars()} - _of_others(tx, who, target)
            or not {*tx.execute(issued).scalars()} <= mine
        ):
            yield f"{target} does not see the documents of {source}"
    raw = tx.execute(select(posting_rows).where(posting_rows.c.user_id.in_([*who, *who.values()]))).all()
    for target in {*who.values()}:
        same = {target, *(source for source, into in who.items() if into == target)}
        posted = sum((row.amount if row.debit else -row.amount for row in raw if row.user_id in same), Decimal(0))
        balance = desk.balance(tx, sale.on.sale, Account(Book.BUYERS, target))
        if posted != balance:
            yield f"{target} owes {balance}, and the rows of all who they were say {posted}"


def _of_others(tx: Transaction, who: dict[int, int], target: int) -> set[int]:
    """Return the documents of all who were merged into somebody."""
    same = [source for source, into in who.items() if into == target]
    return {*tx.execute(select(document_rows.c.id).where(document_rows.c.user_id.in_(same))).scalars()}


def D(amount: Any) -> Decimal:  # noqa: N802  # as other tests call it
    """Return an amount."""
    return Decimal(amount)


def tax_faults(tx: Transaction, token: str) -> Iterator[str]:
    """Yield how the tax of these days over all sales differs from the account of tax."""
    today = tx.now().date()
    found = reporting.of_days(tx, token, today, today)
    booked = sum(
        (one.posting.amount for sale in sale_rows.newest(tx, public_only=False, limit=100) for one in journal.moved(tx, sale.id)
         if one.posting.account.book is Book.TAX),
        Decimal(0),
    )  # fmt: skip
    if D(found.tax_total) != -booked:
        yield f"the tax report says {found.tax_total}, and the journal {-booked}"
