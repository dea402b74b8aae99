"""Lots of sales as rows, with their auctions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs
from sqlalchemy import ColumnElement, Row, Select, and_, case, delete, func, insert, literal, or_, select, update

from saleroom.bidding.domain.auction import OVER, Auction
from saleroom.bidding.domain.photos import WIDTHS, Photo, made_widths
from saleroom.bidding.storage import auctions as auction_rows
from saleroom.bidding.storage.photos import OwnPhoto, PhotoFile, as_file, files_of_photos
from saleroom.bidding.storage.tables import HIDDEN, RUNNING, auctions, photo_files, photos, texts
from saleroom.sales.domain.labels import label_order
from saleroom.sales.domain.lots import Entry, Lot, LotTerms, TaxScheme
from saleroom.sales.domain.needs import Need, Stage
from saleroom.sales.storage.tables import lot_photos, lots
from saleroom.storage import bulk
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder(order="sorted").encode
decode_terms = msgspec.json.Decoder(LotTerms).decode
"""Return the terms of a lot from their JSON. Raises msgspec.MsgspecError."""
decode_need = msgspec.json.Decoder(Need).decode
"""Return what a fund-a-need asks for and its state, from their JSON. Raises msgspec.MsgspecError."""


class OfferedLot(Struct, frozen=True):
    """A lot with its auction, if there is one yet."""

    lot: Lot
    auction: Auction | None


def add(tx: Transaction, new: Sequence[Lot]) -> None:
    """Store new lots, whose numbers do not matter. Raises IntegrityError if a label, a rank or a gid exists already."""
    rows = [{"gid": lot.gid, "sale_id": lot.sale_id, "created_at": lot.created_at, **_columns(lot)} for lot in new]
    bulk.insert(tx, lots, rows)


def save(tx: Transaction, changed: Sequence[Lot]) -> None:
    """Write lots of a locked sale back; swaps of labels or ranks go by `set_order`. Raises IntegrityError as `add`."""
    bulk.update(tx, lots, [{"id": lot.id, **_columns(lot)} for lot in changed])


def find(tx: Transaction, sale_id: int, label: str) -> Lot | None:
    """Return the lot of a sale with this label."""
    return _first(tx, select(lots).where(lots.c.sale_id == sale_id, lots.c.label == label))


def with_labels(tx: Transaction, sale_id: int, labels: Sequence[str]) -> list[Lot]:
    """Return the lots of a sale with these labels, in their order. Each label must be that of a lot."""
    rows = tx.execute(select(lots).where(lots.c.sale_id == sale_id, among(tx, lots.c.label, labels)))
    found = {row.label: _lot(row) for row in rows}
    return [found[label] for label in labels]


def by_gid(tx: Transaction, sale_id: int, gid: str) -> Lot | None:
    """Return the lot of a sale with this gid."""
    return _first(tx, select(lots).where(lots.c.sale_id == sale_id, lots.c.gid == gid))


def to_be_called(tx: Transaction, sale_id: int, after: int, limit: int) -> list[Lot]:
    """Return up to `limit` lots of a live sale that can be called, in the order of calling: not closed, and not hidden.

    First those after the rank `after`, then those that were skipped before it. A lot on the block is among them.
    """
    waiting = _WITH_AUCTIONS.where(_waits(sale_id), _IS_SHOWN)
    return [_lot(row) for row in tx.execute(waiting.order_by(lots.c.rank <= after, lots.c.rank).limit(limit))]


def count_to_be_called(tx: Transaction, sale_id: int) -> int:
    """Return how many lots of a live sale can be called, one on the block among them."""
    return int(tx.execute(_COUNT.where(_waits(sale_id), _IS_SHOWN)).scalar_one())


def count_running(tx: Transaction, sale_id: int) -> int:
    """Return how many lots of a live sale were not closed, hidden ones among them."""
    return int(tx.execute(_COUNT.where(_waits(sale_id))).scalar_one())


def running(tx: Transaction, sale_id: int) -> list[Lot]:
    """Return all lots of a live sale that were not closed, hidden ones among them, in the order of calling."""
    return [_lot(row) for row in tx.execute(_WITH_AUCTIONS.where(_waits(sale_id)).order_by(lots.c.rank))]


_WITH_AUCTIONS = select(lots).outerjoin(auctions, auctions.c.id == lots.c.auction_id)
_COUNT = select(func.count()).select_from(lots.outerjoin(auctions, auctions.c.id == lots.c.auction_id))
_IS_SHOWN = or_(lots.c.auction_id.is_(None), ~HIDDEN)


def _waits(sale_id: int) -> ColumnElement[bool]:
    """Return which lots of a sale were not closed: auctions that run, and each fund-a-need that is still for sale."""
    is_need = and_(lots.c.need.is_not(None), lots.c.stage != Stage.CLOSED.value, lots.c.withdrawn_for.is_(None))
    return and_(lots.c.sale_id == sale_id, or_(RUNNING, is_need))


def of_auction(tx: Transaction, auction_id: int) -> Lot | None:
    """Return the lot whose auction has this number."""
    return _first(tx, select(lots).where(lots.c.auction_id == auction_id))


def of_auctions(tx: Transaction, auction_ids: Collection[int]) -> dict[int, Lot]:
    """Return the lots of these auctions, by the number of the auction."""
    if not auction_ids:
        return {}
    rows = tx.execute(select(lots).where(among(tx, lots.c.auction_id, auction_ids)))
    return {row.auction_id: _lot(row) for row in rows}


def of_sale(tx: Transaction, sale_id: int) -> list[Lot]:
    """Return all lots of a sale, in the order of calling."""
    found = tx.execute(select(lots).where(lots.c.sale_id == sale_id).order_by(lots.c.rank))
    return [_lot(row) for row in tx.unhurried(found)]


def is_any_over(tx: Transaction, consignor_id: int) -> bool:
    """Return whether a lot of a consignor runs no longer, so that money may be owed for it."""
    over = _WITH_AUCTIONS.where(lots.c.consignor_id == consignor_id, auctions.c.status.in_(OVER))
    return tx.execute(over.limit(1)).first() is not None


def of_consignor(tx: Transaction, consignor_id: int) -> list[Lot]:
    """Return all lots of a consignor, in all sales."""
    return [_lot(row) for row in tx.execute(select(lots).where(lots.c.consignor_id == consignor_id))]


def offered(tx: Transaction, sale_id: int) -> list[OfferedLot]:
    """Return all lots of a sale with their auctions, in the order of calling; nothing is locked."""
    return with_auctions(tx, of_sale(tx, sale_id))


def page(tx: Transaction, sale_id: int, *, after: int, limit: int, public_only: bool = False) -> list[Lot]:
    """Return up to `limit` lots of a sale with a rank above `after`, in the order of calling."""
    found = select(lots).where(lots.c.sale_id == sale_id, lots.c.rank > after).order_by(lots.c.rank).limit(limit)
    is_offered = or_(
        lots.c.auction_id.is_not(None), and_(lots.c.need.is_not(None), lots.c.stage != Stage.NEVER_OFFERED.value)
    )
    return [_lot(row) for row in tx.execute(found.where(is_offered) if public_only else found)]


def needs(tx: Transaction, sale_id: int) -> list[Lot]:
    """Return each fund-a-need of a sale, in the order of calling."""
    found = select(lots).where(lots.c.sale_id == sale_id, lots.c.need.is_not(None)).order_by(lots.c.rank)
    return [_lot(row) for row in tx.execute(found)]


def with_auctions(tx: Transaction, some: Sequence[Lot]) -> list[OfferedLot]:
    """Return lots with their auctions, in their order; nothing is locked."""
    found = {
        one.id: one for one in auction_rows.by_ids(tx, [lot.auction_id for lot in some if lot.auction_id is not None])
    }
    return [OfferedLot(lot, None if lot.auction_id is None else found[lot.auction_id]) for lot in some]


def found(tx: Transaction, sale_id: int, words: Sequence[str], *, after: int, limit: int) -> list[Lot]:
    """Return up to `limit` public lots above a rank whose auction has all of these folded words, in the order of calling."""
    asked = select(lots).join(texts, texts.c.auction_id == lots.c.auction_id)
    asked = asked.where(lots.c.sale_id == sale_id, lots.c.rank > after).order_by(lots.c.rank).limit(limit)
    return [
        _lot(row) for row in tx.execute(asked.where(*(texts.c.folded.contains(one, autoescape=True) for one in words)))
    ]


def lock_auctions(tx: Transaction, some: Sequence[Lot]) -> dict[str, Auction]:
    """Return the auctions of lots by gid, locked in order of their numbers; the sale must be locked already."""
    return auction_rows.lock(tx, [lot.gid for lot in some if lot.auction_id is not None])


def neighbours(tx: Transaction, lot: Lot) -> tuple[Lot | None, Lot | None]:
    """Return the lots with an auction before and after this one in the order of calling."""
    others = select(lots).where(lots.c.sale_id == lot.sale_id, lots.c.auction_id.is_not(None))
    before = others.where(lots.c.rank < lot.rank).order_by(lots.c.rank.desc())
    after = others.where(lots.c.rank > lot.rank).order_by(lots.c.rank)
    return _first(tx, before.limit(1)), _first(tx, after.limit(1))


def count(tx: Transaction, sale_id: int) -> int:
    """Return how many lots a sale has."""
    return int(tx.execute(select(func.count()).where(lots.c.sale_id == sale_id)).scalar_one())


def counts(tx: Transaction, sale_ids: Collection[int]) -> dict[int, int]:
    """Return how many lots each of these sales has that are not withdrawn, by number; none is left out if it has none."""
    which = (among(tx, lots.c.sale_id, sale_ids), lots.c.withdrawn_for.is_(None))
    rows = tx.execute(select(lots.c.sale_id, func.count().label("lots")).where(*which).group_by(lots.c.sale_id))
    return dict.fromkeys(sale_ids, 0) | {row.sale_id: int(row.lots) for row in rows}


def last_rank(tx: Transaction, sale_id: int) -> int:
    """Return the highest rank of a lot of the sale; 0 if it has none."""
    return int(
        tx.execute(select(func.coalesce(func.max(lots.c.rank), 0)).where(lots.c.sale_id == sale_id)).scalar_one()
    )


def labels(tx: Transaction, sale_id: int) -> list[str]:
    """Return the labels of a sale, in the order of calling."""
    return list(tx.execute(select(lots.c.label).where(lots.c.sale_id == sale_id).order_by(lots.c.rank)).scalars())


def set_order(tx: Transaction, sale_id: int, order: Sequence[tuple[int, str]]) -> None:
    """Give all lots of a locked sale their ranks from 1 on, and their labels; `order` has each lot's number and new label."""
    # Both are unique at every instant, so all go out of the way first.
    away = {"rank": -lots.c.rank, "label": literal("#") + lots.c.label}
    tx.execute(update(lots).where(lots.c.sale_id == sale_id).values(away))
    rows = [
        {"id": number, "rank": rank, "label": label, "label_order": label_order(label)}
        for rank, (number, label) in enumerate(order, 1)
    ]
    bulk.update(tx, lots, rows)


def put_up(tx: Transaction, auction_ids: Mapping[int, int]) -> None:
    """Note that lots have auctions now, by the numbers of both; their terms and photos are theirs no more."""
    rows = [{"id": lot, "auction_id": auction, "terms": None} for lot, auction in auction_ids.items()]
    bulk.update(tx, lots, rows)
    tx.execute(delete(lot_photos).where(among(tx, lot_photos.c.lot_id, list(auction_ids))))


def photos_of(tx: Transaction, lot_ids: Collection[int]) -> dict[int, list[OwnPhoto]]:
    """Return the photos of lots without an auction, in their order, by the lot's number."""
    found: dict[int, list[OwnPhoto]] = {number: [] for number in lot_ids}
    placed = select(lot_photos.c.lot_id, photos).join_from(lot_photos, photos)
    for row in tx.execute(placed.where(among(tx, lot_photos.c.lot_id, lot_ids)).order_by(lot_photos.c.place)):
        photo = Photo(row.gid, row.width, row.height, made_widths(row.width))
        found[row.lot_id].append(OwnPhoto(row.id, photo, None, row.source_id or row.id))
    return found


def narrowest(tx: Transaction, photo_ids: Collection[str]) -> dict[str, PhotoFile]:
    """Return the narrowest file of each of these photos by the id of the photo, without its bytes if they are in the store."""
    is_narrowest = photo_files.c.width == case((photos.c.width < WIDTHS[0], photos.c.width), else_=WIDTHS[0])
    found = files_of_photos(photos.c.gid).where(is_narrowest, among(tx, photos.c.gid, photo_ids))
    return {row.gid: as_file(row) for row in tx.execute(found)}


def have_other_photos(tx: Transaction, lot: Lot, photo_ids: Collection[int]) -> bool:
    """Return whether one of these photos is on another lot without an auction."""
    found = select(lot_photos.c.lot_id).where(
        among(tx, lot_photos.c.photo_id, photo_ids), lot_photos.c.lot_id != lot.id
    )
    return tx.execute(found.limit(1)).first() is not None


def place_photos(tx: Transaction, lot: Lot, photo_ids: Sequence[int]) -> None:
    """Put exactly these photos on a lot without an auction, in this order."""
    tx.execute(delete(lot_photos).where(lot_photos.c.lot_id == lot.id))
    rows = [{"lot_id": lot.id, "place": place, "photo_id": photo} for place, photo in enumerate(photo_ids, 1)]
    if rows:
        tx.execute(insert(lot_photos), rows)


def _first(tx: Transaction, statement: Select[Any]) -> Lot | None:
    row = tx.execute(statement).first()
    return None if row is None else _lot(row)


def _columns(lot: Lot) -> dict[str, Any]:
    """Return the columns that can change, by name."""
    entry = lot.entry
    return {
        "auction_id": lot.auction_id,
        "label": entry.label,
        "label_order": label_order(entry.label),
        "rank": lot.rank,
        "consignor_id": entry.consignor_id,
        "estimate_from": entry.estimate_from,
        "estimate_to": entry.estimate_to,
        "tax_scheme": None if entry.tax_scheme is None else entry.tax_scheme.value,
        "terms": None if lot.terms is None else _encode(lot.terms).decode(),
        "need": None if lot.need is None else _encode(structs.replace(lot.need, stage=Stage.WAITING)).decode(),
        "stage": None if lot.need is None else lot.need.stage.value,
        "withdrawn_for": lot.withdrawn_for,
    }


def _lot(row: Row[Any]) -> Lot:
    return Lot(
        id=row.id,
        gid=row.gid,
        sale_id=row.sale_id,
        auction_id=row.auction_id,
        rank=row.rank,
        entry=Entry(
            label=row.label,
            consignor_id=row.consignor_id,
            estimate_from=row.estimate_from,
            estimate_to=row.estimate_to,
            tax_scheme=None if row.tax_scheme is None else TaxScheme(row.tax_scheme),
        ),
        terms=None if row.terms is None else decode_terms(row.terms),
        withdrawn_for=row.withdrawn_for,
        created_at=row.created_at,
        need=None if row.need is None else structs.replace(decode_need(row.need), stage=Stage(row.stage)),
    )
