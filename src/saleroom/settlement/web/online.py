"""Payments by card online on pages: the button on one's own invoice, and all of them in the back office."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, MissingRight
from saleroom.settlement.api.online import PAYMENTS, cards_of
from saleroom.settlement.domain.errors import UnknownDocument
from saleroom.settlement.service.online import online_showing
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.documents import DocumentPages
from saleroom.settlement.web.forms import page_gid
from saleroom.settlement.web.words import DISPUTES, ONLINE_STATES, REFUND_STATES
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, for_users

CARDS = Section("/admin/cards", N_("Cards online"), Right.SETTLE)
ROWS = 50


class OnlinePages:
    """The pages of payments by card online. `documents` show the invoices that they are for."""

    def __init__(self, site: Site, services: SettlementServices, documents: DocumentPages) -> None:
        self._site = site
        self._services = services
        self._documents = documents

    @for_users
    async def pay(self, request: Request) -> Response:
        """POST /mine/documents/{gid}/card: go on to the provider's page, on which what is open of an invoice is paid."""
        gid = page_gid(request, UnknownDocument)
        try:
            token = session_token(request) or ""
            cards = await cards_of(self._services, token, Right.ACCOUNT)
            url = await cards.begin(token, gid)
        except (UnknownDocument, MissingRight):
            raise
        except Declined as refused:
            return await self._documents.own(request, refused)
        return RedirectResponse(url, 303)

    @for_users
    async def show(self, request: Request) -> Response:
        """GET /admin/cards: all payments by card online, with their refunds and disputes."""
        before = self._services.cursors.place_in(request.query_params, PAYMENTS)
        viewer, found = await self._site.read(request, online_showing.listed, ROWS, before)
        language = self._site.language(request)
        context = {
            "is_on": self._services.cards is not None,
            "payments": found.rows,
            "next": self._services.cursors.next_page(PAYMENTS, found.next),
            "states": {one.value: language.gettext(said) for one, said in ONLINE_STATES.items()},
            "refund_states": {one.value: language.gettext(said) for one, said in REFUND_STATES.items()},
            "disputes": {one.value: language.gettext(said) for one, said in DISPUTES.items()},
        }
        return self._site.page(request, "cards.html", viewer, context, headers=_UNSEEN)


_UNSEEN = {"Cache-Control": "no-store"}
