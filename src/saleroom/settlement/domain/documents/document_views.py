"""Documents as JSON has them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from msgspec import Struct

from saleroom.settlement.domain.documents.content import Document, Line, Party, Payment, tax_totals
from saleroom.settlement.domain.documents.einvoice import lacks
from saleroom.settlement.domain.documents.paying import Progress


class PartyView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The other party of a document."""

    party_name: str
    street: str
    postcode: str
    city: str
    party_country: str
    vat_id: str


class DocumentLineView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of a document. `lot_gid` is the gid of its lot, null without one."""

    lot_gid: str | None
    lot_label: str
    line_text: str
    net: str
    tax_percent: str
    line_tax: str
    line_total: str
    tax_scheme: str
    legal_words: str | None
    credits_line: int | None


class TaxTotalView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The lines of one tax category and rate together."""

    tax_category: str
    tax_percent: str
    net: str
    line_tax: str


class PaymentView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A payment from before the document was issued."""

    paid_on: str
    payment_amount: str
    paid_by: str


class DocumentView(Struct, frozen=True, kw_only=True, rename="camel"):
    """An issued document. `lacks` is what an electronic invoice would need and this one does not say."""

    document: str
    document_kind: str
    document_number: str
    issued_on: str
    issued_at: str
    document_digest: str
    document_language: str
    currency: str
    sale_title: str
    account: str
    party: PartyView
    due_on: str | None
    credits_number: str | None
    document_lines: list[DocumentLineView]
    tax_totals: list[TaxTotalView]
    payments: list[PaymentView]
    net: str
    tax: str
    total: str
    paid: str
    amount_due: str
    settled: str | None
    still_open: str | None
    lacks: list[str]


class DocumentRowView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A document in a list. `settled` and `still_open` are null but for an invoice and a statement."""

    document: str
    document_kind: str
    document_number: str
    issued_on: str
    sale_title: str
    party_name: str
    total: str
    settled: str | None
    still_open: str | None


def row_view(gid: str, document: Document, paid: Progress | None) -> DocumentRowView:
    """Return a document as lists have it."""
    return DocumentRowView(
        document=gid,
        document_kind=document.kind,
        document_number=document.number,
        issued_on=document.issued_on.isoformat(),
        sale_title=document.sale,
        party_name=document.party.name,
        total=_text(document.total),
        settled=None if paid is None else _text(paid.paid),
        still_open=None if paid is None else _text(paid.open),
    )


def document_view(
    gid: str, document: Document, issued_at: str, digest: str, places: int, paid: Progress | None
) -> DocumentView:
    """Return a document as JSON has it; `paid` is how far it is paid by now."""
    credited = document.credits
    return DocumentView(
        document=gid,
        document_kind=document.kind,
        document_number=document.number,
        issued_on=document.issued_on.isoformat(),
        issued_at=issued_at,
        document_digest=digest,
        document_language=document.language,
        currency=document.currency,
        sale_title=document.sale,
        account=document.account,
        party=_party(document.party),
        due_on=_day(document.due_on),
        credits_number=None if credited is None else credited.number,
        document_lines=[_line(line) for line in document.lines],
        tax_totals=[
            TaxTotalView(
                tax_category=one.category, tax_percent=_text(one.rate), net=_text(one.net), line_tax=_text(one.tax)
            )
            for one in tax_totals(document.lines)
        ],
        payments=[_payment(one) for one in document.payments],
        net=_text(document.net),
        tax=_text(document.tax),
        total=_text(document.total),
        paid=_text(document.paid),
        amount_due=_text(document.due),
        settled=None if paid is None else _text(paid.paid),
        still_open=None if paid is None else _text(paid.open),
        lacks=list(lacks(document, places)),
    )


def _party(party: Party) -> PartyView:
    return PartyView(
        party_name=party.name,
        street=party.street,
        postcode=party.postcode,
        city=party.city,
        party_country=party.country,
        vat_id=party.vat_id,
    )


def _line(line: Line) -> DocumentLineView:
    return DocumentLineView(
        lot_gid=line.lot or None,
        lot_label=line.label,
        line_text=line.text,
        net=_text(line.net),
        tax_percent=_text(line.rate),
        line_tax=_text(line.tax),
        line_total=_text(line.total),
        tax_scheme=line.scheme,
        legal_words=line.words or None,
        credits_line=line.credits,
    )


def _payment(payment: Payment) -> PaymentView:
    return PaymentView(paid_on=payment.on.isoformat(), payment_amount=_text(payment.amount), paid_by=payment.method)


def _day(on: date | None) -> str | None:
    return None if on is None else on.isoformat()


def _text(amount: Decimal) -> str:
    return f"{amount:.3f}"
