"""Files of banks, read in a confined process: one of 4 MB can take seconds and hundreds of megabytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Raw, Struct

from saleroom.confined.confinement import Confinement, Crash, TooCostly, Work, one_by_one, whole
from saleroom.kernel.errors import Fault, Invalid
from saleroom.settlement.domain.bank.banking import BankPayment, BankStatement
from saleroom.settlement.domain.bank.payouts import Debit
from saleroom.settlement.domain.bank.status_reports import StatusReport
from saleroom.settlement.service.bank import camt, status_reports

STATEMENT = Work(function=f"{camt.__name__}:read", cpu_seconds=30, memory_bytes=512 * 2**20, seconds=120.0)
REPORT = Work(function=f"{status_reports.__name__}:read", cpu_seconds=30, memory_bytes=512 * 2**20, seconds=120.0)
T = TypeVar("T")


class _ReceivedStatement(Struct, frozen=True):
    """A statement as it comes from the process that reads it."""

    payments: list[Raw]
    others: int
    debits: list[Raw]


_STATEMENT, _PAYMENTS, _DEBITS = whole(_ReceivedStatement), one_by_one(BankPayment), one_by_one(Debit)
_REPORT = whole(StatusReport)


async def read_statement(confinement: Confinement, data: bytes) -> BankStatement:
    """Return what a bank statement says. Raises as `camt.read`, or Busy if the house closes."""
    return await _read(confinement, STATEMENT, data, camt.FILE, _received)


async def read_report(confinement: Confinement, data: bytes) -> StatusReport:
    """Return what a payment status report says. Raises as `status_reports.read`, or Busy if the house closes."""
    return await _read(confinement, REPORT, data, status_reports.FILE, _REPORT)


def _received(made: bytes) -> BankStatement:
    sent = _STATEMENT(made)
    return BankStatement(tuple(_PAYMENTS(sent.payments)), sent.others, tuple(_DEBITS(sent.debits)))


async def _read(confinement: Confinement, work: Work, data: bytes, field: str, read: Callable[[bytes], T]) -> T:
    try:
        return await confinement.do(work, data, read)
    except TooCostly:
        message = (
            f"takes more than {work.cpu_seconds} s or {work.memory_bytes // 2**20} MB to read; "
            "ask your bank for a file of fewer days"
        )
        raise Invalid({field: [Fault("bank_file_too_costly", message)]}) from None
    except Crash:
        raise Invalid.one(field, "bank_file_damaged", "is damaged; ask your bank for the XML file again") from None
