"""Showing catalogues on pages: a page of lots with their photos, what a lot's page says of its sale, and the editor's lists."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.photos import Photo
from saleroom.bidding.service.catalogue import Beside, InSale, Neighbour
from saleroom.bidding.service.photos import covers
from saleroom.kernel.folding import fold
from saleroom.kernel.page import page_of
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.sale import Sale
from saleroom.sales.domain.views import LotView, SaleView, sale_view
from saleroom.sales.service.access import get_lot, get_one, is_staff, viewer_of
from saleroom.sales.service.reading import shown_as
from saleroom.sales.storage import lots, sales
from saleroom.sales.storage.lots import OfferedLot
from saleroom.storage.database import Transaction

WORDS_MAX = 8
SALES_SHOWN = 50


class CataloguePage(Struct, frozen=True, kw_only=True):
    """A page of the catalogue of a sale, with the first photo of each lot by gid. `next` is the rank to go on after."""

    sale: SaleView
    lots: list[LotView]
    covers: dict[str, Photo]
    count: int
    next: int | None


class SaleLine(Struct, frozen=True):
    """A sale in a list, with how many lots it has."""

    sale: SaleView
    lots: int


def catalogue(tx: Transaction, gid: str, *, text: str, after: int, limit: int) -> CataloguePage:
    """Return a page of the catalogue as anyone may see it, of the lots with all words of `text`. Raises UnknownSale."""
    sale = get_one(tx, gid, staff=False)
    words = fold(text).split()[:WORDS_MAX]
    if words:
        hits = [lot for lot in lots.needs(tx, sale.id) if lot.rank > after and lot.is_offered and _has(lot, words)]
        hits += lots.found(tx, sale.id, words, after=after, limit=limit + 1)
        found = sorted(hits, key=lambda lot: lot.rank)
    else:
        found = lots.page(tx, sale.id, after=after, limit=limit + 1, public_only=True)
    page = page_of(found, limit, lambda lot: lot.rank)
    shown = [one for one in lots.with_auctions(tx, page.rows) if _is_shown(one)]
    views = shown_as(tx, None, shown)
    return CataloguePage(
        sale=sale_view(sale),
        lots=views,
        covers=covers(tx, [view.gid for view in views]) | _of_needs(tx, [one.lot for one in shown]) if views else {},
        count=lots.counts(tx, [sale.id])[sale.id],
        next=page.next,
    )


def _of_needs(tx: Transaction, some: Sequence[Lot]) -> dict[str, Photo]:
    """Return the first photo of each fund-a-need among lots that has one, by gid."""
    found = lots.photos_of(tx, [lot.id for lot in some if lot.need is not None])
    return {lot.gid: found[lot.id][0].photo for lot in some if found.get(lot.id)}


def path_of(tx: Transaction, gid: str, label: str) -> str | None:
    """Return where the lot with this number is shown; None if anyone may see no such lot. Raises UnknownSale.

    A fund-a-need has no page of its own: it is shown in the catalogue.
    """
    found = lots.find(tx, get_one(tx, gid, staff=False).id, label)
    if found is None or not found.is_offered:
        return None
    return f"/lots/{found.gid}" if found.need is None else f"/catalogues/{gid}?after={found.rank - 1}#lot-{found.label}"


def public(tx: Transaction) -> list[SaleLine]:
    """Return the newest sales that anyone may see."""
    return _lines(tx, sales.newest(tx, public_only=True, limit=SALES_SHOWN), staff=False)


def managed(tx: Transaction, token: str | None) -> list[SaleLine]:
    """Return the newest sales for those who edit catalogues. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ).refuse_without(Right.CATALOGUE)
    return _lines(tx, sales.newest(tx, public_only=False, limit=SALES_SHOWN), staff=True)


def edited(tx: Transaction, token: str | None, gid: str, after: int, limit: int) -> CataloguePage:
    """Return a page of a sale's lots for those who edit it. Raises Unauthenticated, MissingRight or UnknownSale."""
    viewer = authenticate(tx, token, Right.READ)
    viewer.refuse_without(Right.CATALOGUE)
    sale = get_one(tx, gid, staff=True)
    page = page_of(lots.page(tx, sale.id, after=after, limit=limit + 1), limit, lambda lot: lot.rank)
    return CataloguePage(
        sale=sale_view(sale, staff=True),
        lots=shown_as(tx, viewer, lots.with_auctions(tx, page.rows)),
        covers={},
        count=lots.count(tx, sale.id),
        next=page.next,
    )


def one_edited(tx: Transaction, token: str | None, gid: str, label: str) -> tuple[SaleView, LotView]:
    """Return a lot with its sale for those who edit it. Raises as `edited`, and UnknownLot."""
    viewer = viewer_of(tx, token)
    authenticate(tx, token, Right.READ).refuse_without(Right.CATALOGUE)
    sale = get_one(tx, gid, staff=is_staff(viewer))
    lot = get_lot(tx, sale, label)
    return sale_view(sale, staff=True), shown_as(tx, viewer, lots.with_auctions(tx, [lot]))[0]


def place_of(tx: Transaction, auction: Auction) -> InSale | None:
    """Return what the catalogue says of the lot of an auction; None if it is in none."""
    lot = lots.of_auction(tx, auction.id)
    if lot is None:
        return None
    sale = sales.by_id(tx, lot.sale_id)
    beside = lots.neighbours(tx, lot)
    around = lots.with_auctions(tx, [one for one in beside if one is not None])
    names = {one.lot.gid: one.auction.name for one in around if _is_shown(one) and one.auction is not None}
    return InSale(
        gid=sale.gid,
        title=sale.terms.title,
        label=lot.label,
        estimate_from=lot.entry.estimate_from,
        estimate_to=lot.entry.estimate_to,
        is_live=not sale.is_timed and not sale.over,
        beside=Beside(
            *(Neighbour(one.gid, names[one.gid]) if one is not None and one.gid in names else None for one in beside)
        ),
    )


def _lines(tx: Transaction, found: list[Sale], *, staff: bool) -> list[SaleLine]:
    counts = lots.counts(tx, [sale.id for sale in found])
    return [SaleLine(sale_view(sale, staff=staff), counts[sale.id]) for sale in found]


def _has(lot: Lot, words: Sequence[str]) -> bool:
    """Return whether a fund-a-need has all of these folded words."""
    text = "" if lot.terms is None else fold(f"{lot.terms.name} {lot.terms.description}")
    return all(word in text for word in words)


def _is_shown(one: OfferedLot) -> bool:
    """Return whether anyone may see a lot: it is a fund-a-need, or has an auction that staff does not hide."""
    return one.lot.need is not None or (one.auction is not None and not one.auction.is_hidden)
