"""Payment files and their payouts as rows: numbered without gaps, and what they say never changes."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from saleroom.kernel.identifiers import GID_BYTES
from saleroom.kernel.instants import instant
from saleroom.kernel.money import ZERO
from saleroom.sales.storage.tables import consignors, sales
from saleroom.settlement.domain.bank.payouts import FIRST, UNDER_WAY, PayoutState, content_digest, digest_of
from saleroom.settlement.domain.journal import Book
from saleroom.settlement.storage.payout_tables import payment_files, payment_series, payouts
from saleroom.settlement.storage.tables import journal_entries, journal_postings
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


class PaymentFile(Struct, frozen=True, kw_only=True):
    """A payment file. `content` is empty once the house no longer keeps names and accounts of its day."""

    id: int
    gid: str
    year: int
    place: int
    made_at: datetime
    content: str
    is_forgotten: bool


class NewPaymentFile(Struct, frozen=True):
    """A payment file to store: the name of its message, when and by which user it is made, and its XML."""

    message: str
    made_at: datetime
    by_id: int
    content: str


class Payout(Struct, frozen=True, kw_only=True):
    """A transfer of a payment file, with the words of its sale and its consignor."""

    id: int
    gid: str
    file_id: int
    sale_id: int
    sale: str
    sale_title: str
    consignor_id: int
    consignor: str
    person_name: str
    user_id: int | None
    amount: Decimal
    country: str
    ending: str
    end_to_end: str
    state: PayoutState
    reason: str | None
    entry_id: int
    end_entry_id: int | None
    back_entry_id: int | None


class FilePlace(Struct, frozen=True):
    """The next place among the files of a year, and the digest of the file before it."""

    year: int
    place: int
    before: str


class Due(Struct, frozen=True, kw_only=True):
    """What the house owes a consignor in a sale, by the entries that are posted."""

    sale_id: int
    consignor_id: int
    owed: Decimal


def take_place(tx: Transaction, year: int) -> FilePlace:
    """Return the next place among the files of a year, which is locked until the transaction ends: a rollback gives it back."""
    own = (postgresql if tx.dialect == "postgresql" else sqlite).insert(payment_series)
    taken = own.values(year=year, last=1, digest=FIRST).on_conflict_do_update(
        index_elements=["year"], set_={"last": payment_series.c.last + 1}
    )
    row = tx.execute(taken.returning(payment_series.c.last, payment_series.c.digest)).one()
    return FilePlace(year, row.last, row.digest)


def add(tx: Transaction, place: FilePlace, new: NewPaymentFile, rows: Sequence[Mapping[str, Any]]) -> PaymentFile:
    """Store a file at the place that it took, with its payouts, and return it. Raises IntegrityError if one is under way."""
    of_file = {
        "gid": secrets.token_urlsafe(GID_BYTES),
        "year": place.year,
        "place": place.place,
        "message": new.message,
        "made_at": new.made_at,
        "by_id": new.by_id,
        "content": new.content,
        "content_digest": content_digest(new.content),
        "digest": "",
    }
    number = int(tx.execute(insert(payment_files).returning(payment_files.c.id), of_file).scalar_one())
    made = [
        {**row, "gid": secrets.token_urlsafe(GID_BYTES), "file_id": number, "state": PayoutState.MADE.value}
        for row in rows
    ]
    tx.execute(insert(payouts), made)
    digest = digest_of_rows(stored_file(tx, number), stored_payouts(tx, number), place.before)
    tx.execute(update(payment_files).where(payment_files.c.id == number).values(digest=digest))
    tx.execute(update(payment_series).where(payment_series.c.year == place.year).values(digest=digest))
    return _file(stored_file(tx, number))


def digest_of_rows(file: Row[Any], rows: Sequence[Row[Any]], before: str) -> str:
    """Return the digest of a file from its rows as the store has them: all that never changes of them."""
    facts = [f"{file.gid} {file.year} {file.place} {file.message} {instant(file.made_at)} {file.by_id}"]
    facts += [
        f"{one.gid} {one.place} {one.sale_id} {one.consignor_id} {one.amount:.3f} {one.country} {one.ending} "
        f"{one.end_to_end} {one.entry_id}"
        for one in rows
    ]
    return digest_of(file.content_digest, facts, before)


def stored_file(tx: Transaction, number: int) -> Row[Any]:
    """Return the row of a file."""
    return tx.execute(select(payment_files).where(payment_files.c.id == number)).one()


def stored_payouts(tx: Transaction, file_id: int) -> Sequence[Row[Any]]:
    """Return the rows of the payouts of a file, in their order."""
    return tx.execute(select(payouts).where(payouts.c.file_id == file_id).order_by(payouts.c.place)).all()


def stored_files(tx: Transaction) -> Sequence[Row[Any]]:
    """Return the rows of all files, by year and place."""
    return tx.execute(select(payment_files).order_by(payment_files.c.year, payment_files.c.place)).all()


def series(tx: Transaction) -> dict[int, tuple[int, str]]:
    """Return the last number and the last digest of each year."""
    return {row.year: (row.last, row.digest) for row in tx.execute(select(payment_series))}


def find(tx: Transaction, gid: str) -> PaymentFile | None:
    """Return a payment file."""
    row = tx.execute(select(payment_files).where(payment_files.c.gid == gid)).first()
    return None if row is None else _file(row)


def with_message(tx: Transaction, message: str) -> PaymentFile | None:
    """Return the payment file that banks know by this."""
    row = tx.execute(select(payment_files).where(payment_files.c.message == message)).first()
    return None if row is None else _file(row)


def newest(tx: Transaction, limit: int, before: int | None = None) -> list[PaymentFile]:
    """Return payment files, the newest first, from the one before this number on."""
    found = select(payment_files)
    found = found if before is None else found.where(payment_files.c.id < before)
    return [_file(row) for row in tx.execute(found.order_by(payment_files.c.id.desc()).limit(limit))]


def of_files(tx: Transaction, numbers: Collection[int]) -> dict[int, list[Payout]]:
    """Return the payouts of files, by the number of each file."""
    found: dict[int, list[Payout]] = {number: [] for number in numbers}
    if numbers:
        which = _ROWS.where(bulk.among(tx, payouts.c.file_id, numbers)).order_by(payouts.c.file_id, payouts.c.place)
        for row in tx.execute(which):
            found[row.file_id].append(_payout(row))
    return found


def of_end_to_end(tx: Transaction, ids: Collection[str]) -> dict[str, Payout]:
    """Return payouts by what banks know them by."""
    if not ids:
        return {}
    return {row.end_to_end: _payout(row) for row in tx.execute(_ROWS.where(bulk.among(tx, payouts.c.end_to_end, ids)))}


def under_way(tx: Transaction) -> set[tuple[int, int]]:
    """Return for which sales and consignors, by their numbers, a payout is under way."""
    which = payouts.c.state.in_([state.value for state in UNDER_WAY])
    return {
        (row.sale_id, row.consignor_id)
        for row in tx.execute(select(payouts.c.sale_id, payouts.c.consignor_id).where(which))
    }


def mark(tx: Transaction, payout: Payout, state: PayoutState, entry_id: int | None, reason: str | None) -> None:
    """Note what has become of a payout, whose sale is locked, and the entry that posted that."""
    values: dict[str, Any] = {"state": state.value, "reason": reason}
    if entry_id is not None:
        values["end_entry_id" if payout.end_entry_id is None else "back_entry_id"] = entry_id
    tx.execute(update(payouts).where(payouts.c.id == payout.id).values(values))


def due(tx: Transaction) -> list[Due]:
    """Return what the house owes consignors, by the entries that are posted: the latest sales first."""
    which = (
        journal_entries.c.sale_id,
        journal_postings.c.consignor_id,
        journal_postings.c.amount,
        journal_postings.c.debit,
    )
    moved = (
        select(*which, func.count().label("times"))
        .join_from(journal_postings, journal_entries, journal_entries.c.id == journal_postings.c.entry_id)
        .where(journal_postings.c.book == Book.CONSIGNORS.value)
        .group_by(*which)
    )
    owed: dict[tuple[int, int], Decimal] = {}  # SQLite keeps amounts as texts, which it cannot add up
    for row in tx.execute(moved):
        key, amount = (row.sale_id, row.consignor_id), row.amount * row.times
        owed[key] = owed.get(key, ZERO) + (-amount if row.debit else amount)
    ordered = sorted(owed, key=lambda key: (-key[0], key[1]))
    return [Due(sale_id=key[0], consignor_id=key[1], owed=owed[key]) for key in ordered if owed[key] > ZERO]


_ROWS = (
    select(
        payouts,
        sales.c.gid.label("sale"),
        sales.c.title.label("sale_title"),
        consignors.c.code.label("consignor"),
        consignors.c.name.label("person_name"),
        consignors.c.user_id,
    )
    .join_from(payouts, sales, sales.c.id == payouts.c.sale_id)
    .join(consignors, consignors.c.id == payouts.c.consignor_id)
)


def _file(row: Row[Any]) -> PaymentFile:
    return PaymentFile(
        id=row.id,
        gid=row.gid,
        year=row.year,
        place=row.place,
        made_at=row.made_at,
        content=row.content,
        is_forgotten=row.forgotten_at is not None,
    )


def _payout(row: Row[Any]) -> Payout:
    return Payout(
        id=row.id,
        gid=row.gid,
        file_id=row.file_id,
        sale_id=row.sale_id,
        sale=row.sale,
        sale_title=row.sale_title,
        consignor_id=row.consignor_id,
        consignor=row.consignor,
        person_name=row.person_name,
        user_id=row.user_id,
        amount=row.amount,
        country=row.country,
        ending=row.ending,
        end_to_end=row.end_to_end,
        state=PayoutState(row.state),
        reason=row.reason,
        entry_id=row.entry_id,
        end_entry_id=row.end_entry_id,
        back_entry_id=row.back_entry_id,
    )
