"""What the bank says of a payment file: imported, followed if it is plain, and looked into by a person if not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.service.access import lock_one
from saleroom.settlement.domain.bank.payout_views import DoubtfulPayoutView, ImportedReportView
from saleroom.settlement.domain.bank.payouts import PayoutState, file_number
from saleroom.settlement.domain.bank.status_reports import (
    REJECTED,
    BankAnswer,
    Doubt,
    StatusReport,
    Verdict,
    digest_of_said,
    follows,
    is_before,
    strangers,
    verdicts,
)
from saleroom.settlement.domain.errors import PayoutNotInDoubt
from saleroom.settlement.service.bank.payouts import follow, known, view_of
from saleroom.settlement.service.bank.status_reports import FILE
from saleroom.settlement.storage import payout_reports, payouts
from saleroom.settlement.storage.payout_reports import BankReport
from saleroom.settlement.storage.payouts import PaymentFile, Payout
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


def refuse(tx: Transaction, token: str) -> None:
    """Raise Unauthenticated or MissingRight unless somebody may import a report, before it is read."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)


def import_report(tx: Transaction, token: str, report: StatusReport) -> ImportedReportView:
    """Follow what a bank says of a payment file: what it rejects is owed again, what it accepts is with the bank.

    A status that came before does nothing again. One that contradicts the house changes nothing and waits for a person.
    Raises Unauthenticated, MissingRight, or Invalid for a report about a file that the house has not made.
    """
    authenticate(tx, token, Right.SETTLE)
    file = _file_of(tx, report)
    staff, rows = _locked(tx, token, payouts.of_files(tx, [file.id])[file.id], file.id)
    places = {one.end_to_end: n for n, one in enumerate(rows, 1)}
    by_name = verdicts(report, {one.end_to_end: one.amount for one in rows})
    said = [(one, by_name[one.end_to_end]) for one in rows if one.end_to_end in by_name]
    digests = {one.id: _digest(report, one, found) for one, found in said}
    seen = payout_reports.known(tx, [*digests.values()])
    new = [(one, found) for one, found in said if digests[one.id] not in seen]
    before = payout_reports.of_payouts(tx, [one.id for one, _ in new])
    outcomes = [(one, found, _follow(tx, staff, report, found, one, before[one.id])) for one, found in new]
    doubts = [
        _doubtful(places[one.end_to_end], one.end_to_end, found.said, next_)
        for one, found, next_ in outcomes
        if isinstance(next_, Doubt)
    ]
    others = [_doubtful(None, name, what, Doubt.UNKNOWN_TRANSFER) for name, what in strangers(report, places)]
    rejected = sum(next_ is PayoutState.FAILED for _, _, next_ in outcomes)
    number = file_number(file.year, file.place)
    if outcomes:
        facts: Facts = {"report": report.message, "rejected": rejected, "new": len(outcomes), "doubtful": len(doubts)}
        audit.note(tx, staff, Act.PAYOUT_REPORT_IMPORTED, number, {}, facts)
    return ImportedReportView(
        payment_file=file.gid,
        file_number=number,
        rejected_payouts=rejected,
        noted_payouts=len(outcomes) - rejected - len(doubts),
        known_payouts=len(said) - len(new),
        doubtful_payouts=[*doubts, *others],
    )


def _file_of(tx: Transaction, report: StatusReport) -> PaymentFile:
    """Return the file that a report is about. Raises Invalid."""
    about = report.file.known_by
    file = payouts.with_message(tx, about)
    if file is None:
        fault = Fault("unknown_file", f"is about {about}, which is no payment file of this house", about=about)
        raise Invalid({FILE: [fault]})
    return file


def _doubtful(number: int | None, end_to_end: str, said: BankAnswer, doubt: Doubt) -> DoubtfulPayoutView:
    return DoubtfulPayoutView(
        transfer_number=number, end_to_end_id=end_to_end, bank_status=said.status, doubt=doubt.value
    )


def _locked(tx: Transaction, token: str, rows: Sequence[Payout], file_id: int) -> tuple[Staff, list[Payout]]:
    """Lock the sales of a file in one order, so that two imports wait, not lock up; return its payouts as they are then."""
    for _, sale in sorted({(one.sale_id, one.sale) for one in rows}):
        lock_one(tx, sale)
    staff = authenticate(tx, token, Right.SETTLE)  # they may have lost it while others held the locks
    return staff, payouts.of_files(tx, [file_id])[file_id]


def _digest(report: StatusReport, one: Payout, found: Verdict) -> str:
    return digest_of_said(one.end_to_end, report.message, report.said_at, found.said)


def _follow(
    tx: Transaction, staff: Staff, report: StatusReport, found: Verdict, one: Payout, before: Sequence[BankReport]
) -> PayoutState | Doubt | None:
    """Do what follows from what a bank says of a payout whose sale is locked, and keep it; return what followed.

    `before` is what banks have said of the payout already.
    """
    overtaken = any(
        each.doubt is None and each.said.status == REJECTED and is_before(report.said_at, each.said_at)
        for each in before
    )
    next_ = follows(one.state, came_back=one.back_entry_id is not None, overtaken=overtaken, found=found)
    if isinstance(next_, PayoutState):
        code = f": {found.said.code}" if found.said.code else ""
        follow(tx, staff, one, next_, f"The bank has rejected it{code}." if next_ is PayoutState.FAILED else None)
    made = BankReport(
        payout_id=one.id,
        message=report.message,
        said_at=report.said_at,
        said=found.said,
        doubt=next_ if isinstance(next_, Doubt) else None,
        imported_at=tx.now(),
    )
    payout_reports.add(tx, made, one.end_to_end, staff.id)
    return next_


def look_into(
    tx: Transaction, token: str, gid: str, places: Sequence[int], reason: str, key: IdempotencyKey | None = None
) -> bytes:
    """Note that somebody has looked at the doubts about payouts of a file, by their places, and return its JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownPaymentFile, or PayoutNotInDoubt.
    """
    authenticate(tx, token, Right.SETTLE)
    file = known(tx, gid)
    staff, rows = _locked(tx, token, payouts.of_files(tx, [file.id])[file.id], file.id)

    def do() -> bytes:
        by_place = dict(enumerate(rows, 1))
        for place in sorted(set(places)):
            one = by_place.get(place)
            if one is None or not payout_reports.check(tx, one.id, staff.id):
                raise PayoutNotInDoubt
            facts = {"state": one.state.value, "amount": str(one.amount)}
            audit.note(tx, staff, Act.PAYOUT_LOOKED_INTO, one.end_to_end, {}, facts, reason)
        return _encode(view_of(tx, file))

    return once(tx, staff, key, do)
