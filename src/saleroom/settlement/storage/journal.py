"""The journal as rows: entries are added, and never changed.

An entry goes on to name the user for whom it was posted. Rows read here name the person whom that user was merged into,
except for `entries` and `postings`, which say what the rows say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct, structs
from sqlalchemy import ColumnElement, Row, Select, exists, func, insert, or_, select, true, update
from sqlalchemy.dialects import postgresql, sqlite

from saleroom.kernel.instants import instant
from saleroom.kernel.money import ZERO
from saleroom.sales.storage import mergers
from saleroom.settlement.domain.documents.crediting import without
from saleroom.settlement.domain.journal import Account, BilledResult, Book, EntryKind, Posting, digest_of
from saleroom.settlement.domain.rates.bills import Bill
from saleroom.settlement.domain.reports.reporting import Supply
from saleroom.settlement.storage.tables import journal_entries, journal_postings, journal_series
from saleroom.storage import bulk
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder(order="sorted").encode
decode_settled = msgspec.json.Decoder(BilledResult).decode
"""Return what an entry of a lot rests on from its JSON. Raises msgspec.MsgspecError."""


class Standing(Struct, frozen=True):
    """An entry of a lot that was not taken back, by its number, and what it rests on.

    `settled` has the bill without the charges that were given up; `whole` has them. `given_up` are their entries by number.
    """

    entry_id: int
    settled: BilledResult
    whole: BilledResult
    given_up: tuple[tuple[int, Bill], ...] = ()


class Entry(Struct, frozen=True, kw_only=True):
    """An entry with its postings. `settled` is what one of a lot rests on, `reverses` what a reversal takes back."""

    id: int
    kind: EntryKind
    lot_id: int | None
    reverses: int | None
    settled: BilledResult | None
    postings: tuple[Posting, ...]


class StoredPosting(Struct, frozen=True, kw_only=True):
    """A posting with the entry that it is of. `lot_id` is the number of the lot that the entry is about, if it is about one."""

    entry_id: int
    lot_id: int | None
    kind: EntryKind
    at: datetime
    posting: Posting


class AboutLot(Struct, frozen=True):
    """The lot that an entry is about, what it has come to, and the entry that is taken back."""

    lot_id: int | None = None
    settled: BilledResult | None = None
    reverses: int | None = None


ABOUT_NO_LOT = AboutLot()


def add(
    tx: Transaction,
    sale_id: int,
    kind: EntryKind,
    postings: Iterable[Posting],
    by_id: int,
    about: AboutLot = ABOUT_NO_LOT,
) -> int:
    """Store an entry with its digest, and return its number. The sale is locked."""
    row = {
        "sale_id": sale_id, "kind": kind.value, "lot_id": about.lot_id, "reverses": about.reverses, "at": tx.now(),
        "by_id": by_id,
        "settled": None if about.settled is None else _encode(about.settled).decode(),
    }  # fmt: skip
    number = int(tx.execute(insert(journal_entries).returning(journal_entries.c.id), row).scalar_one())
    rows = [_row(number, one) for one in postings]
    if rows:
        tx.execute(insert(journal_postings), rows)
    _seal(tx, number)
    return number


def _seal(tx: Transaction, number: int) -> None:
    """Give a new entry its digest, of its rows as the store has them."""
    row = tx.execute(select(journal_entries).where(journal_entries.c.id == number)).one()
    of_sale = (journal_entries.c.sale_id == row.sale_id, journal_entries.c.id < number)
    last = select(journal_entries.c.digest).where(*of_sale).order_by(journal_entries.c.id.desc()).limit(1)
    before = tx.execute(last).scalar_one_or_none() or ""
    moves = tx.execute(
        select(journal_postings).where(journal_postings.c.entry_id == number).order_by(journal_postings.c.id)
    ).all()
    digest = digest_of(_facts(row, moves), before)
    tx.execute(update(journal_entries).where(journal_entries.c.id == number).values(digest=digest))
    own = (postgresql if tx.dialect == "postgresql" else sqlite).insert(journal_series)
    now = {"last": number, "digest": digest}
    tx.execute(own.values(sale_id=row.sale_id, **now).on_conflict_do_update(index_elements=["sale_id"], set_=now))


def _facts(row: Row[Any], postings: Sequence[Row[Any]]) -> str:
    """Return what the rows of an entry say, which its digest covers. The migration 0051 writes it as well."""
    said = [row.id, row.sale_id, row.kind, row.lot_id, row.reverses, instant(row.at), row.by_id]
    moves = [
        f"{one.id} {one.book} {one.user_id} {one.consignor_id} {one.amount:.3f} {bool(one.debit)}" for one in postings
    ]
    return "\n".join([" ".join(map(str, said)), row.settled or "", *moves])


def changed(tx: Transaction) -> list[int]:
    """Return the numbers of entries that do not have their digest: a row of theirs, or one before, was changed or deleted."""
    postings: dict[int, list[Row[Any]]] = {}
    for row in tx.execute(select(journal_postings).order_by(journal_postings.c.id)):
        postings.setdefault(row.entry_id, []).append(row)
    before, found = dict[int, str](), list[int]()
    for row in tx.execute(select(journal_entries).order_by(journal_entries.c.id)):
        if row.digest != digest_of(_facts(row, postings.pop(row.id, [])), before.get(row.sale_id, "")):
            found.append(row.id)
        before[row.sale_id] = row.digest
    return sorted({*found, *postings})


def without_end(tx: Transaction) -> list[int]:
    """Return the numbers of the sales whose last entry is not the one that was posted last: it was deleted, or more were."""
    last = select(func.max(journal_entries.c.id)).group_by(journal_entries.c.sale_id)
    ends = select(journal_entries).where(journal_entries.c.id.in_(last))
    found = {row.sale_id: (row.id, row.digest) for row in tx.execute(ends)}
    noted = {row.sale_id: (row.last, row.digest) for row in tx.execute(select(journal_series))}
    return sorted(sale for sale in {*found, *noted} if found.get(sale) != noted.get(sale))


def entries(tx: Transaction, but: Collection[int] = ()) -> list[Entry]:
    """Return all entries of the house as posted, the oldest first, without those of some numbers."""
    by_entry: dict[int, list[Posting]] = {}
    for row in tx.execute(select(journal_postings).order_by(journal_postings.c.id)):
        if row.entry_id not in but:
            by_entry.setdefault(row.entry_id, []).append(_posting(row))
    return [
        Entry(
            id=row.id,
            kind=EntryKind(row.kind),
            lot_id=row.lot_id,
            reverses=row.reverses,
            settled=None if row.settled is None else decode_settled(row.settled),
            postings=tuple(by_entry.get(row.id, ())),
        )
        for row in tx.execute(select(journal_entries).order_by(journal_entries.c.id))
        if row.id not in but
    ]


class StoredEntry(Struct, frozen=True):
    """What the rows of an entry say, also if they were changed: the sale, and what each account moves by book and consignor."""

    sale_id: int
    moves: dict[tuple[str, int | None], Decimal]


def stored(tx: Transaction, kind: EntryKind) -> dict[int, StoredEntry]:
    """Return the entries of a kind as they are stored, by number."""
    which = select(journal_entries.c.id, journal_entries.c.sale_id).where(journal_entries.c.kind == kind.value)
    found = {row.id: StoredEntry(row.sale_id, {}) for row in tx.execute(which)}
    moves = select(journal_postings).join(journal_entries, journal_entries.c.id == journal_postings.c.entry_id)
    for row in tx.execute(moves.where(journal_entries.c.kind == kind.value)):
        key, moved = (row.book, row.consignor_id), found[row.entry_id].moves
        moved[key] = moved.get(key, ZERO) + (row.amount if row.debit else -row.amount)
    return found


def standing(tx: Transaction, sale_id: int) -> dict[int, Standing]:
    """Return the entries of lots that were not taken back, by the number of the lot."""
    back = journal_entries.alias()
    found = select(journal_entries).where(
        journal_entries.c.sale_id == sale_id,
        journal_entries.c.settled.is_not(None),
        ~exists().where(back.c.reverses == journal_entries.c.id),
    )
    stands, given_up = dict[int, tuple[int, BilledResult]](), dict[int, list[tuple[int, Bill]]]()
    who = mergers.of_sale(tx, sale_id)
    for row in tx.unhurried(tx.execute(found.order_by(journal_entries.c.id))):
        settled = _with_buyer(decode_settled(row.settled), who)
        if row.kind == EntryKind.CREDIT.value:
            given_up.setdefault(row.lot_id, []).append((row.id, settled.bill))
        else:
            stands[row.lot_id] = row.id, settled
    return {lot: _standing(*one, given_up.get(lot, [])) for lot, one in tx.unhurried(stands.items())}


def of_lots(tx: Transaction, lot_ids: Collection[int]) -> dict[int, BilledResult]:
    """Return what stands of lots of any sales, with the charges that were given up, by the number of the lot."""
    if not lot_ids:
        return {}
    back = journal_entries.alias()
    found = select(journal_entries.c.lot_id, journal_entries.c.settled).where(
        bulk.among(tx, journal_entries.c.lot_id, lot_ids),
        journal_entries.c.kind == EntryKind.LOT.value,
        ~exists().where(back.c.reverses == journal_entries.c.id),
    )
    return {row.lot_id: decode_settled(row.settled) for row in tx.execute(found)}


def _standing(entry_id: int, whole: BilledResult, given_up: Sequence[tuple[int, Bill]]) -> Standing:
    left = whole.bill
    for _, credited in given_up:
        left = without(left, credited)
    return Standing(entry_id, structs.replace(whole, bill=left), whole, tuple(given_up))


def postings(tx: Transaction, entry_id: int) -> list[Posting]:
    """Return the postings of an entry, as they were posted."""
    found = select(journal_postings).where(journal_postings.c.entry_id == entry_id).order_by(journal_postings.c.id)
    return [_posting(row) for row in tx.execute(found)]


def moved(tx: Transaction, sale_id: int, account: Account | None = None) -> list[StoredPosting]:
    """Return what the entries of a sale move, the oldest first; only on one account if it is given."""
    found, who = _MOVED.where(journal_entries.c.sale_id == sale_id), mergers.of_sale(tx, sale_id)
    return _moved(tx, found if account is None else found.where(*_is(tx, account, who)), who)


def money(tx: Transaction, sale_id: int, account: Account) -> list[StoredPosting]:
    """Return the other sides of what moved on an account beside its lots, the oldest first: how money moved."""
    who = mergers.of_sale(tx, sale_id)
    paid = select(journal_postings.c.entry_id).where(*_is(tx, account, who))
    which = (journal_entries.c.sale_id == sale_id, journal_entries.c.kind.not_in(OF_LOTS))
    others = _MOVED.where(*which, journal_entries.c.id.in_(paid), journal_postings.c.book != account.book.value)
    return _moved(tx, others, who)


def pledged(tx: Transaction, sale_id: int) -> dict[tuple[int, int], Decimal]:
    """Return what is posted of pledges, by the numbers of the fund-a-need and of the user."""
    which = (journal_entries.c.sale_id == sale_id, journal_entries.c.kind == EntryKind.PLEDGE.value)
    found: dict[tuple[int, int], Decimal] = {}
    postings_of = _MOVED.where(*which, journal_postings.c.book == Book.BUYERS.value)
    for one in _moved(tx, postings_of, mergers.of_sale(tx, sale_id)):
        assert one.lot_id is not None and one.posting.account.party is not None, "somebody gave on a lot"
        key = (one.lot_id, one.posting.account.party)
        found[key] = found.get(key, ZERO) + one.posting.amount
    return found


def balances(tx: Transaction, accounts: Collection[tuple[int, Account]]) -> dict[tuple[int, Account], Decimal]:
    """Return the balances of accounts in sales; each is named with the number of a sale. The house is owed what is positive."""
    return _sums(tx, accounts, true())


def money_on(tx: Transaction, accounts: Collection[tuple[int, Account]]) -> dict[tuple[int, Account], Decimal]:
    """Return what moved on accounts in sales beside the lots; each is named with the number of a sale."""
    return _sums(tx, accounts, journal_entries.c.kind.not_in(OF_LOTS))


def _sums(
    tx: Transaction, accounts: Collection[tuple[int, Account]], which: ColumnElement[bool]
) -> dict[tuple[int, Account], Decimal]:
    """Return what such entries have moved on accounts."""
    found = dict.fromkeys(accounts, ZERO)
    for book, party in _PARTIES.items():
        pairs = [(sale_id, account.party or 0) for sale_id, account in accounts if account.book is book]
        if not pairs:
            continue
        merged = mergers.into(tx, pairs) if book is Book.BUYERS else {}
        moved = select(journal_postings, journal_entries.c.sale_id).join_from(
            journal_postings, journal_entries, journal_entries.c.id == journal_postings.c.entry_id
        )
        theirs = bulk.among_pairs(tx, (journal_entries.c.sale_id, party), [*pairs, *merged])
        for row in tx.execute(moved.where(journal_postings.c.book == book.value, which, theirs)):
            posting = _posting(row)
            party_id = merged.get((row.sale_id, posting.account.party or 0), posting.account.party)
            found[row.sale_id, Account(book, party_id)] += posting.amount
    return found


def supplies(tx: Transaction, since: date) -> list[Supply]:
    """Return the entries of lots, and those that take them back, which can count from a day (in UTC) on, the oldest first.

    A credit takes charges back; the entry that takes a credit back has them count again from its own day on.
    """
    taken, before = journal_entries.alias(), journal_entries.alias()
    last = select(func.max(before.c.at)).where(
        before.c.lot_id == journal_entries.c.lot_id,
        before.c.id < journal_entries.c.id,
        before.c.reverses.is_not(None),
    )
    found = (
        select(
            journal_entries.c.at,
            journal_entries.c.kind,
            taken.c.kind.label("taken_kind"),
            func.coalesce(journal_entries.c.settled, taken.c.settled).label("settled"),
            last.scalar_subquery().label("taken_back_at"),
        )
        .outerjoin_from(journal_entries, taken, taken.c.id == journal_entries.c.reverses)
        .where(
            journal_entries.c.at >= datetime.combine(since, time(), UTC),
            or_(journal_entries.c.settled.is_not(None), taken.c.settled.is_not(None)),
        )
        .order_by(journal_entries.c.id)
    )
    return [
        Supply(
            takes_back=row.kind == EntryKind.CREDIT.value or row.taken_kind == EntryKind.LOT.value,
            at=row.at,
            taken_back_at=row.at if row.taken_kind == EntryKind.CREDIT.value else row.taken_back_at,
            settled=decode_settled(row.settled),
        )
        for row in tx.execute(found)
    ]


_PARTIES = {Book.BUYERS: journal_postings.c.user_id, Book.CONSIGNORS: journal_postings.c.consignor_id}
"""The columns of those whom accounts of these books are of."""
OF_LOTS = (EntryKind.LOT.value, EntryKind.REVERSAL.value, EntryKind.PLEDGE.value, EntryKind.CREDIT.value)
"""The entries that say what lots and pledges cost; all others move money."""
_MOVED = (
    select(journal_postings, journal_entries.c.kind, journal_entries.c.at, journal_entries.c.lot_id)
    .join_from(journal_postings, journal_entries, journal_entries.c.id == journal_postings.c.entry_id)
    .order_by(journal_postings.c.id)
)


def _moved(tx: Transaction, statement: Select[Any], who: Mapping[int, int]) -> list[StoredPosting]:
    return [
        StoredPosting(
            entry_id=row.entry_id, lot_id=row.lot_id, kind=EntryKind(row.kind), at=row.at, posting=_posting(row, who)
        )
        for row in tx.unhurried(tx.execute(statement))
    ]


def _is(tx: Transaction, account: Account, who: Mapping[int, int]) -> tuple[ColumnElement[bool], ...]:
    """Return the condition that a posting is on an account, also of those who were merged into its buyer."""
    of_book, party = journal_postings.c.book == account.book.value, _PARTIES[account.book]
    same = [source for source, target in who.items() if target == account.party]
    if account.book is not Book.BUYERS or not same:
        return of_book, party == account.party
    return of_book, bulk.among(tx, party, [account.party, *same])


def _with_buyer(settled: BilledResult, who: Mapping[int, int]) -> BilledResult:
    """Return what an entry rests on with the person who its buyer is now."""
    result = settled.result
    buyer = None if result.buyer is None else who.get(result.buyer)
    if buyer is None:
        return settled
    return structs.replace(settled, result=structs.replace(result, buyer=buyer))


def _row(entry_id: int, one: Posting) -> dict[str, Any]:
    book, party = one.account.book, one.account.party
    return {
        "entry_id": entry_id,
        "book": book.value,
        "user_id": party if book is Book.BUYERS else None,
        "consignor_id": party if book is Book.CONSIGNORS else None,
        "amount": abs(one.amount),
        "debit": one.amount > 0,
    }


def _posting(row: Row[Any], who: Mapping[int, int] = MappingProxyType({})) -> Posting:
    party = row.consignor_id if row.user_id is None else who.get(row.user_id, row.user_id)
    return Posting(Account(Book(row.book), party), row.amount if row.debit else -row.amount)
