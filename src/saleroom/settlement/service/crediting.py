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
from saleroom.settlement.domain.crediting import charges
from saleroom.settlement.domain.documents import Kind as DocumentKind
from saleroom.settlement.domain.errors import LotChanged
from saleroom.settlement.domain.journal import BilledResult, Kind, of_credit
from saleroom.settlement.service import documents
from saleroom.settlement.service.journal import SaleBook, take_entry_back
from saleroom.settlement.service.overdue import lift_if_paid
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
    made = documents.credit(tx, found.gid, places)
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
            journal.add(tx, sale.id, Kind.CREDIT, of_credit(credited), staff.id, lot_id=one.lot.id, settled=credited)
    if found.document.kind is DocumentKind.INVOICE and found.owner.user_id is not None:
        lift_if_paid(tx, found.owner.user_id, staff)
    return made


def _forget(
    tx: Transaction, staff: Staff, sale: Sale, lot_id: int, was: Standing | None, found: StoredDocument
) -> None:
    """Take back what was given up of a lot on this document: all of it stands on the next one."""
    for number, credited in () if was is None else was.given_up:
        if credited.buyer if found.document.kind is DocumentKind.INVOICE else credited.consignor:
            take_entry_back(tx, sale, lot_id, number, staff.id)


def _given_up(was: Standing | None, found: StoredDocument, lines: Sequence[int], new: Sequence[int]) -> BilledResult:
    """Return a lot with the charges alone that are given up: those of some of its lines on a document."""
    result = None if was is None else was.whole.result
    is_invoice = found.document.kind is DocumentKind.INVOICE
    if was is None or result is None or (result.buyer if is_invoice else result.consignor) != _party(found):
        raise LotChanged
    bill = was.whole.bill
    written = [found.document.lines[place] for place in lines]
    back = charges(written, [lines.index(place) for place in new], bill.buyer if is_invoice else bill.consignor)
    part = structs.replace(bill, buyer=back if is_invoice else (), consignor=() if is_invoice else back)
    return structs.replace(was.whole, bill=part)


def _party(found: StoredDocument) -> int | None:
    return found.owner.user_id if found.document.kind is DocumentKind.INVOICE else found.owner.consignor_id
