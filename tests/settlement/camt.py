"""Files of a bank for tests: CAMT.053 in versions 001.02 and 001.08, as banks write them."""

from __future__ import annotations

from xml.sax.saxutils import escape

IBAN = "DE75512108001245126199"


def credit(
    amount: str,
    text: str,
    *,
    payer: str = "Ada Lovelace",
    reference: str = "",
    version: str = "08",
    currency: str = "EUR",
    kind: str = "CRDT",
    status: str = "BOOK",
    extra: str = "",
) -> str:
    """Return an entry of one payment."""
    name = f"<Dbtr><Nm>{escape(payer)}</Nm></Dbtr>"
    if version == "08":
        name = f"<Dbtr><Pty><Nm>{escape(payer)}</Nm></Pty></Dbtr>"
    booked = f"<Sts><Cd>{status}</Cd></Sts>" if version == "08" else f"<Sts>{status}</Sts>"
    reference = f"<AcctSvcrRef>{reference}</AcctSvcrRef>" if reference else ""
    return f"""<Ntry><Amt Ccy="{currency}">{amount}</Amt><CdtDbtInd>{kind}</CdtDbtInd>{extra}{booked}
      <BookgDt><Dt>2026-11-20</Dt></BookgDt><ValDt><Dt>2026-11-20</Dt></ValDt>{reference}
      <NtryDtls><TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs><RltdPties>{name}</RltdPties>
      <RmtInf><Ustrd>{escape(text)}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"""


def debit(amount: str, known_by: str, *, version: str = "08", currency: str = "EUR", reference: str = "") -> str:
    """Return an entry of a transfer that went out, which names what it is known by."""
    entry = credit(amount, "payout", version=version, currency=currency, kind="DBIT", reference=reference)
    return entry.replace("NOTPROVIDED", known_by)


def returned(amount: str, known_by: str, *, extra: str = "") -> str:
    """Return an entry of a transfer that came back, which names what it is known by."""
    return credit(amount, f"Return {known_by}", extra=extra).replace("NOTPROVIDED", known_by)


REVERSAL = "<RvslInd>true</RvslInd>"
"""What marks an entry that takes another one back."""


def statement(*entries: str, version: str = "08", iban: str = IBAN) -> bytes:
    """Return a statement with entries."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version}"><BkToCstmrStmt>
  <GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-11-21T06:00:00+01:00</CreDtTm></GrpHdr>
  <Stmt><Id>S1</Id><CreDtTm>2026-11-21T06:00:00+01:00</CreDtTm><Acct><Id><IBAN>{iban}</IBAN></Id></Acct>
  {"".join(entries)}</Stmt></BkToCstmrStmt></Document>""".encode()
