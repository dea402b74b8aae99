"""Payment status reports for tests: pain.002 in versions 001.03 and 001.10, and of German and Swiss banks.

Written after what banks publish of theirs, each read on 2026-11-26:

- Goldman Sachs, samples of a success and a rejection: transfers with their amounts, and `NARR` with a text
  (developer.gs.com/docs/services/transaction-banking/pain002paymentstatusV3sample).
- SIX, Swiss Implementation Guidelines for Status Report, version 1.1 of 2017-05-29: a namespace of its own for version 03.
- The German banks, DFÜ-Abkommen, Anlage 3: pain.002.002.03 and pain.002.003.03, reports of rejections alone, at the level
  of the file, the block or the transfer; today as ZIP files (banking.vision/pain-002-korrekte-zur-pain-001-zugeordnet).
"""

from __future__ import annotations

from xml.sax.saxutils import escape

NAMESPACES = {
    **{f"001.{number:02d}": f"urn:iso:std:iso:20022:tech:xsd:pain.002.001.{number:02d}" for number in range(1, 16)},
    "002.03": "urn:iso:std:iso:20022:tech:xsd:pain.002.002.03",
    "003.03": "urn:iso:std:iso:20022:tech:xsd:pain.002.003.03",
    "ch": "http://www.six-interbank-clearing.com/de/pain.002.001.03.ch.02.xsd",
}


def reasons(code: str, *texts: str) -> str:
    """Return a reason with its code, and what the bank writes."""
    said = "".join(f"<AddtlInf>{escape(text)}</AddtlInf>" for text in texts)
    return f"<StsRsnInf><Rsn><Cd>{code}</Cd></Rsn>{said}</StsRsnInf>" if code else ""


def transfer(known_by: str, status: str = "RJCT", code: str = "", *texts: str, amount: str = "") -> str:
    """Return what is said of a transfer."""
    money = f'<OrgnlTxRef><Amt><InstdAmt Ccy="EUR">{amount}</InstdAmt></Amt></OrgnlTxRef>' if amount else ""
    said = f"<TxSts>{status}</TxSts>" if status else ""
    return (
        f"<TxInfAndSts><OrgnlEndToEndId>{known_by}</OrgnlEndToEndId>{said}{reasons(code, *texts)}{money}</TxInfAndSts>"
    )


def block(known_by: str, *transfers: str, status: str = "", code: str = "", sums: str = "") -> str:
    """Return what is said of a block, with what is said of its transfers."""
    said = f"<PmtInfSts>{status}</PmtInfSts>" if status else ""
    own = f"<OrgnlPmtInfId>{known_by}</OrgnlPmtInfId>{sums}{said}{reasons(code)}"
    return f"<OrgnlPmtInfAndSts>{own}{''.join(transfers)}</OrgnlPmtInfAndSts>"


def sums(count: int, total: str) -> str:
    """Return how many transfers a file or a block has, and their sum."""
    return f"<OrgnlNbOfTxs>{count}</OrgnlNbOfTxs><OrgnlCtrlSum>{total}</OrgnlCtrlSum>"


def report(
    original: str,
    *blocks: str,
    status: str = "",
    code: str = "",
    text: str = "",
    sums: str = "",
    message: str = "BANK-1",
    said_at: str = "2026-11-26T11:30:00+01:00",
    version: str = "001.10",
) -> bytes:
    """Return a report about a file."""
    said = f"<GrpSts>{status}</GrpSts>" if status else ""
    why = reasons(code, *([text] if text else []))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="{NAMESPACES[version]}"><CstmrPmtStsRpt>
  <GrpHdr><MsgId>{message}</MsgId><CreDtTm>{said_at}</CreDtTm></GrpHdr>
  <OrgnlGrpInfAndSts><OrgnlMsgId>{original}</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>{sums}{said}{why}
  </OrgnlGrpInfAndSts>{"".join(blocks)}
</CstmrPmtStsRpt></Document>""".encode()
