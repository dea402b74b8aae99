"""Pages of documents: those of a sale, everybody's own, one with its paper, and the forms to issue and to credit."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.http.guard import FORMS_TO
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Invalid, Refusal
from saleroom.sales.domain.errors import UnknownConsignor, UnknownParticipant, UnknownSale
from saleroom.settlement.api.documents import CREDIT, ISSUE, OWN_DOCUMENTS, SALE_DOCUMENTS, as_pdf, as_xml, order_of
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.documents.document_views import DocumentView
from saleroom.settlement.domain.documents.retention import kept_until
from saleroom.settlement.domain.errors import UnknownDocument
from saleroom.settlement.service import issuing
from saleroom.settlement.service.documents import showing
from saleroom.settlement.service.online import online_showing
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.forms import Sent, once_of, page_gid, whole
from saleroom.settlement.web.words import DOCUMENTS, LACKS
from saleroom.site.site import Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

ROWS = 50
ADMIN, MINE = "/admin/documents", "/mine/documents"
_FIELDS = (
    "documentKind",
    "username",
    "consignor",
    "language",
    "name",
    "street",
    "postcode",
    "city",
    "country",
    "vatId",
    "dueOn",
)


class DocumentPages:
    """The pages of documents, and their forms."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    async def of_sale(self, request: Request) -> Response:
        """GET /admin/desk/{gid}/documents: the documents of a sale, and the form to issue one."""
        return await self._of_sale(request)

    @for_users
    async def issue(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/documents: issue an invoice or a statement, and go on to it."""
        sent, gid = await fields(request), page_gid(request, UnknownSale)
        try:
            said: dict[str, Any] = {name: sent[name].strip() for name in _FIELDS if sent.get(name, "").strip()}
            who = sent.get("buyer", "").strip().removeprefix("#")
            if who:
                paddle = whole(who)
                said |= {"username": who} if paddle is None else {"paddle": paddle}
            order = order_of(ISSUE.read(msgspec.json.encode(said)))
            once = once_of(sent, "/admin/desk/{gid}/documents", gid, said)
            write = self._services.tokens.write
            made = await write(issuing.issue, session_token(request) or "", gid, order, self._services.letterhead, once)
        except UnknownSale:
            raise
        except Declined as refused:
            return await self._of_sale(request, refused, sent)
        return go_to(f"{ADMIN}/{msgspec.json.decode(made)['document']}")

    async def one(self, request: Request) -> Response:
        """GET /admin/documents/{gid}: a document, what is paid of it, and the form to take lines of it back."""
        return await self._one(request)

    @for_users
    async def credit(self, request: Request) -> Response:
        """POST /admin/documents/{gid}/credit: issue the credit note for the lines that are ticked, and go on to it."""
        sent, gid = await fields(request), page_gid(request, UnknownDocument)
        try:
            ticked = [whole(name[5:]) for name in sent if name.startswith("line-")]
            places = [one for one in ticked if one is not None]
            if not places:
                raise Invalid.one("lines", "required", "is required")
            said = CREDIT.read(msgspec.json.encode({"lines": places, "reason": sent.get("reason", "")}))
            once = once_of(sent, "/admin/documents/{gid}/credit", gid, {"lines": places})
            write = self._services.tokens.write
            made = await write(issuing.credit, session_token(request) or "", gid, said["lines"], said["reason"], once)
        except UnknownDocument:
            raise
        except Declined as refused:
            return await self._one(request, refused, sent)
        return go_to(f"{ADMIN}/{msgspec.json.decode(made)['document']}")

    async def paper(self, request: Request) -> Response:
        """GET /admin/documents/{gid}/paper.pdf."""
        return await self._file(request, as_pdf, Right.SETTLE)

    async def xml(self, request: Request) -> Response:
        """GET /admin/documents/{gid}/invoice.xml."""
        return await self._file(request, as_xml, Right.SETTLE)

    @for_users
    async def mine(self, request: Request) -> Response:
        """GET /mine/documents: the reader's own documents, the latest first."""
        before = self._services.cursors.place_in(request.query_params, OWN_DOCUMENTS)
        viewer, (page, owed) = await self._site.read(request, showing.mine_with_credits, ROWS, before)
        next_page = self._services.cursors.next_page(OWN_DOCUMENTS, page.next)
        kinds = self._labels(request, DOCUMENTS)
        context = {"rows": page.rows, "next": next_page, "base": MINE, "kinds": kinds, "credits": owed}
        return self._site.page(request, "mine_documents.html", viewer, context)

    @for_users
    async def own(self, request: Request, refused: Refusal | None = None) -> Response:
        """GET /mine/documents/{gid}: one of the reader's own documents, with the button to pay it by card."""
        gid = page_gid(request, UnknownDocument)
        cards, currency = self._services.cards, self._services.letterhead.currency
        viewer, own = await self._site.read(request, showing.view_of_own, gid)
        context = {**self._shown(request, own.view, MINE), **self._said(request, refused, ()), "online": None}
        context["credits"] = own.credits
        if cards is not None and own.view.document_kind == DocumentKind.INVOICE:
            request.scope[FORMS_TO] = cards.origin
            _, context["online"] = await self._site.read(request, online_showing.of_own, gid, currency)
        context["card"] = request.query_params.get("card")
        return self._site.page(request, "mine_document.html", viewer, context, refused=refused, headers=_UNSEEN)

    async def own_paper(self, request: Request) -> Response:
        """GET /mine/documents/{gid}/paper.pdf."""
        return await self._file(request, as_pdf)

    async def own_xml(self, request: Request) -> Response:
        """GET /mine/documents/{gid}/invoice.xml."""
        return await self._file(request, as_xml)

    @for_users
    async def _file(
        self,
        request: Request,
        make: Callable[[SettlementServices, str, str], Awaitable[Response]],
        needed: Right | None = None,
    ) -> Response:
        gid = page_gid(request, UnknownDocument)
        if needed is not None:
            await self._site.read(request, _holds, needed)
        return await make(self._services, session_token(request) or "", gid)

    @for_users
    async def _of_sale(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        gid = page_gid(request, UnknownSale)
        before = self._services.cursors.place_in(request.query_params, SALE_DOCUMENTS)
        viewer, (sale, page) = await self._site.read(request, showing.of_sale, gid, ROWS, before)
        asked = {name: request.query_params[name] for name in ("buyer", "consignor") if name in request.query_params}
        language = self._site.language(request)
        context = {
            "gid": gid,
            "sale": sale,
            "rows": page.rows,
            "next": self._services.cursors.next_page(SALE_DOCUMENTS, page.next),
            "base": ADMIN,
            "kinds": self._labels(request, DOCUMENTS),
            "sent": {"language": "de" if language.catalogue == "de" else "en", **asked, **(sent or {})},
            **self._said(request, refused, _ISSUED),
        }
        return self._site.page(request, "sale_documents.html", viewer, context, refused=refused, headers=_UNSEEN)

    @for_users
    async def _one(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        gid = page_gid(request, UnknownDocument)
        viewer, found = await self._site.read(request, showing.view_for_staff, gid)
        context = {
            **self._shown(request, found.view, ADMIN),
            "sale_gid": found.sale,
            "credited": found.credited,
            "sent": sent or {},
            **self._said(request, refused, ("lines", "reason")),
        }
        return self._site.page(request, "admin_document.html", viewer, context, refused=refused, headers=_UNSEEN)

    def _shown(self, request: Request, found: DocumentView, base: str) -> dict[str, Any]:
        years = self._services.documents_years
        return {
            "found": found,
            "kept_until": kept_until(datetime.fromisoformat(found.issued_at), years).isoformat(),
            "base": base,
            "kinds": self._labels(request, DOCUMENTS),
            "lacks": self._labels(request, LACKS),
        }

    def _said(self, request: Request, refused: Refusal | None, marked: tuple[str, ...]) -> dict[str, Any]:
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, refused, _AT),
            "message": words.above(language, refused, marked, _AT),
            "key": secrets.token_urlsafe(24),
        }

    def _labels(self, request: Request, words: Any) -> dict[str, str]:
        language = self._site.language(request)
        return {str(one): language.gettext(said) for one, said in words.items()}


_UNSEEN = {"Cache-Control": "no-store"}
_AT: dict[type[Refusal], str] = {UnknownConsignor: "consignor", UnknownParticipant: "username"}
_ISSUED = ("paddle", "username", "consignor", "name", "street", "postcode", "city", "country", "vatId", "dueOn")
"""The fields of the forms to issue a document that say what is wrong with them."""


def _holds(tx: Transaction, token: str | None, needed: Right) -> None:
    authenticate(tx, token, needed)
