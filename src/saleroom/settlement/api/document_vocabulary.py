"""The words of the API's document that are about documents."""

from __future__ import annotations

from saleroom.http.schemas import GID_PATTERN, INSTANT, Schema
from saleroom.settlement.domain.documents.content import Category, DocumentKind

_SIGNED: Schema = {"type": "string", "pattern": r"^-?(?:0|[1-9][0-9]{0,16})\.[0-9]{3}$", "examples": ["142.800"]}
_DAY: Schema = {"type": "string", "format": "date"}

MEMBERS: dict[str, tuple[Schema, str]] = {
    "account": ({}, "The paddle of the buyer, or the code of the consignor."),
    "amountDue": (_SIGNED, "What remains to be paid by it: the total without what was paid."),
    "city": ({}, "Their city."),
    "creditsLine": (
        {"minimum": 0},
        "The place of the line that this one takes back in its document; otherwise null.",
    ),
    "creditsNumber": ({}, "The number of the document that a credit note takes lines back of; otherwise null."),
    "document": ({"pattern": GID_PATTERN}, "The document."),
    "documentDigest": ({"pattern": "^[0-9a-f]{64}$"}, "The digest of its series up to it (SHA-256)."),
    "documentKind": ({"enum": list(DocumentKind)}, "What it is."),
    "documentLanguage": ({}, "The language that it was issued in."),
    "documentLines": ({}, "Its lines; their sum is the total."),
    "documentNumber": ({}, "Its number: without gaps in its kind and year."),
    "documents": ({}, "The documents, the oldest first."),
    "dueOn": (_DAY, "By when it is to be paid; null if nobody has said."),
    "issuedAt": (INSTANT, "When it was issued."),
    "issuedOn": (_DAY, "The day (in UTC) on which it was issued."),
    "lacks": ({}, "What an electronic invoice would need and this document does not say; empty if it has one."),
    "lineText": ({}, "What the line is for."),
    "lineTotal": (_SIGNED, "The amount of the line with its tax."),
    "lotGid": ({"pattern": GID_PATTERN}, "The lot that the line is about; null without one."),
    "lotLabel": ({}, "The number of that lot in the catalogue."),
    "net": (_SIGNED, "Without the tax on top."),
    "paid": (_SIGNED, "What was paid before it was issued, or what a receipt is for."),
    "paidBy": ({}, "How it was paid."),
    "paidOn": (_DAY, "When it was paid."),
    "party": ({}, "Whom it is for."),
    "partyCountry": ({}, "Their country by its two letters; empty if nobody has said."),
    "partyName": ({}, "Their name."),
    "paymentAmount": (_SIGNED, "What was paid; negative if the house paid."),
    "paymentReceipt": (
        {"pattern": GID_PATTERN},
        "The document that is the receipt of what was just paid or paid out; null if nothing was.",
    ),
    "payments": ({}, "What was paid before it was issued."),
    "postcode": ({}, "Their postcode."),
    "saleTitle": ({}, "The title of the sale, when it was issued."),
    "settled": (_SIGNED, "What is paid of it by now, by the journal; null but for an invoice and a statement."),
    "stillOpen": (
        _SIGNED,
        "Open of it by now, nothing if it does not fit; negative if the house owes it. Null as `settled`.",
    ),
    "street": ({}, "Their street and number."),
    "tax": (_SIGNED, "The tax on top of all lines."),
    "taxCategory": ({"enum": list(Category)}, "The category of the tax (UNTDID 5305), as electronic invoices name it."),
    "taxTotals": ({}, "The lines of each tax category and percentage together."),
    "total": (
        _SIGNED,
        "The sum of the lines with their tax; of a receipt, which has none, what was paid: negative if the house paid.",
    ),
    "vatId": ({}, "Their VAT number; empty if nobody has said."),
}
