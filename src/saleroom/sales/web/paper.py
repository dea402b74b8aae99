"""Paper of a sale on pages: what staff can print of it, the files, and that labels were printed."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.http.forms import read_fields
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, MissingRight, Refusal
from saleroom.sales.api.paper import LANGUAGE, QUERY, ZONE, as_pdf, layout_field
from saleroom.sales.domain.errors import UnknownSale
from saleroom.sales.domain.paper import LABEL_FORMS, LAYOUTS, NEEDED, PaperKind
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import STAFF, get_one
from saleroom.sales.service.paper import labelling
from saleroom.sales.service.paper.labelling import LotLabel
from saleroom.sales.service.paper.papers import PaperOrder
from saleroom.sales.services import SaleServices
from saleroom.sales.web.catalogue import sale_gid
from saleroom.site.site import Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

PAPER = "/admin/sales/{gid}/paper"


class _Printable(Struct, frozen=True):
    """A sale whose paper somebody can print, the kinds that they may have, and the labels that have changed."""

    sale: Sale
    kinds: list[PaperKind]
    labels: list[LotLabel]


class PaperPages:
    """The page of what can be printed of one sale, and the files."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/sales/{gid}/paper: what can be printed."""
        return await self._page(request)

    @for_users
    async def file(self, request: Request) -> Response:
        """GET /admin/sales/{gid}/paper/{file}, or below the catalogue for everybody: a PDF in the language of the reader."""
        gid, name = sale_gid(request), request.path_params["file"].removesuffix(".pdf")
        if name not in list(PaperKind):
            raise UnknownSale
        kind, token = PaperKind(name), session_token(request)
        sent = {"language": "de" if self._site.language(request).catalogue == "de" else "en"}
        sent |= {one: text for one, text in request.query_params.items() if text}
        known = (LANGUAGE, ZONE, *layout_field(kind), *QUERY[kind])
        raw = {one: text.encode() if one == "skip" else msgspec.json.encode(text) for one, text in sent.items()}
        try:
            order = PaperOrder(kind=kind, **read_fields(known, raw, strict=True))
            return await as_pdf(self._services, token, gid, order, self._site.origin(request))
        except (MissingRight, UnknownSale):
            raise
        except Declined as refused:
            if not request.url.path.startswith("/admin/"):
                raise
            return await self._page(request, refused)

    @for_users
    async def printed(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/paper/printed: note the changed labels as printed, if they are still those of the page."""
        gid, token = sale_gid(request), session_token(request) or ""
        seen = (await fields(request)).get("seen", "")
        origin = self._site.origin(request)
        noted = await self._services.tokens.write(_note, token, gid, seen, origin)
        return go_to(f"/admin/sales/{gid}/paper?{'noted' if noted else 'changed'}=1#labels")

    @for_users
    async def _page(self, request: Request, refused: Refusal | None = None) -> Response:
        origin = self._site.origin(request)
        viewer, found = await self._site.read(request, _printable, sale_gid(request), origin)
        language = self._site.language(request)
        context = {
            "sale": found.sale,
            "kinds": found.kinds,
            "changed_labels": found.labels,
            "seen": _state(found.labels),
            "label_forms": list(LABEL_FORMS),
            "card_layouts": list(LAYOUTS[PaperKind.CARDS]),
            "buyers": PaperKind.RUN_SHEET in found.kinds,
            "noted": "noted" in request.query_params,
            "moved": "changed" in request.query_params,
            "faults": self._site.words.field_faults(language, refused),
            "message": self._site.words.message(language, refused),
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "sale_paper.html", viewer, context, refused=refused, headers=headers)


def _printable(tx: Transaction, token: str | None, gid: str, origin: str) -> _Printable:
    viewer = authenticate(tx, token, Right.READ)
    if viewer.needs_codes or STAFF.isdisjoint(viewer.rights):
        viewer.refuse_without(Right.RUN_SALE)
    kinds = [kind for kind in PaperKind if (needed := NEEDED[kind]) is None or needed in viewer.rights]
    sale = get_one(tx, gid, staff=True)
    labels = labelling.labels_of(tx, sale, (), origin, changed=True) if PaperKind.LABELS in kinds else []
    return _Printable(sale, kinds, labels)


def _note(tx: Transaction, token: str, gid: str, seen: str, origin: str) -> bool:
    found = labelling.listed(tx, token, gid, (), origin, changed=True)
    if not found or seen != _state(found):
        return False
    labelling.note_printed(tx, token, gid, {one.number: one.digest for one in found})
    return True


def _state(found: list[LotLabel]) -> str:
    """Return the digest of all these labels together."""
    return hashlib.sha256("\n".join(f"{one.number} {one.digest}" for one in found).encode()).hexdigest()
