"""Documents: issue one, credit one, list those of a sale, show one and print it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from saleroom.accounts.domain.accounts import USERNAME_PATTERN, parse_username
from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, PathIdentifier
from saleroom.http.forms import Field, Form, checked, one_of
from saleroom.http.paging import paging
from saleroom.http.responses import json_response, page_response
from saleroom.kernel.errors import Busy, Fault
from saleroom.kernel.identifiers import GID
from saleroom.sales.api.fields import CODE_FIELD, SALE, paddle_field, reason, words_field
from saleroom.sales.domain.errors import UnknownConsignor, UnknownPaddle, UnknownParticipant, UnknownSale
from saleroom.sales.domain.exporting import LANGUAGES
from saleroom.settlement.domain.documents.content import CREDITABLE, LINES_MAX, DocumentKind, Party
from saleroom.settlement.domain.documents.document_views import DocumentRowView, DocumentView
from saleroom.settlement.domain.documents.parties import (
    COUNTRY_PATTERN,
    TEXT_MAX,
    VAT_ID_PATTERN,
    parse_country,
    parse_vat_id,
)
from saleroom.settlement.domain.errors import (
    CreditedAlready,
    LotChanged,
    LotOnDocument,
    NoElectronicForm,
    NothingToIssue,
    NotOfHouse,
    NotToCredit,
    UnknownDocument,
)
from saleroom.settlement.domain.reminders.reminding import DUE_DAYS_MAX
from saleroom.settlement.service import issuing
from saleroom.settlement.service.documents import showing
from saleroom.settlement.service.issuing import Order
from saleroom.settlement.services import SettlementServices
from saleroom.storage.schema import NUMBER_MAX

PDF, XML = "application/pdf", "application/xml"
DOCUMENTS = CursorKind("documents of a sale", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])
SALE_DOCUMENTS = CursorKind("latest documents of a sale", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])
OWN_DOCUMENTS = CursorKind("documents of a user", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])
DOCUMENT = PathIdentifier(
    name="gid",
    pattern=GID,
    unknown=UnknownDocument,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The document.",
)
_NOBODY = (UnknownSale, UnknownPaddle, UnknownParticipant, UnknownConsignor)
_RIGHT = "Needs the right `settle`."
_SEEN = "Those with the right `settle` see all, everybody else their own."


class DocumentPage(Struct, frozen=True):
    """A page of documents, the oldest first."""

    documents: list[DocumentView]
    next: str | None


class DocumentRowPage(Struct, frozen=True):
    """A page of a user's own documents, the latest first."""

    documents: list[DocumentRowView]
    next: str | None


def parse_day(text: str) -> date | Fault:
    """Return a day such as 2026-12-09."""
    try:
        return date.fromisoformat(text) if DAY.fullmatch(text) else Fault("day", _DAY)
    except ValueError:
        return Fault("day", _DAY)


DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY = "must be a day, such as 2026-12-09"


def _places(raw: bytes) -> tuple[int, ...] | Fault:
    try:
        sent = msgspec.json.decode(raw, type=tuple[int | float, ...])
    except msgspec.DecodeError:
        return Fault("lines", "must be a list of the places of lines, the first of which is 0")
    if len(sent) > LINES_MAX or not all(0 <= place < LINES_MAX and place == int(place) for place in sent):
        return Fault("lines", f"must be at most {LINES_MAX} places of lines, the first of which is 0")
    return tuple(map(int, sent))  # 1.0 is a whole number too (JSON Schema, "integer")


def _code(name: str, to: str, parse: Callable[[str], str | Fault], pattern: str, about: str) -> Field:
    schema = {"type": "string", "pattern": f"^(?:{pattern})?$"}
    # An empty text is allowed, so another one says the form that is wanted.
    return Field(name=name, to=to, parse=checked(parse, form=parse("?")), schema=schema, about=about)


_KIND = Field(
    name="documentKind",
    to="kind",
    parse=one_of(tuple(sorted(CREDITABLE))),
    schema={"enum": sorted(CREDITABLE)},
    required=True,
    about="`invoice` for a buyer, `statement` for a consignor.",
)


ISSUE = Form(
    name="NewDocument",
    example={
        "documentKind": "invoice",
        "paddle": 12,
        "name": "Ada Lovelace",
        "street": "Lange Str. 1",
        "postcode": "50667",
        "city": "Köln",
        "country": "DE",
        "dueOn": "2026-12-09",
    },
    fields=(
        _KIND,
        paddle_field("The paddle of the buyer, for an invoice."),
        Field(
            name="username",
            to="username",
            parse=checked(parse_username),
            schema={"type": "string", "pattern": f"^{USERNAME_PATTERN}$"},
            about="The username of a buyer without a paddle, for an invoice.",
        ),
        Field(
            name="consignor",
            to="consignor",
            parse=CODE_FIELD.parse,
            schema=CODE_FIELD.schema,
            about="The code of the consignor, for a statement.",
        ),
        Field(
            name="language",
            to="language",
            parse=one_of(LANGUAGES),
            schema={"enum": list(LANGUAGES), "default": LANGUAGES[0]},
            about="The language of the document.",
        ),
        words_field("name", "name", TEXT_MAX, "Their name; without one that which the house knows them by."),
        words_field("street", "street", TEXT_MAX, "Street and number."),
        words_field("postcode", "postcode", TEXT_MAX, "The postcode."),
        words_field("city", "city", TEXT_MAX, "The city."),
        _code(
            "country",
            "country",
            parse_country,
            COUNTRY_PATTERN,
            "The country by its two letters.",
        ),
        _code(
            "vatId",
            "vat_id",
            parse_vat_id,
            VAT_ID_PATTERN,
            "Their VAT number, with the letters of its country.",
        ),
        Field(
            name="dueOn",
            to="due_on",
            parse=checked(parse_day),
            schema={"type": "string", "format": "date"},
            about=f"By when it is to be paid: today or later, at most {DUE_DAYS_MAX} days away.",
        ),
    ),
)
CREDIT = Form(
    name="NewCreditNote",
    example={"lines": [0, 1], "reason": "Lot 12 was damaged."},
    fields=(
        Field(
            name="lines",
            to="lines",
            parse=_places,
            schema={
                "type": "array",
                "items": {"type": "integer", "minimum": 0, "maximum": LINES_MAX - 1},
                "maxItems": LINES_MAX,
            },
            about="The places of the lines to take back, the first of which is 0; without any all that are left.",
        ),
        reason("Why; the audit log notes it."),
    ),
)
_PARTY = ("name", "street", "postcode", "city", "country", "vat_id")


async def issue(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/documents."""
    services, order = call.services, order_of(call.values)
    write = services.tokens.write
    return json_response(
        await write(issuing.issue, call.token, call.identifier, order, services.letterhead, call.key), 201
    )


def order_of(sent: Mapping[str, Any]) -> Order:
    """Return the order of a document by the form `ISSUE`."""
    return Order(
        kind=DocumentKind(sent["kind"]),
        language=sent.get("language", LANGUAGES[0]),
        party=Party(**{"name": "", **{name: sent[name] for name in _PARTY if name in sent}}),
        paddle=sent.get("paddle"),
        username=sent.get("username"),
        consignor=sent.get("consignor"),
        due_on=sent.get("due_on"),
    )


async def credit(call: Call[SettlementServices]) -> Response:
    """POST /documents/{gid}/credit."""
    sent, write = call.values, call.services.tokens.write
    places, why = sent.get("lines", ()), sent["reason"]
    return json_response(await write(issuing.credit, call.token, call.identifier, places, why, call.key), 201)


async def list_documents(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/documents."""
    page = await call.services.database.read(showing.listed, call.token, call.identifier, call.limit, call.place)
    cursor = call.services.cursors.next_page(DOCUMENTS, page.next)
    return page_response(call.scope, DocumentPage(page.rows, cursor), cursor)


async def list_mine(call: Call[SettlementServices]) -> Response:
    """GET /me/documents."""
    page = await call.services.database.read(showing.mine, call.token, call.limit, call.place)
    cursor = call.services.cursors.next_page(OWN_DOCUMENTS, page.next)
    return page_response(call.scope, DocumentRowPage(page.rows, cursor), cursor)


async def show(call: Call[SettlementServices]) -> Response:
    """GET /documents/{gid}."""
    return json_response(await call.services.database.read(showing.view, call.token, call.identifier))


async def print_one(call: Call[SettlementServices]) -> Response:
    """GET /documents/{gid}/paper.pdf."""
    return await as_pdf(call.services, call.token, call.identifier)


async def export_xml(call: Call[SettlementServices]) -> Response:
    """GET /documents/{gid}/invoice.xml."""
    return await as_xml(call.services, call.token, call.identifier)


async def as_pdf(services: SettlementServices, token: str, gid: str) -> Response:
    """Return a document on paper. Raises as `DocumentPrinter.make`."""
    number, made = await services.printer.make(token, gid)
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'inline; filename="{number}.pdf"'}
    return Response(made, media_type=PDF, headers=headers)


async def as_xml(services: SettlementServices, token: str, gid: str) -> Response:
    """Return the electronic form of a document as a download. Raises as `DocumentPrinter.make_xml`."""
    number, made = await services.printer.make_xml(token, gid)
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{number}.xml"'}
    return Response(made, media_type=XML, headers=headers)


_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        method="POST",
        path="/sales/{gid}/documents",
        name="issueDocument",
        summary="Issue an invoice or a statement",
        handler=issue,
        identifier=SALE,
        form=ISSUE,
        status=201,
        answer=DocumentView,
        once=True,
        errors=(
            UnknownSale,
            UnknownPaddle,
            UnknownParticipant,
            UnknownConsignor,
            NothingToIssue,
            LotOnDocument,
            IdempotencyMismatch,
        ),
        about=f"{_RIGHT} It has all lots of theirs that ended and are on none yet. The audit log notes it.",
    ),
    _one(
        method="GET",
        path="/sales/{gid}/documents",
        name="documents",
        summary="List the documents of a sale",
        handler=list_documents,
        identifier=SALE,
        query=paging(DOCUMENTS),
        answer=DocumentPage,
        errors=(UnknownSale,),
        about=_RIGHT,
    ),
    _one(
        method="GET",
        path="/documents/{gid}",
        name="document",
        summary="Show a document",
        handler=show,
        identifier=DOCUMENT,
        answer=DocumentView,
        errors=(UnknownDocument,),
        about=_SEEN,
    ),
    _one(
        method="GET",
        path="/documents/{gid}/paper.pdf",
        name="documentPaper",
        summary="Print a document",
        handler=print_one,
        identifier=DOCUMENT,
        file=PDF,
        errors=(UnknownDocument, Busy),
        about=f"{_SEEN} PDF/A-3; an invoice has its electronic form (EN 16931, Factur-X) inside if it `lacks` nothing.",
    ),
    _one(
        method="GET",
        path="/documents/{gid}/invoice.xml",
        name="documentXml",
        summary="Show the electronic form of a document",
        handler=export_xml,
        identifier=DOCUMENT,
        file=XML,
        errors=(UnknownDocument, NoElectronicForm, Busy),
        about=f"{_SEEN} It is CII by EN 16931; a document that `lacks` something has none.",
    ),
    _one(
        method="GET",
        path="/me/documents",
        name="myDocuments",
        summary="List the user's own documents",
        handler=list_mine,
        query=paging(OWN_DOCUMENTS),
        answer=DocumentRowPage,
        about="The latest first: invoices, statements, credit notes and receipts.",
    ),
    _one(
        method="POST",
        path="/documents/{gid}/credit",
        name="creditDocument",
        summary="Take lines of a document back by a credit note",
        handler=credit,
        identifier=DOCUMENT,
        form=CREDIT,
        status=201,
        answer=DocumentView,
        once=True,
        errors=(UnknownDocument, NotToCredit, CreditedAlready, NotOfHouse, LotChanged, IdempotencyMismatch),
        about=f"{_RIGHT} A lot whose lines are all taken back can be on a document again, and stays owed. Charges of a lot "
        "that stays on the document are given up: they are no longer owed. The audit log notes it.",
    ),
)
