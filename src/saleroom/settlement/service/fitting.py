"""Whether documents still fit: they do as long as each of their lots has come to what they state of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from decimal import Decimal

from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.journal import Result
from saleroom.settlement.storage import documents, journal
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.settlement.storage.journal import Standing
from saleroom.storage.database import Transaction


def invoices_to_credit(tx: Transaction, issued: Collection[StoredDocument]) -> set[int]:
    """Return the numbers of those invoices, of any sales, of which a lot has come to something else by the journal."""
    invoices = [one for one in issued if one.document.kind is DocumentKind.INVOICE]
    posted: dict[int, Standing] = {}
    for sale_id in {one.owner.sale_id for one in invoices}:
        posted |= journal.standing(tx, sale_id)
    return {number for number, _ in changed_lots(tx, DocumentKind.INVOICE, invoices, posted)}


def changed_lots(
    tx: Transaction, kind: DocumentKind, issued: Collection[StoredDocument], posted: Mapping[int, Standing]
) -> set[tuple[int, int]]:
    """Return the lots on documents of one kind that have come to something else: the numbers of document and lot.

    `posted` is what stands in the journal about the lots of their sales, by the number of the lot.
    """
    own = {one.id: one for one in issued}
    credited = documents.credited_of(tx, own)
    stated = {number: _stated(one, credited[number]) for number, one in own.items()}
    return {
        (number, lot_id)
        for number, lot_id, gid in documents.lots_of(tx, kind, own)
        if stated[number].get(gid, ZERO) != _came_to(posted.get(lot_id), own[number])
    }


def party_of(result: Result, kind: DocumentKind) -> int | None:
    """Return the party that a document of a kind about a lot is for."""
    return result.buyer if kind is DocumentKind.INVOICE else result.consignor


def party(found: StoredDocument) -> int | None:
    """Return the party that a document is for."""
    return found.owner.user_id if found.document.kind is DocumentKind.INVOICE else found.owner.consignor_id


def _came_to(stands: Standing | None, found: StoredDocument) -> Decimal | None:
    """Return what a lot has come to for the party of a document; None if the lot is not theirs."""
    kind = found.document.kind
    if stands is None or party_of(stands.settled.result, kind) != party(found):
        return None
    return stands.settled.bill.due if kind is DocumentKind.INVOICE else stands.settled.bill.proceeds


def _stated(found: StoredDocument, gone: Collection[int]) -> Mapping[str, Decimal]:
    """Return what a document states of each lot by its gid, without the lines at the places `gone`."""
    totals: defaultdict[str, Decimal] = defaultdict(lambda: ZERO)
    for place, line in enumerate(found.document.lines):
        if place not in gone:
            totals[line.lot] += line.total
    return totals
