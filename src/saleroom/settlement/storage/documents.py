"""Documents as rows: numbered without gaps, and never changed.

A document goes on to name the user whom it was issued to. Rows read here name the person whom that user was merged into.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Integer, Row, and_, delete, insert, literal, or_, select, union_all, update
from sqlalchemy.dialects import postgresql, sqlite

from saleroom.accounts.domain.audit import SubjectName
from saleroom.bidding.storage.tables import auctions
from saleroom.kernel.instants import instant
from saleroom.sales.storage import mergers
from saleroom.sales.storage.tables import lots, sales
from saleroom.sales.storage.tables import mergers as merger_rows
from saleroom.settlement.domain.documents.content import FIRST, Document, DocumentKind, decoded, number_of
from saleroom.settlement.storage.bank_tables import bank_payments
from saleroom.settlement.storage.document_tables import document_credits, document_lots, document_series, documents
from saleroom.settlement.storage.offer_tables import offers
from saleroom.settlement.storage.tables import rate_cards
from saleroom.storage import bulk
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction

Pair = tuple[int, int]


class Owner(Struct, frozen=True, kw_only=True):
    """Whom a document is for: a buyer, or a consignor, of a sale. The numbers are those of the store.

    `user_id` is that of the person who the user is now, in what is read.
    """

    sale_id: int
    user_id: int | None = None
    consignor_id: int | None = None


class StoredDocument(Struct, frozen=True, kw_only=True):
    """A document as the store keeps it. `credits_id` is the number of the document that it credits."""

    id: int
    gid: str
    owner: Owner
    issued_at: datetime
    document: Document
    digest: str
    credits_id: int | None = None


def named(tx: Transaction, keys: Collection[str]) -> list[SubjectName]:
    """Return the documents, rate cards, payments from the bank and offers after a sale that have these gids."""
    none, offered = literal(None, Integer), offers.join(lots).join(sales).join(auctions)
    found = union_all(
        select(
            documents.c.gid.label("key"),
            documents.c.kind.label("name"),
            ("documents/" + documents.c.gid).label("page"),
            documents.c.year,
            documents.c.place,
        ).where(among(tx, documents.c.gid, keys)),
        select(rate_cards.c.gid, rate_cards.c.name, "rates/" + rate_cards.c.gid, none, none).where(
            among(tx, rate_cards.c.gid, keys)
        ),
        select(bank_payments.c.gid, bank_payments.c.payer, literal("bank"), none, none).where(
            among(tx, bank_payments.c.gid, keys)
        ),
        select(offers.c.gid, lots.c.label + ": " + auctions.c.name, "desk/" + sales.c.gid + "/offers", none, none)
        .select_from(offered)
        .where(among(tx, offers.c.gid, keys)),
    )
    return [SubjectName(row.key, _name(row) or row.key, row.page) for row in tx.execute(found)]


def _name(row: Row[Any]) -> str | None:
    return row.name if row.year is None else number_of(DocumentKind(row.name), row.year, row.place)


class SeriesPlace(Struct, frozen=True):
    """The next place in a series, and the digest of the document before it."""

    kind: DocumentKind
    year: int
    place: int
    before: str


def facts_of(gid: str, owner: Owner, credits_id: int | None, issued_at: datetime) -> str:
    """Return what the digest of a document covers beside what it says: whose it is, and when it was issued."""
    numbers = (owner.sale_id, owner.user_id, owner.consignor_id, credits_id)
    return " ".join((gid, *("-" if one is None else str(one) for one in numbers), instant(issued_at)))


def take_place(tx: Transaction, kind: DocumentKind, year: int) -> SeriesPlace:
    """Return the next place in a series, which is locked until the transaction ends: a rollback gives it back."""
    own = (postgresql if tx.dialect == "postgresql" else sqlite).insert(document_series)
    taken = own.values(kind=kind.value, year=year, last=1, digest=FIRST).on_conflict_do_update(
        index_elements=["kind", "year"], set_={"last": document_series.c.last + 1}
    )
    row = tx.execute(taken.returning(document_series.c.last, document_series.c.digest)).one()
    return SeriesPlace(kind, year, row.last, row.digest)


def add(tx: Transaction, place: SeriesPlace, one: StoredDocument, content: str) -> StoredDocument:
    """Store a document at the place that it took, and return it with its number."""
    row = {
        "gid": one.gid,
        "kind": place.kind.value,
        "year": place.year,
        "place": place.place,
        "sale_id": one.owner.sale_id,
        "user_id": one.owner.user_id,
        "consignor_id": one.owner.consignor_id,
        "credits_id": one.credits_id,
        "issued_at": one.issued_at,
        "content": content,
        "digest": one.digest,
    }
    found = tx.execute(insert(documents).returning(documents.c.id), row).scalar_one()
    series = (document_series.c.kind == place.kind.value, document_series.c.year == place.year)
    tx.execute(update(document_series).where(*series).values(digest=one.digest))
    return issued_of(tx.execute(ROWS.where(documents.c.id == found)).one())


def find(tx: Transaction, gid: str, *, locked: bool = False) -> StoredDocument | None:
    """Return a document, perhaps locked until the transaction ends."""
    which = ROWS.where(documents.c.gid == gid)
    row = tx.execute(which.with_for_update(of=documents) if locked else which).first()
    return None if row is None else issued_of(row)


def find_all(tx: Transaction, gids: Collection[str]) -> dict[str, StoredDocument]:
    """Return these documents by gid, as far as they are there."""
    rows = tx.execute(ROWS.where(bulk.among(tx, documents.c.gid, gids)))
    return {one.gid: one for one in map(issued_of, rows)}


def of_sale(tx: Transaction, sale_id: int, after: int, most: int) -> list[StoredDocument]:
    """Return documents of a sale in the order in which they were issued, from the one after this number on."""
    which = ROWS.where(documents.c.sale_id == sale_id, documents.c.id > after)
    return [issued_of(row) for row in tx.execute(which.order_by(documents.c.id).limit(most))]


def of_user(tx: Transaction, user_id: int, most: int, before: int | None = None) -> list[StoredDocument]:
    """Return documents for a user of the house, the latest first, from the one before this number on."""
    which = ROWS.where(mergers.is_theirs(user_id, documents.c.user_id, documents.c.sale_id))
    if before is not None:
        which = which.where(documents.c.id < before)
    return [issued_of(row) for row in tx.execute(which.order_by(documents.c.id.desc()).limit(most))]


def newest(tx: Transaction, sale_id: int, most: int, before: int | None = None) -> list[StoredDocument]:
    """Return documents of a sale, the latest first, from the one before this number on."""
    which = ROWS.where(documents.c.sale_id == sale_id)
    if before is not None:
        which = which.where(documents.c.id < before)
    return [issued_of(row) for row in tx.execute(which.order_by(documents.c.id.desc()).limit(most))]


def of_parties(tx: Transaction, buyers: Collection[Pair], consignors: Collection[Pair]) -> list[StoredDocument]:
    """Return all documents of these buyers and consignors, in the order in which they were issued.

    Each is named by the number of a sale, and by that of the user or the consignor.
    """
    own: list[ColumnElement[bool]] = []
    if buyers:
        same = [*buyers, *mergers.into(tx, buyers)]
        theirs = bulk.among_pairs(tx, (documents.c.sale_id, documents.c.user_id), same)
        own.append(and_(documents.c.consignor_id.is_(None), theirs))
    if consignors:
        own.append(bulk.among_pairs(tx, (documents.c.sale_id, documents.c.consignor_id), consignors))
    if not own:
        return []
    return [issued_of(row) for row in tx.execute(ROWS.where(or_(*own)).order_by(documents.c.id))]


def on_documents(tx: Transaction, kind: DocumentKind, lot_ids: Collection[int]) -> frozenset[int]:
    """Return which of these lots are on a document of a kind."""
    which = (document_lots.c.kind == kind.value, bulk.among(tx, document_lots.c.lot_id, lot_ids))
    return frozenset(tx.execute(select(document_lots.c.lot_id).where(*which)).scalars())


def placed(
    tx: Transaction, kind: DocumentKind, lot_ids: Collection[int], document_ids: Collection[int]
) -> dict[int, int]:
    """Return on which documents of a kind these lots are, and the lots on these documents: numbers of documents by lot."""
    c = document_lots.c
    either = or_(bulk.among(tx, c.lot_id, lot_ids), bulk.among(tx, c.document_id, document_ids))
    return {
        row.lot_id: row.document_id for row in tx.execute(select(document_lots).where(c.kind == kind.value, either))
    }


def lots_of(tx: Transaction, kind: DocumentKind, document_ids: Collection[int]) -> list[tuple[int, int, str]]:
    """Return the lots on documents of a kind: the number of the document, and the number and the gid of the lot."""
    c = document_lots.c
    found = select(c.document_id, c.lot_id, lots.c.gid).join_from(document_lots, lots, lots.c.id == c.lot_id)
    which = found.where(c.kind == kind.value, bulk.among(tx, c.document_id, document_ids))
    return [(row.document_id, row.lot_id, row.gid) for row in tx.execute(which)]


def by_ids(tx: Transaction, document_ids: Collection[int]) -> dict[int, StoredDocument]:
    """Return documents by their numbers."""
    which = ROWS.where(bulk.among(tx, documents.c.id, document_ids))
    return {row.id: issued_of(row) for row in tx.execute(which)}


def with_lot(tx: Transaction, kind: DocumentKind, lot_id: int) -> StoredDocument | None:
    """Return the document of a kind that a lot is on."""
    which = (document_lots.c.kind == kind.value, document_lots.c.lot_id == lot_id)
    on_it = select(document_lots.c.document_id).where(*which)
    row = tx.execute(ROWS.where(documents.c.id.in_(on_it))).first()
    return None if row is None else issued_of(row)


def bill(tx: Transaction, kind: DocumentKind, lot_ids: Collection[int], document_id: int) -> None:
    """Note on which document these lots are. Raises IntegrityError if one is on another of this kind."""
    rows = [{"kind": kind.value, "lot_id": lot, "document_id": document_id} for lot in sorted(lot_ids)]
    bulk.insert(tx, document_lots, rows)


def release(tx: Transaction, document_id: int, gids: Collection[str]) -> None:
    """Note that these lots are on the document no more."""
    theirs = select(lots.c.id).where(bulk.among(tx, lots.c.gid, gids))
    which = (document_lots.c.document_id == document_id, document_lots.c.lot_id.in_(theirs))
    tx.execute(delete(document_lots).where(*which))


def credited(tx: Transaction, document_id: int) -> frozenset[int]:
    """Return the places of the lines of a document that credit notes have taken back."""
    return credited_of(tx, [document_id])[document_id]


def credited_of(tx: Transaction, document_ids: Collection[int]) -> Mapping[int, frozenset[int]]:
    """Return the same of several documents, by their numbers."""
    places: dict[int, set[int]] = {number: set() for number in document_ids}
    c = document_credits.c
    for row in tx.execute(select(c.document_id, c.place).where(bulk.among(tx, c.document_id, document_ids))):
        places[row.document_id].add(row.place)
    return {number: frozenset(taken) for number, taken in places.items()}


def note_credits(tx: Transaction, document_id: int, places: Iterable[int], credit_id: int) -> None:
    """Note which lines of a document a credit note takes back."""
    rows = [{"document_id": document_id, "place": place, "credit_id": credit_id} for place in places]
    bulk.insert(tx, document_credits, rows)


def readable(tx: Transaction) -> Iterator[StoredDocument]:
    """Yield all documents that can be read, in the order of their numbers."""
    for row in tx.execute(ROWS.order_by(documents.c.id)):
        with suppress(msgspec.MsgspecError):
            yield issued_of(row)


def needs(tx: Transaction) -> list[str]:
    """Return the gid of each fund-a-need of the house: it is on the invoices of many."""
    return [*tx.execute(select(lots.c.gid).where(lots.c.need.is_not(None))).scalars()]


def lots_on(tx: Transaction) -> set[tuple[str, str, int]]:
    """Return which lots are on which documents: the kind, the gid of the lot, and the number of the document."""
    found = select(document_lots.c.kind, lots.c.gid, document_lots.c.document_id).outerjoin(
        lots, lots.c.id == document_lots.c.lot_id
    )
    return {(row.kind, row.gid, row.document_id) for row in tx.execute(found)}


def all_credited(tx: Transaction) -> set[tuple[int, int, int]]:
    """Return which lines are taken back: the number of the document, the place, and the number of the credit note."""
    return {(row.document_id, row.place, row.credit_id) for row in tx.execute(select(document_credits))}


def series(tx: Transaction) -> Sequence[Row[Any]]:
    """Return the rows of all series."""
    return tx.execute(select(document_series).order_by(document_series.c.kind, document_series.c.year)).all()


def without_series(tx: Transaction) -> Sequence[Row[Any]]:
    """Return the kinds and years of documents whose series has no row."""
    which = (document_series.c.kind == documents.c.kind, document_series.c.year == documents.c.year)
    lost = select(documents.c.kind, documents.c.year).where(~select(document_series).where(*which).exists())
    return tx.execute(lost.distinct().order_by(documents.c.kind, documents.c.year)).all()


def rows_of_series(tx: Transaction, kind: str, year: int, after: int, most: int) -> Sequence[Row[Any]]:
    """Return documents of a series as rows, in the order of their places."""
    which = (documents.c.kind == kind, documents.c.year == year, documents.c.place > after)
    return tx.execute(select(documents).where(*which).order_by(documents.c.place).limit(most)).all()


ROWS = select(documents, mergers.whose(documents.c.user_id)).outerjoin_from(
    documents, merger_rows, mergers.joined(documents.c.user_id, documents.c.sale_id)
)
"""Documents with whose they are now, for `issued_of`."""


def issued_of(row: Row[Any]) -> StoredDocument:
    """Return a document from a row of `ROWS`."""
    return StoredDocument(
        id=row.id,
        gid=row.gid,
        owner=Owner(sale_id=row.sale_id, user_id=row.party_id, consignor_id=row.consignor_id),
        issued_at=row.issued_at,
        document=decoded(row.content),
        digest=row.digest,
        credits_id=row.credits_id,
    )
