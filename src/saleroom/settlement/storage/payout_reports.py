"""What banks have said of payouts, as rows: each once, whatever file it comes in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, select, update

from saleroom.kernel.instants import instant
from saleroom.settlement.domain.bank.status_reports import BOOKED, BankAnswer, Doubt, digest_of_said, seal_of
from saleroom.settlement.storage import series
from saleroom.settlement.storage.payout_tables import payment_files, payout_reports, payouts
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


class BankReport(Struct, frozen=True, kw_only=True):
    """What a bank has said of a payout. `message` is empty for a booking of a statement."""

    payout_id: int
    message: str
    said_at: str
    said: BankAnswer
    doubt: Doubt | None
    imported_at: datetime
    checked_at: datetime | None = None

    @property
    def waits(self) -> bool:
        """Whether a person has to look at it."""
        return self.doubt is not None and self.checked_at is None


def add(tx: Transaction, one: BankReport, known_by: str, by_id: int) -> None:
    """Store what a bank has said of a payout, whose sale is locked, and of which it is not known."""
    row = {
        "payout_id": one.payout_id, "message": one.message, "said_at": one.said_at, "status": one.said.status,
        "code": one.said.code, "said": one.said.text, "doubt": None if one.doubt is None else one.doubt.value,
        "digest": digest_of_said(known_by, one.message, one.said_at, one.said), "seal": "", "imported_at": one.imported_at,
        "by_id": by_id,
    }  # fmt: skip
    _seal(tx, [series.add(tx, payout_reports, row)])


def known(tx: Transaction, digests: Collection[str]) -> set[str]:
    """Return which of these digests are known."""
    if not digests:
        return set()
    found = select(payout_reports.c.digest).where(bulk.among(tx, payout_reports.c.digest, digests))
    return {str(one) for one in tx.execute(found).scalars()}


def of_payouts(tx: Transaction, numbers: Collection[int]) -> dict[int, list[BankReport]]:
    """Return what banks have said of payouts, by the number of each, the oldest first."""
    found: dict[int, list[BankReport]] = {number: [] for number in numbers}
    if numbers:
        which = select(payout_reports).where(bulk.among(tx, payout_reports.c.payout_id, numbers))
        for row in tx.execute(which.order_by(payout_reports.c.id)):
            found[row.payout_id].append(_statement(row))
    return found


def in_doubt(tx: Transaction) -> set[tuple[int, int]]:
    """Return for which sales and consignors, by their numbers, a person has to look at a payout first."""
    rows = (
        select(payouts.c.sale_id, payouts.c.consignor_id)
        .join_from(payout_reports, payouts, payouts.c.id == payout_reports.c.payout_id)
        .where(payout_reports.c.doubt.is_not(None), payout_reports.c.checked_at.is_(None))
    )
    return {(row.sale_id, row.consignor_id) for row in tx.execute(rows)}


def bookings_in_doubt(tx: Transaction) -> list[tuple[str, str, BankReport]]:
    """Return the bookings that a person has to look at, each with the gid of its file and what banks know its payout by."""
    rows = (
        select(payout_reports, payouts.c.end_to_end, payment_files.c.gid)
        .join_from(payout_reports, payouts, payouts.c.id == payout_reports.c.payout_id)
        .join(payment_files, payment_files.c.id == payouts.c.file_id)
        .where(
            payout_reports.c.status == BOOKED,
            payout_reports.c.doubt.is_not(None),
            payout_reports.c.checked_at.is_(None),
        )
        .order_by(payout_reports.c.id)
    )
    return [(row.gid, row.end_to_end, _statement(row)) for row in tx.execute(rows)]


def check(tx: Transaction, payout_id: int, by_id: int) -> int:
    """Note that somebody has looked at all doubts about a payout, whose sale is locked; return how many there were."""
    which = (
        payout_reports.c.payout_id == payout_id,
        payout_reports.c.doubt.is_not(None),
        payout_reports.c.checked_at.is_(None),
    )
    numbers = [*tx.execute(select(payout_reports.c.id).where(*which)).scalars()]
    if numbers:
        noted = {"checked_at": tx.now(), "checked_by_id": by_id}
        tx.execute(update(payout_reports).where(payout_reports.c.id.in_(numbers)).values(noted))
        _seal(tx, numbers)
    return len(numbers)


def stored(tx: Transaction) -> dict[int, list[Row[Any]]]:
    """Return all rows as the store has them, by the number of the payout."""
    found: dict[int, list[Row[Any]]] = {}
    for row in tx.execute(select(payout_reports).order_by(payout_reports.c.id)):
        found.setdefault(row.payout_id, []).append(row)
    return found


def seal_of_row(row: Row[Any]) -> str:
    """Return the seal that a row should have: all of it but the bank's words, which its digest covers."""
    facts: Sequence[object] = (
        row.id, row.payout_id, row.message, row.said_at, row.status, row.code, row.doubt, instant(row.imported_at), row.by_id,
        None if row.checked_at is None else instant(row.checked_at), row.checked_by_id,
    )  # fmt: skip
    return seal_of(row.digest, [str(one) for one in facts])


def _seal(tx: Transaction, numbers: Collection[int]) -> None:
    for row in tx.execute(select(payout_reports).where(payout_reports.c.id.in_(numbers))).all():
        tx.execute(update(payout_reports).where(payout_reports.c.id == row.id).values(seal=seal_of_row(row)))


def _statement(row: Row[Any]) -> BankReport:
    return BankReport(
        payout_id=row.payout_id,
        message=row.message,
        said_at=row.said_at,
        said=BankAnswer(row.status, row.code, row.said),
        doubt=None if row.doubt is None else Doubt(row.doubt),
        imported_at=row.imported_at,
        checked_at=row.checked_at,
    )
