"""The writing of an import: lots of a draft many at a time, and lots of a published sale by the rules of their auctions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

from msgspec import Struct, structs

from saleroom.accounts.domain.accounts import Holder
from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.service.lookup import lock_one
from saleroom.bidding.service.photos import logged, put_on
from saleroom.bidding.service.recording import record, steps
from saleroom.bidding.storage.photos import OwnPhoto
from saleroom.sales.domain.columns import OF_NEEDS, Column
from saleroom.sales.domain.events import LotAmended, SaleEvent
from saleroom.sales.domain.importing import TERMS, Effect, RowPlan, Value, Values
from saleroom.sales.domain.lots import Entry, Lot, LotTerms, TaxScheme
from saleroom.sales.domain.needs import Need, amended
from saleroom.sales.domain.photo_files import PhotoEffect, PhotoName, PhotoPlan, SentPhoto
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.lots import NewLot, drafted, put_in
from saleroom.sales.storage import importing, lots, sales
from saleroom.sales.storage.lots import OfferedLot
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

_TERMS = {
    Column.TITLE: "name",
    Column.DESCRIPTION: "description",
    Column.STARTING_PRICE: "starting_price",
    Column.RESERVE: "reserve_price",
    Column.CATEGORY: "category",
}
"""The terms of an auction by their columns."""


class Catalogue(Struct, frozen=True):
    """A sale as an import finds it. `pictures` are the photos of its lots by label, each with the digest of its file."""

    sale: Sale
    by_label: Mapping[str, OfferedLot]
    consignors: Mapping[str, int]
    pictures: Mapping[str, list[tuple[OwnPhoto, str | None]]]


class ImportPlan(Protocol):
    """What is to be written: the rows without faults, and the photos by lot."""

    @property
    def rows(self) -> list[RowPlan]:
        """What each row does."""

    @property
    def photos(self) -> list[PhotoPlan]:
        """What the photos of each lot do."""


def write(
    tx: Transaction, staff: Holder, found: Catalogue, decided: ImportPlan, files: Mapping[PhotoName, SentPhoto]
) -> None:
    """Write what is decided about the lots of a locked sale.

    Raises as `lots.put_in`, or TryAgain if a photo is not in the house any more.
    """
    changed = {row.label: row for row in decided.rows if row.effect is Effect.CHANGED}
    new = [row for row in decided.rows if row.effect is Effect.NEW]
    noted = _change(tx, found, changed)
    sale = sales.record(tx, found.sale, noted) if noted else found.sale
    _add(tx, staff, sale, found, new)
    chosen = _chosen(tx, found, decided.photos, files)
    if not chosen:
        return
    present = {one.label: one for one in lots.of_sale(tx, found.sale.id)} if new else None
    by_label = {label: one.lot for label, one in found.by_label.items()} if present is None else present
    drafts = {by_label[label].id: photos for label, photos in chosen.items() if by_label[label].auction_id is None}
    importing.place(tx, found.sale.owner.id, drafts, tx.now())
    offered = {
        by_label[label].gid: photos for label, photos in chosen.items() if by_label[label].auction_id is not None
    }
    _arrange(tx, found.sale, offered)


def terms_of(values: Values) -> LotTerms:
    """Return the terms of a lot with these values; those of a fund-a-need begin at the lowest level."""
    terms: dict[str, Any] = {name: values[column] for column, name in _TERMS.items() if values.get(column) is not None}
    need = need_of(values)
    return LotTerms(**terms) if need is None else LotTerms(**{**terms, "starting_price": min(need.levels)})


def need_of(values: Values) -> Need | None:
    """Return what a fund-a-need with these values asks for; None for an auction."""
    levels = values.get(Column.LEVELS)
    return Need(levels=levels, goal=_amount(values.get(Column.GOAL))) if isinstance(levels, tuple) else None


def values_of(one: OfferedLot, codes: Mapping[int, str]) -> Values:
    """Return what a lot has in each column. `codes` are those of the consignors by number."""
    entry, terms = one.lot.entry, one.auction or one.lot.terms
    assert terms is not None, "a lot has an auction or its terms"
    return {
        **{column: getattr(terms, name) for column, name in _TERMS.items()},
        **({} if one.lot.need is None else {Column.STARTING_PRICE: None}),
        Column.LEVELS: None if one.lot.need is None else one.lot.need.levels,
        Column.GOAL: None if one.lot.need is None else one.lot.need.goal,
        **_said(one.lot),
        Column.CONSIGNOR: None if entry.consignor_id is None else codes[entry.consignor_id],
    }


def entry_of(label: str, consignor_id: int | None, values: Values) -> Entry:
    """Return what the catalogue says of a lot with these values."""
    return Entry(
        label=label,
        consignor_id=consignor_id,
        estimate_from=_amount(values.get(Column.ESTIMATE_FROM)),
        estimate_to=_amount(values.get(Column.ESTIMATE_TO)),
        tax_scheme=scheme if isinstance(scheme := values.get(Column.TAX), TaxScheme) else None,
    )


def _add(tx: Transaction, staff: Holder, sale: Sale, found: Catalogue, rows: Sequence[RowPlan]) -> None:
    """Add lots behind those that there are, in the order of the rows; in a published sale each gets its auction."""
    if not rows:
        return
    entries = [entry_of(row.label, _consignor(found, row.values), row.values) for row in tx.unhurried(rows)]
    if not sale.is_draft:
        own = ("estimate_from", "estimate_to", "tax_scheme", "consignor_id")
        said = [{name: getattr(entry, name) for name in own} for entry in entries]
        terms = [terms_of(row.values) for row in rows]
        new = [
            NewLot(terms=one, need=need_of(row.values), label=row.label, entry=entry)
            for one, row, entry in zip(terms, rows, said, strict=True)
        ]
        put_in(tx, staff, sale, new, {one.category for one in terms if one.category is not None})
        return
    new_lots = [(entry, terms_of(row.values), need_of(row.values)) for row, entry in zip(rows, entries, strict=True)]
    lots.add(tx, drafted(tx, sale, new_lots))


def _change(tx: Transaction, found: Catalogue, rows: Mapping[str, RowPlan]) -> list[SaleEvent]:
    """Change lots: their rows, and the terms of those that are auctions."""
    saved: list[Lot] = []
    noted: list[SaleEvent] = []
    taken: list[tuple[Auction, dict[str, Any]]] = []
    for label, row in tx.unhurried(rows.items()):
        lot, auction = found.by_label[label].lot, found.by_label[label].auction
        values = {**_said(lot), **{change.column: change.now for change in row.changes}}
        consignor = _consignor(found, values) if Column.CONSIGNOR in values else lot.entry.consignor_id
        entry = entry_of(label, consignor, values)
        terms, need = lot.terms, lot.need
        if need is not None:
            asked = {one.column.value: one.now for one in row.changes if one.column in OF_NEEDS}
            need = amended(need, asked, pledged=False)  # a row that changes levels after a pledge is a fault
        if terms is not None:
            terms = structs.replace(terms, **_changes_of_terms(row))
            terms = terms if need is None else structs.replace(terms, starting_price=min(need.levels))
        elif auction is not None and (changes := _changes_of_terms(row)):
            taken.append((auction, changes))
        if entry != lot.entry or terms != lot.terms or need != lot.need:
            saved.append(structs.replace(lot, entry=entry, terms=terms, need=need))
        if need is not None and not found.sale.is_draft:
            noted.append(LotAmended(at=tx.now(), lot=lot.gid, label=label))
        if auction is not None and structs.replace(entry, consignor_id=lot.entry.consignor_id) != lot.entry:
            noted.append(LotAmended(at=tx.now(), lot=lot.gid, label=label))
    lots.save(tx, saved)
    _amend(tx, found.sale, taken)
    return noted


def _amend(tx: Transaction, sale: Sale, changed: Sequence[tuple[Auction, dict[str, Any]]]) -> None:
    """Change the terms of auctions before their first bids."""
    now, taken = tx.now(), []
    for auction, changes in changed:
        shown = logged(tx, auction) if "category" in changes else ()
        taken += steps(auction, selling.amend(auction, sale.owner, changes, now, photos=shown))
    record(tx, taken)


def _arrange(tx: Transaction, sale: Sale, chosen: Mapping[str, Sequence[OwnPhoto]]) -> None:
    """Put photos on auctions, by gid, before their first bids."""
    owner = Holder(id=sale.owner.id, username=sale.owner.name)
    for gid, photos in chosen.items():
        put_on(tx, owner, lock_one(tx, gid), [one.photo.id for one in photos])


def _chosen(
    tx: Transaction, found: Catalogue, plans: Sequence[PhotoPlan], files: Mapping[PhotoName, SentPhoto]
) -> dict[str, list[OwnPhoto]]:
    """Return all photos of the lots whose photos change, by label; the new ones have come as `files`."""
    owner_id = found.sale.owner.id
    kept = importing.kept(tx, owner_id, {one.digest for one in files.values()})

    def taken(digest: str) -> OwnPhoto:
        if not kept.get(digest):
            raise TryAgain("a photo of the import is not kept any more")
        return kept[digest].pop()

    chosen: dict[str, list[OwnPhoto]] = {}
    for plan in plans:
        if not plan.changes:
            continue
        photos = [photo for photo, _ in found.pictures.get(plan.label, [])]
        for number, effect in sorted(plan.effects.items()):
            if effect is not PhotoEffect.UNCHANGED:
                photos[number - 1 : number] = [taken(files[PhotoName(plan.label, number)].digest)]
        chosen[plan.label] = photos
    return chosen


def _consignor(found: Catalogue, values: Values) -> int | None:
    code = values.get(Column.CONSIGNOR)
    return found.consignors[code] if isinstance(code, str) else None


def _said(lot: Lot) -> dict[Column, Value]:
    """Return what the catalogue says of a lot beside its terms and its consignor."""
    entry = lot.entry
    return {
        Column.ESTIMATE_FROM: entry.estimate_from,
        Column.ESTIMATE_TO: entry.estimate_to,
        Column.TAX: entry.tax_scheme,
    }


def _changes_of_terms(row: RowPlan) -> dict[str, Any]:
    return {_TERMS[change.column]: change.now for change in row.changes if change.column in TERMS}


def _amount(value: Value) -> Decimal | None:
    return value if isinstance(value, Decimal) else None
