"""The import of a catalogue: what it would change, and the change itself, in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct, structs
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.audit import note
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.categories import Category
from saleroom.bidding.service.photos import new_photo
from saleroom.bidding.service.renditions import Renditions
from saleroom.bidding.storage import photos as photo_rows
from saleroom.kernel.errors import Contradiction, Fault, Invalid
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.columns import Column, Headings
from saleroom.sales.domain.errors import TooManyLots, UnknownSale
from saleroom.sales.domain.importing import CellFault, Effect, House, Present, RowPlan, Values, plan
from saleroom.sales.domain.lots import Lot, refuse_contradictory_estimate
from saleroom.sales.domain.needs import Stage, refuse_need_in
from saleroom.sales.domain.photo_files import PhotoEffect, PhotoName, PhotoPlan, SentPhoto, plan_photos
from saleroom.sales.domain.publication import refuse_contradictory_lot
from saleroom.sales.domain.sale import LOTS_MAX, Sale, refuse_if_over
from saleroom.sales.service.files import import_writing as writing
from saleroom.sales.service.files.import_writing import Catalogue, entry_of, need_of, terms_of, values_of
from saleroom.sales.service.people.own_lots import bidding_consignors
from saleroom.sales.storage import consignors, importing, lots, sales
from saleroom.sales.storage.lots import OfferedLot
from saleroom.sales.storage.pledges import tallies
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

FAULTS_MAX = 200
"""How many faults of rows and files a refusal names; it counts the others."""
ROWS_AT_ONCE = 40
"""Rows that are read before others have their turn: one takes 100 us."""
_WHERE_MAX = 100
_COLUMNS = {
    "name": Column.TITLE,
    "starting_price": Column.STARTING_PRICE,
    "reserve_price": Column.RESERVE,
    "estimate_from": Column.ESTIMATE_FROM,
    "estimate_to": Column.ESTIMATE_TO,
    "levels": Column.LEVELS,
    "goal": Column.GOAL,
}
"""The columns by the names of terms in refusals."""


class CatalogueUpload(Struct, frozen=True):
    """What somebody imports: a sheet with its headings, photos by their places, or both."""

    rows: Sequence[Sequence[Cell]] = ()
    headings: Headings | None = None
    photos: Sequence[SentPhoto] = ()


class HouseRules(Struct, frozen=True):
    """What the house's settings say about catalogues: the signs of the currency, and the categories."""

    currency: tuple[str, ...]
    categories: tuple[Category, ...] = ()


class Report(Struct, frozen=True):
    """What an import does, or would do: by row, by lot with photos, and the faults of files by their paths.

    `ignored` are headings that say nothing here.
    """

    rows: list[RowPlan]
    photos: list[PhotoPlan]
    photo_faults: Mapping[str, Fault]
    ignored: tuple[str, ...] = ()

    def count(self, effect: Effect) -> int:
        """Return how many rows have this effect."""
        return sum(row.effect is effect for row in self.rows)

    def count_photos(self, effect: PhotoEffect) -> int:
        """Return how many photos have this effect."""
        return sum(one is effect for plan in self.photos for one in plan.effects.values())

    @property
    def refusal(self) -> Invalid | None:
        """The refusal with the faults of all rows and files, the first ones by name; None if there are none."""
        found = [(_where(row, one), one.fault) for row in self.rows for one in row.faults]
        found += [(path[-80:], fault) for path, fault in self.photo_faults.items()]
        if not found:
            return None
        faults: dict[str, list[Fault]] = {}
        for where, fault in found[:FAULTS_MAX]:
            faults.setdefault(where, []).append(fault)
        if (more := len(found) - FAULTS_MAX) > 0:
            faults["body"] = [Fault("more_faults", f"has {more} more faults", more=more)]
        return Invalid(faults)


def refuse_to_import(tx: Transaction, token: str | None, gid: str) -> Sale:
    """Return the sale, if the holder of `token` may import lots into it.

    Raises Unauthenticated, MissingRight, UnknownSale or SaleOver.
    """
    return _open_sale(sale_to_read(tx, token, gid))


def sale_to_read(tx: Transaction, token: str | None, gid: str) -> Sale:
    """Return any sale to those who may edit catalogues. Raises Unauthenticated, MissingRight or UnknownSale."""
    authenticate(tx, token, Right.CATALOGUE)
    found = sales.get(tx, gid)
    if found is None:
        raise UnknownSale
    return found


def look(tx: Transaction, token: str | None, gid: str, sent: CatalogueUpload, rules: HouseRules) -> Report:
    """Return what the import would do. Raises as `refuse_to_import`, or TooManyLots."""
    sale = refuse_to_import(tx, token, gid)
    return _report(tx, _catalogue(tx, sale), sent, rules)


def missing(
    tx: Transaction, token: str, gid: str, sent: CatalogueUpload, rules: HouseRules
) -> tuple[Report, Counter[str]]:
    """Return what the import would do, and how many photos the house has still to make of each file, by its digest."""
    report = look(tx, token, gid, sent, rules)
    needed = Counter(one.digest for one in wanted(report, tx.unhurried(sent.photos)).values())
    owner = _open_sale(sales.get(tx, gid)).owner
    kept = importing.kept(tx, owner.id, needed)
    return report, needed - Counter({digest: len(photos) for digest, photos in kept.items()})


def keep(tx: Transaction, token: str, gid: str, made: Renditions, digest: str, stored_as: str | None = None) -> None:
    """Store a photo for the sale, which is on no lot yet, as `photos.keep` does. Raises as `refuse_to_import`."""
    sale = refuse_to_import(tx, token, gid)
    in_store = stored_as is not None
    try:
        photo_rows.add(tx, sale.owner.id, new_photo(made, stored_as), made.files, sent=digest, in_store=in_store)
    except IntegrityError as error:
        raise TryAgain("the photo's id was taken") from error


def run(tx: Transaction, token: str, gid: str, sent: CatalogueUpload, rules: HouseRules) -> Report:
    """Do what the import says, all or nothing, and return what it did. Its photos are in the house already.

    Raises as `refuse_to_import`, TooManyLots, or Invalid with the faults of all rows and files.
    """
    holder = authenticate(tx, token, Right.CATALOGUE)
    catalogue = _catalogue(tx, _open_sale(sales.lock(tx, gid)))
    report = _decided(tx, catalogue, sent, rules)
    if not catalogue.sale.is_draft:
        # Only auctions that change are locked: bids on the others do not wait. Consignors go first, as everywhere.
        consignors.lock(tx, _consignors(catalogue, report))
        auctions = lots.lock_auctions(tx, [catalogue.by_label[label].lot for label in _touched(catalogue, report)])
        catalogue = _with_auctions(catalogue, auctions)
        locked, report = _touched(catalogue, report), _decided(tx, catalogue, sent, rules)
        if _touched(catalogue, report) != locked:
            raise TryAgain("lots have changed before they were locked")
    writing.write(tx, holder, catalogue, report, wanted(report, tx.unhurried(sent.photos)))
    changed = {effect.value: report.count(effect) for effect in (Effect.NEW, Effect.CHANGED)}
    photos = sum(report.count_photos(effect) for effect in (PhotoEffect.NEW, PhotoEffect.REPLACED))
    if any(changed.values()) or photos:
        note(tx, holder, Act.CATALOGUE_IMPORTED, gid, {}, {**changed, "photos": photos})
    return report


def wanted(report: Report, photos: Iterable[SentPhoto]) -> dict[PhotoName, SentPhoto]:
    """Return the files that become photos, by their places; `photos` are those of the archive."""
    changes = {
        PhotoName(plan.label, number)
        for plan in report.photos
        for number, effect in plan.effects.items()
        if effect is not PhotoEffect.UNCHANGED
    }
    return {one.name: one for one in photos if one.name in changes and one.path not in report.photo_faults}


def _open_sale(sale: Sale | None) -> Sale:
    if sale is None:
        raise UnknownSale
    refuse_if_over(sale)
    return sale


def _decided(tx: Transaction, found: Catalogue, sent: CatalogueUpload, rules: HouseRules) -> Report:
    """Return what the import does. Raises Invalid if it has a fault."""
    report = _report(tx, found, sent, rules)
    if report.refusal is not None:
        raise report.refusal
    return report


def _touched(found: Catalogue, report: Report) -> set[str]:
    """Return the labels of the lots that are there and change."""
    rows = {row.label for row in report.rows if row.effect is Effect.CHANGED}
    return (rows | {plan.label for plan in report.photos if plan.changes}) & set(found.by_label)


def _consignors(found: Catalogue, report: Report) -> set[int]:
    """Return the numbers of the consignors whom lots get."""
    changes = [one for row in report.rows for one in row.changes if one.column is Column.CONSIGNOR]
    return {found.consignors[one.now] for one in changes if isinstance(one.now, str)}


def _with_auctions(found: Catalogue, auctions: Mapping[str, Auction]) -> Catalogue:
    by_label = {
        label: structs.replace(one, auction=auctions.get(one.lot.gid, one.auction))
        for label, one in found.by_label.items()
    }
    return structs.replace(found, by_label=by_label)


def _catalogue(tx: Transaction, sale: Sale) -> Catalogue:
    found = lots.of_sale(tx, sale.id)
    by_label = {one.lot.label: one for one in lots.with_auctions(tx, found)}
    return Catalogue(sale, by_label, importing.consignor_numbers(tx), importing.photos_of(tx, found))


def _report(tx: Transaction, found: Catalogue, sent: CatalogueUpload, rules: HouseRules) -> Report:
    codes = {number: code for code, number in found.consignors.items()}
    now = tx.now()
    standing = tallies(tx, [one.lot.id for one in found.by_label.values() if one.lot.need is not None])
    pledged = {number for number, tally in standing.items() if tally.count}
    own = bidding_consignors(tx, found.by_label.values())
    present = {
        label: _present(one, codes, now, pledged, own.get(label, ()))
        for label, one in tx.unhurried(found.by_label.items())
    }
    house = House(partial(_check, found.sale, now), rules.currency, rules.categories, found.consignors)
    headings = sent.headings
    if headings is not None and not rules.categories:
        headings = headings.without(Column.CATEGORY)
    rows = [] if headings is None else plan(tx.unhurried(sent.rows, ROWS_AT_ONCE), headings, present, house)
    new = [row.label for row in rows if row.effect is Effect.NEW]
    if len(present) + len(new) > LOTS_MAX:
        raise TooManyLots(limit=LOTS_MAX)
    fixed = {label: fault for label, one in present.items() if (fault := one.fixed or one.locked) is not None}
    # A row with faults names its lot all the same: its photos are not for a lot that is nowhere.
    pictures: dict[str, list[str | None]] = {row.label: [] for row in rows if row.label}
    pictures |= {label: [digest for _, digest in found.pictures[label]] for label in present}
    photos, faults = plan_photos(tx.unhurried(sent.photos), pictures, fixed)
    return Report(rows, photos, faults, () if headings is None else headings.ignored)


def _present(
    one: OfferedLot, codes: Mapping[int, str], now: datetime, pledged: Collection[int], bidders: Collection[str]
) -> Present:
    locked = _PLEDGED if one.lot.id in pledged else _lock(one.auction)
    return Present(values_of(one, codes), locked=locked, fixed=_fixed(one.lot, one.auction, now), bidders=bidders)


_PLEDGED = Fault("has_pledges", "cannot change any more, as pledges stand on the lot; leave it as it is")


def _lock(auction: Auction | None) -> Fault | None:
    if auction is None or auction.leader is None:
        return None
    return Fault("has_bids", "cannot change any more, as somebody has bid on the lot; leave it as it is")


def _fixed(lot: Lot, auction: Auction | None, now: datetime) -> Fault | None:
    if lot.is_withdrawn:
        return Fault("lot_withdrawn", "cannot change any more, as the lot is withdrawn; leave it as it is")
    closed = lot.need is not None and lot.need.stage is Stage.CLOSED
    if closed or (auction is not None and (auction.over or (auction.ends_at is not None and auction.ends_at <= now))):
        return Fault("auction_over", "cannot change any more, as the lot is over; leave it as it is")
    return None


def _check(sale: Sale, now: datetime, values: Values) -> None:
    """Raise Contradiction, with the fields as columns, if no lot can have these values together."""
    faults: dict[str, list[Fault]] = {}
    need = need_of(values)
    if need is not None:
        try:
            refuse_need_in(sale, need)
        except Contradiction as refused:
            raise Contradiction({_COLUMNS[field]: one for field, one in refused.faults.items()}) from None
    checks: tuple[Callable[[], None], ...] = (
        partial(refuse_contradictory_lot, sale, terms_of(values), now),
        partial(refuse_contradictory_estimate, entry_of("1", None, values)),
    )
    for check in checks:
        try:
            check()
        except Contradiction as refused:
            for field, found in refused.faults.items():
                faults.setdefault(_COLUMNS.get(field, Column.TITLE), []).extend(found)
    if faults:
        raise Contradiction(faults)


def _where(row: RowPlan, one: CellFault) -> str:
    return f"row {row.row}, {one.heading}"[:_WHERE_MAX]
