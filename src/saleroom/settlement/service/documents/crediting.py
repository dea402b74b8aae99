"""Credit notes and the journal: lines that are taken back from a document are no longer owed either.

A lot of which all lines are taken back is on no document any more. Its amount stays owed until the correction of its sale
takes it back, and stands on its next document. Charges that are taken back while the lot stays on its document are given up:
the journal has an entry for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.sales.domain.sale import Sale
from saleroom.settlement.domain.desk_views import LotToCreditView, lot_to_credit
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.documents.crediting import charges
from saleroom.settlement.domain.errors import LotChanged
from saleroom.settlement.domain.journal import Account, BilledResult, Book, EntryKind, of_credit
from saleroom.settlement.service.documents import register
from saleroom.settlement.service.documents.overdue import lift_if_paid
from saleroom.settlement.service.fitting import changed_lots, party, party_of
from saleroom.settlement.service.journal import SaleBook, take_entry_back
from saleroom.settlement.storage import documents as rows
from saleroom.settlement.storage import journal
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.settlement.storage.journal import Standing
from saleroom.storage.database import Transaction


def credit(
    tx: Transaction, staff: Staff, sale: Sale, book: SaleBook, found: StoredDocument, places: Sequence[int]
) -> StoredDocument:
    """Issue the credit note for lines of a document of a locked sale, all that are left if none are named, and post it.

    It ends the ban of a buyer for strikes if nothing is open of their invoices any more. Raises NotToCredit, CreditedAlready,
    NotOfHouse or LotChanged.
    """
    made = register.credit(tx, found.gid, places)
    taken = {line.credits for line in made.document.lines if line.credits is not None}
    gone = rows.credited(tx, found.id)
    for one in book.offered:
        lines = [place for place, line in enumerate(found.document.lines) if line.lot == one.lot.gid]
        new = [place for place in lines if place in taken]
        if one.lot.need is not None or not new:
            continue
        was = book.posted.get(one.lot.id)
        if gone >= set(lines):
            _forget(tx, staff, sale, one.lot.id, was, found)
        else:
            credited = _given_up(was, found, lines, new)
            about = journal.AboutLot(one.lot.id, settled=credited)
            journal.add(tx, sale.id, EntryKind.CREDIT, of_credit(credited), staff.id, about)
    if found.document.kind is DocumentKind.INVOICE and found.owner.user_id is not None:
        lift_if_paid(tx, found.owner.user_id, staff)
    return made


def to_credit(tx: Transaction, sale: Sale, book: SaleBook, account: Account) -> list[LotToCreditView]:
    """Return the lots on documents that state something else than what the lots have come to since, in the order of calling.

    They are those that a buyer bought or a consignor brought, and those on documents of theirs. A result that is undone or
    entered again leaves the documents of the lot as they were issued; a correction at the desk takes their lines back itself.
    """
    kind = DocumentKind.INVOICE if account.book is Book.BUYERS else DocumentKind.STATEMENT
    pair = [(sale.id, account.party)] if account.party is not None else []
    issued = rows.of_parties(tx, *((pair, []) if kind is DocumentKind.INVOICE else ([], pair)))
    own = {one.id: one for one in issued if one.document.kind is kind}
    theirs = [lot_id for lot_id, one in book.posted.items() if party_of(one.settled.result, kind) == account.party]
    changed = changed_lots(tx, kind, own.values(), book.posted)
    placed = rows.placed(tx, kind, theirs, [*own])
    stale = [
        (one.lot, number)
        for one in book.offered
        if (number := placed.get(one.lot.id)) is not None and (number not in own or (number, one.lot.id) in changed)
    ]
    found = rows.by_ids(tx, {number for _, number in stale})
    return [lot_to_credit(lot.label, found[number].gid, found[number].document.number) for lot, number in stale]


def _forget(
    tx: Transaction, staff: Staff, sale: Sale, lot_id: int, was: Standing | None, found: StoredDocument
) -> None:
    """Take back what was given up of a lot on this document: all of it stands on the next one."""
    for number, credited in () if was is None else was.given_up:
        if credited.buyer if found.document.kind is DocumentKind.INVOICE else credited.consignor:
            take_entry_back(tx, sale, lot_id, number, staff.id)


def _given_up(was: Standing | None, found: StoredDocument, lines: Sequence[int], new: Sequence[int]) -> BilledResult:
    """Return a lot with the charges alone that are given up: those of some of its lines on a document."""
    is_invoice = found.document.kind is DocumentKind.INVOICE
    if was is None:
        raise LotChanged
    if party_of(was.whole.result, found.document.kind) != party(found):
        raise LotChanged
    bill = was.whole.bill
    written = [found.document.lines[place] for place in lines]
    back = charges(written, [lines.index(place) for place in new], bill.buyer if is_invoice else bill.consignor)
    part = structs.replace(bill, buyer=back if is_invoice else (), consignor=() if is_invoice else back)
    return structs.replace(was.whole, bill=part)
