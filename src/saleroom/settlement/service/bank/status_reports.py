"""Payment status reports: pain.002 (ISO 20022), in the versions that banks send."""

from __future__ import annotations

import re
from datetime import datetime
from xml.etree import ElementTree as ET

from saleroom.kernel.errors import Fault, Invalid
from saleroom.settlement.domain.bank.status_reports import (
    TEXT_MAX,
    BankAnswer,
    Block,
    Part,
    StatusReport,
    Whole,
    says_nothing,
)
from saleroom.settlement.service.bank.bank_xml import (
    MALFORMED,
    ZIP,
    ZIPPED,
    UnusableFile,
    amount_of,
    is_statement,
    money_in,
    one_line,
    root_of,
    text_at,
)

FILE = "report"
BYTES_MAX = 4 * 1024 * 1024
PARTS_MAX = 5_000
_NAMESPACE = re.compile(
    r"urn:iso:std:iso:20022:tech:xsd:pain\.002\.(?:001\.(?:0[3-9]|1[0-4])|00[23]\.03)"
    r"|http://www\.six-interbank-clearing\.com/de/pain\.002\.001\.03\.ch\.02\.xsd"
)
"""The versions of ISO 20022, and those of the German and Swiss banks of version 03."""
_MOMENT = re.compile("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.*")
_STATUS = re.compile("[A-Z]{4}")
_CODE = re.compile("[A-Za-z0-9]{1,35}")
_COUNT = re.compile("[0-9]{1,15}")
_ID_MAX = 35

_NO_REPORT = Fault("not_pain002", "must be a payment status report as XML: pain.002, version 001.03 to 001.14")
_STATEMENT = Fault("is_statement", "is a bank statement (CAMT), which is imported as such, and no status report")
_INITIATION = Fault("is_payment_file", "is a payment file (pain.001), and not what the bank says about it")
_TOO_LARGE = Fault("report_size", f"must have at most {BYTES_MAX} bytes", most=BYTES_MAX)
_TOO_MANY = Fault("too_many_transfers", f"must have at most {PARTS_MAX} transfers", most=PARTS_MAX)
_SAYS_NOTHING = Fault("no_status", "must have a status of the file, of a block or of a transfer")


def read(data: bytes) -> StatusReport:
    """Return what a payment status report says. Raises Invalid."""
    if len(data) > BYTES_MAX:
        raise Invalid({FILE: [_TOO_LARGE]})
    if data.startswith(ZIP):
        raise Invalid({FILE: [ZIPPED]})
    try:
        return _report(*root_of(data))
    except UnusableFile as refused:
        raise Invalid({FILE: [refused.fault or _NO_REPORT]}) from None
    except MALFORMED:
        raise Invalid({FILE: [_NO_REPORT]}) from None


def _report(root: ET.Element, space: str) -> StatusReport:
    if is_statement(space):
        raise UnusableFile(_STATEMENT)
    if ":pain.001." in space:
        raise UnusableFile(_INITIATION)
    if _NAMESPACE.fullmatch(space) is None:
        raise UnusableFile
    names = {"": space}
    found = root.find("CstmrPmtStsRpt", names)
    group = None if found is None else found.find("OrgnlGrpInfAndSts", names)
    if found is None or group is None:
        raise UnusableFile
    blocks = found.findall("OrgnlPmtInfAndSts", names)
    if sum(len(one.findall("TxInfAndSts", names)) for one in blocks) > PARTS_MAX:
        raise UnusableFile(_TOO_MANY)
    report = StatusReport(
        message=_id(found, "GrpHdr/MsgId", names),
        said_at=_moment(text_at(found, "GrpHdr/CreDtTm", names)),
        file=_whole(group, "OrgnlMsgId", "GrpSts", names),
        blocks=tuple(_block(one, names) for one in blocks),
    )
    if says_nothing(report):
        raise UnusableFile(_SAYS_NOTHING)
    return report


def _block(block: ET.Element, names: dict[str, str]) -> Block:
    parts = tuple(_part(one, names) for one in block.iterfind("TxInfAndSts", names))
    return Block(_whole(block, "OrgnlPmtInfId", "PmtInfSts", names), parts)


def _whole(found: ET.Element, known_by: str, status: str, names: dict[str, str]) -> Whole:
    count, total = text_at(found, "OrgnlNbOfTxs", names), text_at(found, "OrgnlCtrlSum", names)
    if count and _COUNT.fullmatch(count) is None:
        raise UnusableFile
    return Whole(
        known_by=_id(found, known_by, names),
        said=_said(found, status, names),
        count=int(count) if count else None,
        total=amount_of(total) if total else None,
    )


def _part(part: ET.Element, names: dict[str, str]) -> Part:
    amount = part.find("OrgnlTxRef/Amt/InstdAmt", names)
    said = None if amount is None else money_in(amount)
    return Part(
        known_by=(text_at(part, "OrgnlEndToEndId", names) or text_at(part, "OrgnlInstrId", names))[:_ID_MAX],
        said=_said(part, "TxSts", names),
        amount=None if said is None else said[0],
        currency="" if said is None else said[1],
    )


def _said(found: ET.Element, status: str, names: dict[str, str]) -> BankAnswer:
    """Return a status with the first of its reasons, and all that the bank writes about them."""
    of = text_at(found, status, names)
    if of and _STATUS.fullmatch(of) is None:
        raise UnusableFile
    codes, texts = list[str](), list[str]()
    for reason in found.iterfind("StsRsnInf", names):
        code = text_at(reason, "Rsn/Cd", names) or text_at(reason, "Rsn/Prtry", names)
        if code and not codes and _CODE.fullmatch(code):
            codes.append(code)
        elif code:
            texts.append(code)
        texts += [one.text or "" for one in reason.iterfind("AddtlInf", names)]
    text = " ".join(line for one in texts if (line := one_line(one)))
    return BankAnswer(of, codes[0] if codes else "", text[:TEXT_MAX])


def _id(found: ET.Element, path: str, names: dict[str, str]) -> str:
    text = text_at(found, path, names)
    if not 1 <= len(text) <= _ID_MAX:
        raise UnusableFile
    return text


def _moment(text: str) -> str:
    if _MOMENT.fullmatch(text) is None:
        raise UnusableFile
    datetime.fromisoformat(text)  # raises ValueError for the 30th of February
    return text
