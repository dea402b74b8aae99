"""The reader's contact: the form, which says who sees it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.contacts import CONTACT_MAX, parse_contact
from saleroom.accounts.service import contacts
from saleroom.accounts.services import AccountServices
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Fault, Invalid, Refusal
from saleroom.site.site import Site, fields, for_users, local
from saleroom.storage.database import Transaction


class ContactPages:
    """The page of the reader's contact."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def form(self, request: Request) -> Response:
        """GET /mine/contact?next=/path: the form, which leads on to the next page."""
        return await self._page(request, request.query_params.get("next"))

    @for_users
    async def save(self, request: Request) -> Response:
        """POST /mine/contact: keep the contact, or take it away."""
        sent = await fields(request)
        contact = parse_contact(sent.get("contact", ""))
        if isinstance(contact, Fault):
            refused = Invalid({"contact": [contact]})
            return await self._page(request, sent.get("next"), sent=sent.get("contact", ""), refused=refused)
        await self._services.tokens.write(contacts.change, session_token(request) or "", contact)
        return await self._page(request, sent.get("next"), saved=True)

    async def _page(
        self,
        request: Request,
        then: str | None,
        *,
        sent: str | None = None,
        saved: bool = False,
        refused: Refusal | None = None,
    ) -> Response:
        viewer, kept = await self._site.read(request, _own)
        if viewer is None:
            return self._site.to_log_in(request)
        context = {
            "contact": kept if sent is None else sent,
            "fault": self._site.words.field_faults(self._site.language(request), refused).get("contact"),
            "most": CONTACT_MAX,
            "next": local(then, ""),
            "saved": saved,
        }
        return self._site.page(request, "contact.html", viewer, context, refused=refused)


def _own(tx: Transaction, token: str | None) -> str:
    return "" if token is None else contacts.own(tx, token)
