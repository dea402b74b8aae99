"""Reading: sales and their lots, page by page, as their readers may see them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from saleroom.accounts.domain.accounts import Holder
from saleroom.bidding.service.lookup import view_for
from saleroom.kernel.page import Page, page_of
from saleroom.sales.domain.errors import UnknownLot
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.views import LotView, SaleView, lot_view, sale_view
from saleroom.sales.service.access import get_lot, get_one, is_staff, viewer_of
from saleroom.sales.service.needs import given
from saleroom.sales.storage import consignors, lots, sales
from saleroom.sales.storage.lots import OfferedLot
from saleroom.storage.database import Transaction


def listed(tx: Transaction, token: str | None, limit: int, before: int | None = None) -> Page[SaleView, int]:
    """Return sales, the newest first, from the number `before` on; drafts for staff only. Raises Unauthenticated."""
    staff = is_staff(viewer_of(tx, token))
    found = sales.newest(tx, public_only=not staff, limit=limit + 1, before=before)
    page = page_of(found, limit, lambda sale: sale.id)
    return page.with_rows([sale_view(sale, staff=staff) for sale in page.rows])


def shown(tx: Transaction, token: str | None, gid: str) -> SaleView:
    """Return a sale. Raises Unauthenticated or UnknownSale."""
    staff = is_staff(viewer_of(tx, token))
    return sale_view(get_one(tx, gid, staff=staff), staff=staff)


def lots_of(tx: Transaction, token: str | None, gid: str, limit: int, after: int | None) -> Page[LotView, int]:
    """Return lots of a sale with a rank above `after`, in the order of calling. Raises Unauthenticated or UnknownSale."""
    viewer = viewer_of(tx, token)
    sale = get_one(tx, gid, staff=is_staff(viewer))
    found = lots.page(tx, sale.id, after=after or 0, limit=limit + 1, public_only=not is_staff(viewer))
    page = page_of(found, limit, lambda lot: lot.rank)
    return page.with_rows(views(tx, viewer, page.rows))


def lot_of(tx: Transaction, token: str | None, gid: str, label: str) -> LotView:
    """Return a lot of a sale. Raises Unauthenticated, UnknownSale or UnknownLot."""
    viewer = viewer_of(tx, token)
    lot = get_lot(tx, get_one(tx, gid, staff=is_staff(viewer)), label)
    refuse_unless_shown(lot, viewer)
    return views(tx, viewer, [lot])[0]


def views(tx: Transaction, viewer: Holder | None, some: Sequence[Lot]) -> list[LotView]:
    """Return lots as `viewer` may see them, in their order."""
    return shown_as(tx, viewer, lots.with_auctions(tx, some))


def shown_as(tx: Transaction, viewer: Holder | None, some: Sequence[OfferedLot]) -> list[LotView]:
    """Return lots with their auctions as `viewer` may see them, in their order."""
    staff = is_staff(viewer)
    numbers = {one.lot.entry.consignor_id for one in some} - {None} if staff else ()
    codes = consignors.codes(tx, [number for number in numbers if number is not None])
    look = partial(view_for, viewer=viewer, staff=staff)
    found = given(tx, [one.lot for one in some], staff=staff)
    return [
        lot_view(
            one.lot,
            one.auction,
            consignor=codes.get(one.lot.entry.consignor_id or 0),
            staff=staff,
            shown=look,
            given=found.get(one.lot.id),
        )
        for one in some
    ]


def refuse_unless_shown(lot: Lot, viewer: Holder | None) -> None:
    """Raise UnknownLot for a lot that was never offered, unless staff asks."""
    if not lot.is_offered and not is_staff(viewer):
        raise UnknownLot
