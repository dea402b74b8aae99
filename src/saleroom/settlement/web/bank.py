"""Money from the bank in the back office: a statement is sent, and doubtful payments are decided."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Refusal
from saleroom.settlement.api.bank import DECISION, PAGE, imported
from saleroom.settlement.domain.bank.bank_views import ImportedStatementView
from saleroom.settlement.domain.bank.banking import Assignment
from saleroom.settlement.domain.errors import UnknownBankPayment
from saleroom.settlement.service import desk
from saleroom.settlement.service.bank import banking, payout_booking
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.bank_words import doubts_in
from saleroom.settlement.web.forms import once_of, page_gid
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, fields, for_users, go_to

BANK = Section("/admin/bank", N_("Bank"), Right.SETTLE)
Sent = dict[str, str]


class BankPages:
    """The page of money from the bank, and its forms."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/bank: the form for a statement, and the payments that wait for a person."""
        return await self._page(request)

    @for_users
    async def send(self, request: Request) -> Response:
        """POST /admin/bank: import a statement, and show what that did."""
        try:
            found = await imported(self._services, request, session_token(request) or "")
        except Declined as refused:
            return await self._page(request, refused)
        return await self._page(request, done=found)

    @for_users
    async def decide(self, request: Request) -> Response:
        """POST /admin/bank/{gid}: take a payment for a buyer, or set it aside with a reason."""
        sent, gid = await fields(request), page_gid(request, UnknownBankPayment)
        found = {name: sent.get(name, "").strip() for name in ("sale", "buyer", "reason")}
        found["buyer"] = found["buyer"].removeprefix("#")
        said = {name: text for name, text in found.items() if text}
        try:
            values = DECISION.read(_encode(said))
            key = once_of(sent, "/admin/bank/{gid}", gid, said)
            write, token = self._services.tokens.write, session_token(request) or ""
            if "reason" in values:
                await write(banking.set_aside, token, gid, values["reason"], key)
            else:
                to = Assignment(values["sale"], values["buyer"])
                await write(banking.take, token, gid, to, self._services.letterhead, key)
        except UnknownBankPayment:
            raise
        except Declined as refused:
            return await self._page(request, refused, of=gid, sent=sent)
        return go_to(f"{BANK.path}?done=1")

    @for_users
    async def _page(
        self,
        request: Request,
        refused: Refusal | None = None,
        *,
        done: ImportedStatementView | None = None,
        of: str = "",
        sent: Sent | None = None,
    ) -> Response:
        viewer, found_sales = await self._site.read(request, desk.sales_to_settle)
        doubtful = await self._services.database.read(payout_booking.listed_in_doubt, session_token(request))
        waiting = partial(banking.listed, waiting=True, before=None, limit=PAGE)
        found = await self._services.database.read(waiting, session_token(request))
        language, words = self._site.language(request), self._site.words
        is_shown = any(one.bank_payment == of for one in found.rows)
        context: dict[str, Any] = {
            "payments": found.rows,
            "sales": found_sales,
            "more": found.next is not None,
            "imported": done,
            "doubtful": doubtful,
            "doubts": doubts_in(language),
            "done": refused is None and "done" in request.query_params,
            "of": of,
            "sent": sent or {},
            "faults": words.field_faults(language, refused),
            "message": words.above(language, refused, ("sale", "buyer", "reason") if is_shown else ("statement",)),
            "key": secrets.token_urlsafe(24),
        }
        return self._site.page(request, "bank.html", viewer, context, refused=refused, headers=_UNSEEN)


_UNSEEN = {"Cache-Control": "no-store"}
_encode = msgspec.json.Encoder().encode
