"""Paper of a sale as PDF: catalogue, labels, bid cards, run sheet, clerk sheets, results; and which labels were printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from saleroom.bidding.domain.errors import PhotosUnavailable
from saleroom.http.endpoints import Access, Call, Endpoint, Handler
from saleroom.http.forms import Field, Form, boolean, checked, one_of
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Barred, Busy, Fault, MissingRight
from saleroom.kernel.instants import maybe_instant
from saleroom.sales.api.fields import LABEL_SCHEMA, SALE
from saleroom.sales.domain.errors import UnknownLot, UnknownSale
from saleroom.sales.domain.exporting import LANGUAGES
from saleroom.sales.domain.labels import LABEL_PATTERN
from saleroom.sales.domain.paper import DIGEST_PATTERN, LAYOUTS, NEEDED, SKIP_MAX, PaperKind
from saleroom.sales.domain.sale import LOTS_MAX
from saleroom.sales.domain.selections import SELECTION, TEXT_MAX, parse_lots, parse_paddles
from saleroom.sales.service.paper import labelling
from saleroom.sales.service.paper.labelling import LotLabel
from saleroom.sales.service.paper.papers import PaperOrder
from saleroom.sales.services import SaleServices
from saleroom.site.local_times import known_zone

PDF = "application/pdf"
ZONE_MAX = 64
_ZONE_PATTERN = r"^[A-Za-z0-9_+\-/]{1,64}$"
_LABEL, _DIGEST = re.compile(LABEL_PATTERN), re.compile(DIGEST_PATTERN)


class LotLabelView(Struct, frozen=True, rename="camel"):
    """The label of a lot: the number, the digest of what it shows, whether that has changed since it was last printed."""

    label: str
    digest: str
    is_changed: bool
    printed_at: str | None


class LotLabelsView(Struct, frozen=True, rename="camel"):
    """Labels of lots, in the order of calling."""

    lot_labels: list[LotLabelView]


class PrintedView(Struct, frozen=True):
    """How many labels were noted as printed."""

    printed: int


async def as_pdf(services: SaleServices, token: str | None, gid: str, order: PaperOrder, origin: str) -> Response:
    """Return paper as an answer. Raises as `Printer.make`."""
    made = await services.printer.make(token, gid, order, origin)
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'inline; filename="{order.kind}.pdf"'}
    return Response(made, media_type=PDF, headers=headers)


def _paper(kind: PaperKind) -> Handler[SaleServices]:
    async def handler(call: Call[SaleServices]) -> Response:
        order = PaperOrder(kind=kind, **call.query)
        return await as_pdf(call.services, call.viewer, call.identifier, order, call.services.origin)

    return handler


async def lot_labels(call: Call[SaleServices]) -> Response:
    """GET /sales/{gid}/paper/labels."""
    services, asked = call.services, call.query
    spans, changed = asked.get("lots", ()), asked.get("changed", False)
    found = await services.database.read(
        labelling.listed, call.token, call.identifier, spans, services.origin, changed=changed
    )
    return json_response(LotLabelsView([_view(one) for one in found]))


async def note_printed(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/paper/labels/printed."""
    noted = await call.services.tokens.write(
        labelling.note_printed, call.token, call.identifier, call.values["digests"]
    )
    return json_response(PrintedView(noted))


def _view(one: LotLabel) -> LotLabelView:
    return LotLabelView(one.number, one.digest, one.is_changed, maybe_instant(one.printed_at))


def _zone(text: str) -> str | Fault:
    if len(text) <= ZONE_MAX and known_zone(text) is not None:
        return text
    return Fault("zone", "must be the name of a time zone, such as Europe/Berlin")


def _digests(raw: bytes) -> dict[str, str] | Fault:
    try:
        sent = msgspec.json.decode(raw, type=dict[str, str])
    except msgspec.DecodeError:
        return Fault("digests", "must be an object of digests by the numbers of lots")
    if not 1 <= len(sent) <= LOTS_MAX:
        return Fault("digests_length", f"must have 1 to {LOTS_MAX} lots", limit=LOTS_MAX)
    if not all(_LABEL.fullmatch(label) and _DIGEST.fullmatch(digest) for label, digest in sent.items()):
        return Fault("digests", "must be an object of digests by the numbers of lots")
    return sent


def _choice(name: str, choices: tuple[str, ...], about: str) -> Field:
    schema = {"enum": list(choices), "default": choices[0]}
    return Field(name=name, to=name, parse=one_of(choices), schema=schema, about=about)


def _flag(name: str, about: str) -> Field:
    schema = {"type": "boolean", "default": False}
    return Field(name=name, to=name, parse=lambda raw: boolean(raw.strip(b'"')), schema=schema, about=about)


def _selection(name: str, parse: Callable[[str], Any], about: str) -> Field:
    schema = {"type": "string", "pattern": f"^{SELECTION}$", "maxLength": TEXT_MAX}
    return Field(name=name, to=name, parse=checked(parse), schema=schema, about=about)


def _skip(raw: bytes) -> int | Fault:
    text = raw.decode("ascii", "replace")
    if re.fullmatch("[0-9]{1,2}", text) and int(text) <= SKIP_MAX:
        return int(text)
    return Fault("skip", f"must be 0 to {SKIP_MAX}")


LOTS = _selection("lots", parse_lots, "Only these lots, by number, such as `1-3,5,12A`.")
CHANGED = _flag("changed", "Only labels that show something else than when they were last printed.")
LANGUAGE = _choice("language", LANGUAGES, "The language of words, amounts and dates.")
ZONE = Field(
    name="zone",
    to="zone",
    parse=checked(_zone),
    schema={"type": "string", "pattern": _ZONE_PATTERN, "default": "UTC"},
    about="The IANA time zone of times.",
)
SKIP = Field(
    name="skip",
    to="skip",
    parse=_skip,
    schema={"type": "integer", "minimum": 0, "maximum": SKIP_MAX, "default": 0},
    about="How many labels of the first sheet are gone.",
)
PADDLES = _selection("paddles", parse_paddles, "Only these paddles, such as `1-3,5`.")
BUYERS = _flag("buyers", "With the paddles of buyers, and with hidden lots; this needs the right `run_sale`.")
QUERY: dict[PaperKind, tuple[Field, ...]] = {
    PaperKind.CATALOGUE: (LOTS,),
    PaperKind.LABELS: (LOTS, CHANGED, SKIP),
    PaperKind.CARDS: (PADDLES,),
    PaperKind.RUN_SHEET: (LOTS,),
    PaperKind.CLERK_SHEET: (LOTS,),
    PaperKind.RESULTS: (LOTS, BUYERS),
}
"""What each kind takes beside the language, the time zone and the layout."""
_ABOUT = {
    PaperKind.CATALOGUE: "Lots that staff hide are left out. Of a draft only staff get it.",
    PaperKind.LABELS: "Withdrawn lots have none. It notes nothing: `POST /sales/{gid}/paper/labels/printed` does.",
    PaperKind.CARDS: "One for each paddle of somebody who may bid.",
    PaperKind.RUN_SHEET: "With reserves, consignors, and who leads by an absentee bid of up to how much.",
    PaperKind.CLERK_SHEET: "A line for each lot, to be filled in by hand.",
    PaperKind.RESULTS: "Lots that staff hide are left out, unless `buyers` is set.",
}
_NAMES = {
    PaperKind.CATALOGUE: ("paperCatalogue", "Print the catalogue of a sale"),
    PaperKind.LABELS: ("paperLabels", "Print labels for the lots of a sale"),
    PaperKind.CARDS: ("paperBidCards", "Print the bid cards of a sale"),
    PaperKind.RUN_SHEET: ("paperRunSheet", "Print the run sheet of a sale"),
    PaperKind.CLERK_SHEET: ("paperClerkSheet", "Print the clerk sheets of a sale"),
    PaperKind.RESULTS: ("paperResults", "Print the results of a sale"),
}


def layout_field(kind: PaperKind) -> tuple[Field, ...]:
    """Return the field for the layout, if the kind has several."""
    return (_choice("layout", LAYOUTS[kind], "The form of the paper."),) if kind in LAYOUTS else ()


def _endpoint(kind: PaperKind) -> Endpoint[SaleServices]:
    needed, (name, summary) = NEEDED[kind], _NAMES[kind]
    return Endpoint(
        method="GET",
        path=f"/sales/{{gid}}/paper/{kind}.pdf",
        name=name,
        summary=summary,
        handler=_paper(kind),
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN_OPTIONAL if needed is None else Access.TOKEN,
        query=(LANGUAGE, ZONE, *layout_field(kind), *QUERY[kind]),
        file=PDF,
        errors=(UnknownSale, Busy, PhotosUnavailable, *((MissingRight, Barred) if kind is PaperKind.RESULTS else ())),
        about=f"Needs the right `{needed}`. {_ABOUT[kind]}" if needed else _ABOUT[kind],
    )


_PRINTED = Form(
    name="PrintedLabels",
    example={"digests": {"12": "0123456789abcdef0123456789abcdef"}},
    fields=(
        Field(
            name="digests",
            to="digests",
            parse=_digests,
            schema={
                "type": "object",
                "propertyNames": {"pattern": LABEL_SCHEMA["pattern"]},
                "additionalProperties": {"type": "string", "pattern": f"^{DIGEST_PATTERN}$"},
                "minProperties": 1,
                "maxProperties": LOTS_MAX,
            },
            required=True,
            about="What the printed labels showed: their digests from `GET /sales/{gid}/paper/labels`, by number.",
        ),
    ),
)
ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    *map(_endpoint, PaperKind),
    Endpoint(
        method="GET",
        path="/sales/{gid}/paper/labels",
        name="lotLabels",
        summary="List the labels of the lots of a sale, and which have changed since they were printed",
        handler=lot_labels,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        query=(LOTS, CHANGED),
        answer=LotLabelsView,
        errors=(UnknownSale,),
        about="Needs the right `catalogue`.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/paper/labels/printed",
        name="notePrintedLabels",
        summary="Note that labels of lots were printed",
        handler=note_printed,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=_PRINTED,
        answer=PrintedView,
        errors=(UnknownSale, UnknownLot),
        about="Needs the right `catalogue`. A label whose lot has changed in between counts as changed afterwards.",
    ),
)
