"""Bank statements: CAMT.053 (ISO 20022), in the versions that banks send."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from xml.etree import ElementTree as ET

from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.bank.banking import BankPayment, BankStatement, compact
from saleroom.settlement.domain.bank.payouts import Debit, is_end_to_end
from saleroom.settlement.service.bank.bank_xml import (
    MALFORMED,
    ZIP,
    ZIPPED,
    UnusableFile,
    is_report,
    money_in,
    one_line,
    root_of,
)

FILE = "statement"
BYTES_MAX = 4 * 1024 * 1024
PAYMENTS_MAX = 5_000
_NAMESPACE = re.compile(r"urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.(?:0[2-9]|1[0-3])")
_DAY = re.compile("(20[0-9]{2}-[0-9]{2}-[0-9]{2})(?:Z|[+-][0-9]{2}:[0-9]{2})?")
_MOMENT = re.compile("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.*")
"""Days and moments as XML Schema writes them, of this century: Python reads more, such as 2026-W47-5 and the year 1."""
_NAME_MAX = 140


_NO_XML = Fault("not_camt", "must be a bank statement as XML: CAMT.053, version 001.02 to 001.13")
_REPORT = Fault(
    "is_status_report", "is a payment status report (pain.002), which is imported as such, and no statement"
)
_TOO_LARGE = Fault("statement_size", f"must have at most {BYTES_MAX} bytes", most=BYTES_MAX)
_TOO_MANY = Fault("too_many_payments", f"must have at most {PAYMENTS_MAX} payments", most=PAYMENTS_MAX)


def _broken(number: int) -> Fault:
    message = (
        f"has an entry that cannot be read, number {number}: its amount, its currency or its day is missing or wrong"
    )
    return Fault("broken_entry", message, entry=number)


def read(data: bytes) -> BankStatement:
    """Return what a file of a bank says. Raises Invalid."""
    if len(data) > BYTES_MAX:
        raise Invalid({FILE: [_TOO_LARGE]})
    if data.startswith(ZIP):
        raise Invalid({FILE: [ZIPPED]})
    try:
        return _statement(*root_of(data))
    except UnusableFile as refused:
        raise Invalid({FILE: [refused.fault or _NO_XML]}) from None
    except MALFORMED:
        raise Invalid({FILE: [_NO_XML]}) from None


def _statement(root: ET.Element, space: str) -> BankStatement:
    if is_report(space):
        raise UnusableFile(_REPORT)
    if _NAMESPACE.fullmatch(space) is None:
        raise UnusableFile
    names = {"": space}
    payments, debits, others = list[BankPayment](), list[Debit](), 0
    for statement in root.iterfind("BkToCstmrStmt/Stmt", names):
        account = compact(statement.findtext("Acct/Id/IBAN", "", names))
        for number, entry in enumerate(statement.iterfind("Ntry", names), 1):
            try:
                found = list(_payments(entry, account, names))
                debits += _debits(entry, account, names)
            except (UnusableFile, ValueError):
                raise UnusableFile(_broken(number)) from None
            payments += found
            others += not found
            if len(payments) + len(debits) > PAYMENTS_MAX:
                raise UnusableFile(_TOO_MANY)
    return BankStatement(tuple(payments), others, tuple(debits))


def _debits(entry: ET.Element, account: str, names: dict[str, str]) -> Iterator[Debit]:
    """Yield what went out by an entry that is booked, each part of a batch that names its payment and its amount."""
    if not _counts(entry, "DBIT", names) or _takes_back(entry, names):
        return
    parts = entry.findall("NtryDtls/TxDtls", names)
    for part in parts:
        known_by = one_line(part.findtext("Refs/EndToEndId", "", names))
        amount = _amount(part, names) if len(parts) > 1 else money_in(entry.find("Amt", names))
        if is_end_to_end(known_by) and amount is not None:
            own = [entry.findtext("AcctSvcrRef", "", names)]
            own += [part.findtext(f"Refs/{name}", "", names) for name in ("AcctSvcrRef", "TxId")]
            yield Debit(
                account=account,
                on=_day(entry, names),
                amount=amount[0],
                currency=amount[1],
                end_to_end=known_by,
                reference=" ".join(found for one in own if (found := one_line(one)))[:_NAME_MAX],
            )


def _counts(entry: ET.Element, side: str, names: dict[str, str]) -> bool:
    """Return whether an entry is booked, on this side of the account."""
    booked = entry.findtext("Sts/Cd", "", names) or entry.findtext("Sts", "", names)
    return booked.strip() == "BOOK" and entry.findtext("CdtDbtInd", "", names).strip() == side


def _takes_back(entry: ET.Element, names: dict[str, str]) -> bool:
    """Return whether an entry takes another one back."""
    return entry.findtext("RvslInd", "false", names).strip() in ("true", "1")


def _payments(entry: ET.Element, account: str, names: dict[str, str]) -> Iterator[BankPayment]:
    """Yield the payments of an entry that came in and are booked; those of a batch one by one.

    Of an entry that takes a debit back these are the payouts of the house, which come back by it.
    """
    if not _counts(entry, "CRDT", names):
        return
    on = _day(entry, names)
    own = one_line(entry.findtext("AcctSvcrRef", "", names))
    parts = entry.findall("NtryDtls/TxDtls", names)
    whole = money_in(entry.find("Amt", names))
    if not whole[0]:
        return  # no money came in
    if len(parts) > 1 and not _add_up(parts, whole, names):
        parts = []  # a batch that does not say what came in by each part: a person looks at the whole of it
    for part in parts or [entry]:
        amount = (_amount(part, names) if len(parts) > 1 else None) or whole
        texts = [one.text for one in part.iterfind("RmtInf/Ustrd", names)]
        texts += [one.text for one in part.iterfind("RmtInf/Strd/CdtrRefInf/Ref", names)]
        texts += [part.findtext("Refs/EndToEndId", None, names)]
        said = tuple(found for one in texts if (found := one_line(one or "")) and found != "NOTPROVIDED")
        if _takes_back(entry, names) and not any(is_end_to_end(one) for one in said):
            continue
        references = [own, *(part.findtext(f"Refs/{name}", "", names) for name in ("AcctSvcrRef", "TxId", "InstrId"))]
        payer = part.findtext("RltdPties/Dbtr/Nm", "", names) or part.findtext("RltdPties/Dbtr/Pty/Nm", "", names)
        yield BankPayment(
            account=account,
            on=on,
            amount=amount[0],
            currency=amount[1],
            payer=one_line(payer)[:_NAME_MAX],
            texts=said,
            references=tuple(found for one in references if (found := one_line(one))),
        )


def _add_up(parts: list[ET.Element], whole: tuple[Decimal, str], names: dict[str, str]) -> bool:
    """Return whether money came in by each part of a batch, and all of it is the amount of the batch."""
    if any(part.findtext("CdtDbtInd", "CRDT", names).strip() != "CRDT" for part in parts):
        return False
    found = [_amount(part, names) or (ZERO, "") for part in parts]
    return all(amount and currency == whole[1] for amount, currency in found) and whole[0] == sum(
        (amount for amount, _ in found), ZERO
    )


def _amount(part: ET.Element, names: dict[str, str]) -> tuple[Decimal, str] | None:
    """Return the amount of a part of an entry: later versions have it in the part itself."""
    found = part.find("Amt", names)
    if found is None:
        found = part.find("AmtDtls/TxAmt/Amt", names)
    return None if found is None else money_in(found)


def _day(entry: ET.Element, names: dict[str, str]) -> date:
    for path in ("BookgDt/Dt", "BookgDt/DtTm", "ValDt/Dt", "ValDt/DtTm"):
        text = entry.findtext(path, "", names).strip()
        if text:
            return _read_day(text)
    raise UnusableFile


def _read_day(text: str) -> date:
    day = _DAY.fullmatch(text)
    if day is not None:
        return date.fromisoformat(day[1])
    if _MOMENT.fullmatch(text) is None:
        raise UnusableFile
    return datetime.fromisoformat(text).date()
