"""Access: which sales somebody may see, and one of them by its gid, read or locked."""

from __future__ import annotations

from collections.abc import Collection

from saleroom.accounts.domain.accounts import Account, Holder
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.sales.domain.errors import LotGone, UnknownLot, UnknownSale
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import gone, lots, sales
from saleroom.storage.database import Transaction

STAFF = frozenset({Right.MANAGE_SALES, Right.CATALOGUE, Right.ADMIT_BIDDERS, Right.RUN_SALE})
"""Any of these lets its holder see drafts, consignors and reserves."""


def viewer_of(tx: Transaction, token: str | None) -> Holder | None:
    """Return the holder of a token, None without one. Raises Unauthenticated."""
    return None if token is None else authenticate(tx, token, Right.READ)


def is_staff(viewer: Holder | None) -> bool:
    """Return whether somebody may see what is not public of sales."""
    return viewer is not None and not viewer.needs_codes and not STAFF.isdisjoint(viewer.rights)


def get_one(tx: Transaction, gid: str, *, staff: bool) -> Sale:
    """Return a sale; without `staff` one that anyone may see. Raises UnknownSale."""
    sale = sales.get(tx, gid)
    if sale is None or not (staff or sale.is_public):
        raise UnknownSale
    return sale


def lock_one(tx: Transaction, gid: str) -> Sale:
    """Return a sale, locked until the transaction ends; its auctions may be locked after that. Raises UnknownSale."""
    sale = sales.lock(tx, gid)
    if sale is None:
        raise UnknownSale
    return sale


def lock_as(tx: Transaction, token: str | None, gid: str, right: Right) -> tuple[Account, Sale]:
    """Return the holder of a token, who has a right, and a sale, which is locked as by `lock_one`.

    The right is looked up behind the lock too, as they may have lost it while others held the lock. Raises Unauthenticated,
    MissingRight or UnknownSale.
    """
    authenticate(tx, token, right)
    sale = lock_one(tx, gid)
    return authenticate(tx, token, right), sale


def refuse_if_gone(tx: Transaction, some: Collection[Lot]) -> None:
    """Raise LotGone if one of some lots of a locked sale is in another sale by now, or with its consignor."""
    found = gone.of_lots(tx, [lot.id for lot in some]) if some else set()
    for lot in some:
        if lot.id in found:
            raise LotGone(label=lot.label)


def get_lot(tx: Transaction, sale: Sale, label: str) -> Lot:
    """Return the lot of a sale with this label. Raises UnknownLot."""
    lot = lots.find(tx, sale.id, label)
    if lot is None:
        raise UnknownLot
    return lot
