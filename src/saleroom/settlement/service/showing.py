"""Documents shown: all to those who settle, and to everybody else their own."""

from __future__ import annotations

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.sales.service.access import get_one
from saleroom.settlement.domain.errors import UnknownDocument
from saleroom.settlement.storage import documents
from saleroom.settlement.storage.documents import Issued
from saleroom.storage.database import Transaction


def shown(tx: Transaction, token: str | None, gid: str) -> Issued:
    """Return a document. Raises Unauthenticated, or UnknownDocument for those who are neither its party nor settle."""
    viewer = authenticate(tx, token, Right.READ)
    found = documents.find(tx, gid)
    if found is None:
        raise UnknownDocument
    if found.owner.user_id != viewer.id:
        if Right.SETTLE not in viewer.rights:
            raise UnknownDocument
        viewer.refuse_without(Right.SETTLE)
    return found


def listed(
    tx: Transaction, token: str | None, gid: str, limit: int, after: int | None
) -> tuple[list[Issued], int | None]:
    """Return a page of the documents of a sale, the oldest first, and after which number the next one begins.

    Raises Unauthenticated, MissingRight or UnknownSale.
    """
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    found = documents.of_sale(tx, get_one(tx, gid, staff=True).id, after or 0, limit + 1)
    return found[:limit], found[limit - 1].id if len(found) > limit else None
