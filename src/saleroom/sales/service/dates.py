"""When sales are, for calendars."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_one
from saleroom.sales.service.showing import SALES_SHOWN
from saleroom.sales.storage import sales
from saleroom.storage.database import Transaction


class SaleRevision(Struct, frozen=True):
    """A sale, and the instant of the last thing that happened to it."""

    sale: Sale
    updated: datetime


def of_house(tx: Transaction) -> list[SaleRevision]:
    """Return the newest sales that anyone may see."""
    return _dated(tx, sales.newest(tx, public_only=True, limit=SALES_SHOWN))


def of_sale(tx: Transaction, gid: str) -> list[SaleRevision]:
    """Return one sale, as anyone may see it. Raises UnknownSale."""
    return _dated(tx, [get_one(tx, gid, staff=False)])


def _dated(tx: Transaction, found: Sequence[Sale]) -> list[SaleRevision]:
    changed = sales.changed_at(tx, [sale.id for sale in found])
    return [SaleRevision(sale, changed[sale.id]) for sale in found]
