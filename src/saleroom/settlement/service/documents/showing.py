"""Documents shown: all to those who settle, and to everybody else their own."""

from __future__ import annotations

from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.kernel.page import Page, page_of
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_one
from saleroom.sales.storage import sales
from saleroom.settlement.domain.documents.document_views import DocumentRowView, DocumentView
from saleroom.settlement.domain.errors import UnknownDocument
from saleroom.settlement.service import buyer_credits
from saleroom.settlement.service.buyer_credits import Credit
from saleroom.settlement.service.document_money import rows_of, view_of, views_of
from saleroom.settlement.storage import documents
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.storage.database import Transaction

Rows = Page[DocumentRowView, int]
"""A page of documents as a list shows them."""


class OwnDocument(Struct, frozen=True):
    """A document for its party: with what the house owes them in its sale."""

    view: DocumentView
    credits: list[Credit]


class StaffDocument(Struct, frozen=True):
    """A document for those who settle: of which sale, and the places of its lines that are taken back."""

    view: DocumentView
    sale: str
    credited: frozenset[int]


def shown(tx: Transaction, token: str | None, gid: str) -> StoredDocument:
    """Return a document. Raises Unauthenticated, or UnknownDocument for those who are neither its party nor settle."""
    viewer = authenticate(tx, token, Right.READ)
    found = _found(tx, gid)
    if found.owner.user_id != viewer.id:
        if Right.SETTLE not in viewer.rights:
            raise UnknownDocument
        viewer.refuse_without(Right.SETTLE)
    return found


def view(tx: Transaction, token: str | None, gid: str) -> DocumentView:
    """Return a document as JSON has it, with what is paid of it by now. Raises as `shown`."""
    return view_of(tx, shown(tx, token, gid))


def view_of_own(tx: Transaction, token: str | None, gid: str) -> OwnDocument:
    """Return one of a user's own documents. Raises Unauthenticated or UnknownDocument."""
    viewer = authenticate(tx, token, Right.READ)
    found = _found(tx, gid)
    if found.owner.user_id != viewer.id:
        raise UnknownDocument
    return OwnDocument(view_of(tx, found), buyer_credits.of_buyer(tx, viewer.id, [found.owner.sale_id]))


def view_for_staff(tx: Transaction, token: str | None, gid: str) -> StaffDocument:
    """Return any document. Raises Unauthenticated, MissingRight or UnknownDocument."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    found = _found(tx, gid)
    sale = sales.by_id(tx, found.owner.sale_id)
    return StaffDocument(view_of(tx, found), sale.gid, documents.credited(tx, found.id))


def mine(tx: Transaction, token: str | None, limit: int, before: int | None) -> Rows:
    """Return a page of a user's own documents, the latest first. Raises Unauthenticated."""
    viewer = authenticate(tx, token, Right.READ)
    return _rows(tx, documents.of_user(tx, viewer.id, limit + 1, before), limit)


def mine_with_credits(tx: Transaction, token: str | None, limit: int, before: int | None) -> tuple[Rows, list[Credit]]:
    """Return what `mine` does, and what the house owes the user in the sales of these documents. Raises Unauthenticated."""
    viewer = authenticate(tx, token, Right.READ)
    found = documents.of_user(tx, viewer.id, limit + 1, before)
    return _rows(tx, found, limit), buyer_credits.of_buyer(tx, viewer.id, [one.owner.sale_id for one in found[:limit]])


def of_sale(tx: Transaction, token: str | None, gid: str, limit: int, before: int | None) -> tuple[Sale, Rows]:
    """Return a sale and a page of its documents, the latest first. Raises Unauthenticated, MissingRight or UnknownSale."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    sale = get_one(tx, gid, staff=True)
    return sale, _rows(tx, documents.newest(tx, sale.id, limit + 1, before), limit)


def listed(tx: Transaction, token: str | None, gid: str, limit: int, after: int | None) -> Page[DocumentView, int]:
    """Return a page of the documents of a sale, the oldest first. Raises Unauthenticated, MissingRight or UnknownSale."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    found = documents.of_sale(tx, get_one(tx, gid, staff=True).id, after or 0, limit + 1)
    page = page_of(found, limit, lambda one: one.id)
    return page.with_rows(views_of(tx, page.rows))


def _found(tx: Transaction, gid: str) -> StoredDocument:
    found = documents.find(tx, gid)
    if found is None:
        raise UnknownDocument
    return found


def _rows(tx: Transaction, found: list[StoredDocument], limit: int) -> Rows:
    page = page_of(found, limit, lambda one: one.id)
    return page.with_rows(rows_of(tx, page.rows))
