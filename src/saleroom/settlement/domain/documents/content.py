"""Documents: what an invoice, a statement, a credit note and a receipt say, which never changes once it has a number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256

import msgspec
from msgspec import Struct, structs

from saleroom.kernel.currency import decimals
from saleroom.kernel.errors import Contradiction, Fault
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.errors import CreditedAlready, NotToCredit
from saleroom.settlement.domain.rates.scales import part, rounded
from saleroom.settlement.domain.reminders.reminding import Calendar

LINES_MAX = 5_000


class DocumentKind(StrEnum):
    """The kinds of documents; each has a series of numbers of its own for each year."""

    INVOICE = "invoice"
    STATEMENT = "statement"
    CREDIT_NOTE = "credit_note"
    RECEIPT = "receipt"


PREFIXES: Mapping[DocumentKind, str] = {
    DocumentKind.INVOICE: "INV",
    DocumentKind.STATEMENT: "STM",
    DocumentKind.CREDIT_NOTE: "CRN",
    DocumentKind.RECEIPT: "RCP",
}
CREDITABLE = frozenset({DocumentKind.INVOICE, DocumentKind.STATEMENT})
FIRST = ""
"""What stands before the first document of a series, instead of a digest."""


class Category(StrEnum):
    """How lines are taxed, as electronic invoices say it (UNTDID 5305)."""

    STANDARD = "S"
    ZERO = "Z"
    EXEMPT = "E"
    REVERSE_CHARGE = "AE"
    OUTSIDE = "O"


class Party(Struct, frozen=True, kw_only=True):
    """The house, a buyer or a consignor. `country` is the ISO 3166 code; what nobody knows is empty."""

    name: str
    street: str = ""
    postcode: str = ""
    city: str = ""
    country: str = ""
    vat_id: str = ""
    tax_number: str = ""


class Bank(Struct, frozen=True, kw_only=True):
    """The account that a document asks to pay to."""

    iban: str
    bic: str = ""


class Letterhead(Struct, frozen=True, kw_only=True):
    """What all documents of the house say of it. `bank` is None without transfers; `calendar` says when they are due."""

    house: Party
    bank: Bank | None
    currency: str
    calendar: Calendar = Calendar()

    @property
    def places(self) -> int:
        """The decimals of the minor unit of the currency."""
        return decimals(self.currency)


class Line(Struct, frozen=True, kw_only=True):
    """One line, with the tax that comes on top, rounded once. A consignor pays what is negative.

    `lot` is the gid of the lot that it is about and `label` its number. `words` is what the law wants to be said of it.
    `credits` is the place of the line that it credits in the credited document.
    """

    text: str
    net: Decimal
    scheme: TaxScheme
    rate: Decimal = ZERO
    tax: Decimal = ZERO
    lot: str = ""
    label: str = ""
    words: str = ""
    credits: int | None = None

    @property
    def total(self) -> Decimal:
        """The amount with its tax."""
        return self.net + self.tax

    @property
    def category(self) -> Category:
        """How it is taxed."""
        return Category.STANDARD if self.rate else _UNTAXED[self.scheme]


_UNTAXED: Mapping[TaxScheme, Category] = {
    TaxScheme.STANDARD: Category.ZERO,
    TaxScheme.MARGIN: Category.EXEMPT,
    TaxScheme.RESALE_RIGHT: Category.EXEMPT,
    TaxScheme.EXEMPT: Category.EXEMPT,
    TaxScheme.REVERSE_CHARGE: Category.REVERSE_CHARGE,
    TaxScheme.NONE: Category.OUTSIDE,
}


class TaxTotal(Struct, frozen=True):
    """The lines of one category and rate together, with the words of all of them."""

    category: Category
    rate: Decimal
    net: Decimal
    tax: Decimal
    words: tuple[str, ...] = ()


class Payment(Struct, frozen=True, kw_only=True):
    """What was paid before the document was issued; negative if the house paid."""

    on: date
    amount: Decimal
    method: str


class CreditedDocument(Struct, frozen=True, kw_only=True):
    """The document that a credit note takes back, all of it or some lines."""

    number: str
    issued_on: date


class Draft(Struct, frozen=True, kw_only=True):
    """What a document will say. `account` is the paddle or the code of the other party, `supplied_on` the day of the sale."""

    kind: DocumentKind
    language: str
    currency: str
    house: Party
    party: Party
    sale: str
    account: str = ""
    supplied_on: date | None = None
    due_on: date | None = None
    bank: Bank | None = None
    lines: tuple[Line, ...] = ()
    payments: tuple[Payment, ...] = ()
    credits: CreditedDocument | None = None

    @property
    def net(self) -> Decimal:
        """The sum of the lines without tax."""
        return sum((line.net for line in self.lines), ZERO)

    @property
    def tax(self) -> Decimal:
        """The tax of all lines."""
        return sum((line.tax for line in self.lines), ZERO)

    @property
    def total(self) -> Decimal:
        """The sum of the lines with tax; of a receipt, which has no lines, what was paid: negative if the house paid."""
        return self.paid if self.kind is DocumentKind.RECEIPT else self.net + self.tax

    @property
    def paid(self) -> Decimal:
        """What was paid before it was issued."""
        return sum((payment.amount for payment in self.payments), ZERO)

    @property
    def due(self) -> Decimal:
        """What remains to be paid by it."""
        return self.total - self.paid


class Document(Draft, frozen=True, kw_only=True):
    """A document that was issued: it has its number and day for ever."""

    number: str
    issued_on: date


def number_of(kind: DocumentKind, year: int, place: int) -> str:
    """Return the number of a document by its place in the series of its kind and year."""
    return f"{PREFIXES[kind]}-{year}-{place:05d}"


def issued(draft: Draft, number: str, on: date) -> Document:
    """Return a draft as the document that it becomes."""
    return Document(**structs.asdict(draft) | {"number": number, "issued_on": on})


def tax_totals(lines: Iterable[Line]) -> tuple[TaxTotal, ...]:
    """Return the totals by category and rate, in the order of the lines."""
    groups: dict[tuple[Category, Decimal], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.category, line.rate), []).append(line)
    return tuple(
        TaxTotal(
            category,
            rate,
            sum((line.net for line in some), ZERO),
            sum((line.tax for line in some), ZERO),
            tuple(dict.fromkeys(line.words for line in some if line.words)),
        )
        for (category, rate), some in groups.items()
    )


def refuse_faulty(draft: Draft, places: int) -> None:
    """Raise Contradiction unless the draft can become a document, in a currency with so many decimals."""
    fault = _fault(draft, places)
    if fault is not None:
        raise Contradiction({"lines": [fault]})


def finer_fault(amounts: Iterable[Decimal], places: int) -> Fault | None:
    """Return the fault of amounts that a currency with so many decimals cannot pay."""
    if all(amount == rounded(amount, places) for amount in amounts):
        return None
    return Fault("minor_unit", f"must be amounts of at most {places} decimals in this currency")


def _fault(draft: Draft, places: int) -> Fault | None:
    is_receipt = draft.kind is DocumentKind.RECEIPT
    if is_receipt == bool(draft.lines) or (is_receipt and not draft.payments):
        return Fault("document_lines", "must have lines, or for a receipt only payments")
    if len(draft.lines) > LINES_MAX:
        return Fault("too_many_lines", f"must have at most {LINES_MAX} lines")
    amounts = [amount for line in draft.lines for amount in (line.net, line.tax)]
    amounts += [payment.amount for payment in draft.payments]
    finer = finer_fault(amounts, places)
    if finer is not None:
        return finer
    if any(line.tax != rounded(part(line.net, line.rate), places) for line in draft.lines):
        return Fault("line_tax", "must have the tax of each line by its rate, rounded half up")
    return None


def credit_note(document: Document, credited: Collection[int], places: Sequence[int]) -> Draft:
    """Return the draft that takes back lines of a document by their places, all that are left if none are named.

    `credited` are the places that credit notes of before have taken back. Raises NotToCredit or CreditedAlready.
    """
    left = [place for place in range(len(document.lines)) if place not in credited]
    chosen = sorted(set(places)) or left
    if document.kind not in CREDITABLE or any(not 0 <= place < len(document.lines) for place in chosen):
        raise NotToCredit
    if not left or not set(chosen) <= set(left):
        raise CreditedAlready
    fields = {name: getattr(document, name) for name in Draft.__struct_fields__}
    fields |= {
        "kind": DocumentKind.CREDIT_NOTE,
        "lines": tuple(structs.replace(document.lines[place], credits=place) for place in chosen),
        "payments": (),
        "due_on": None,
        "bank": None,
        "credits": CreditedDocument(number=document.number, issued_on=document.issued_on),
    }
    return Draft(**fields)


def encoded(document: Document) -> str:
    """Return the canonical form of a document: JSON with sorted members, which is kept and has its digest."""
    return msgspec.json.encode(document, order="sorted").decode()


def decoded(content: str) -> Document:
    """Return the document of its canonical form. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(content, type=Document)


def digest_of(content: str, facts: str, before: str) -> str:
    """Return the digest of a document in its series: of what it says, of the facts of its row, and of the digest before it."""
    return sha256(f"{before}\n{facts}\n{content}".encode("utf-8", "surrogatepass")).hexdigest()
