"""Forgotten passwords: the form that asks for a mail, and the page that its link leads to."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.accounts import PASSWORD_MIN, parse_password
from saleroom.accounts.domain.errors import InvalidLink
from saleroom.accounts.domain.mails import TYPED_MAX
from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.words import at_field
from saleroom.http.requests import client_address
from saleroom.kernel.errors import Fault, Invalid, Refusal
from saleroom.site.site import Site, fields

PATH = "/password/forgotten"


class RecoveryPages:
    """The pages of those who have forgotten their password."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def form(self, request: Request) -> Response:
        """GET /password/forgotten: the form, or whom to ask in a house that sends no mail."""
        return await self._page(request)

    async def ask(self, request: Request) -> Response:
        """POST /password/forgotten: keep the request. The answer is the same for every name and address."""
        account = (await fields(request)).get("account", "").strip()
        try:
            if not account:
                raise Invalid({"account": [Fault("required", "is required")]})
            await self._services.recovery.ask(account, self._site.language(request).tag, client_address(request))
        except Refusal as refused:
            return await self._page(request, account=account, refused=refused)
        return await self._page(request, done=True)

    async def link(self, request: Request) -> Response:
        """GET /password/new: the page that a link leads to. It changes nothing, as mail scanners follow links."""
        return await self._link_page(request)

    async def reset(self, request: Request) -> Response:
        """POST /password/new: set the new password by the code of the link."""
        sent = await fields(request)
        code = sent.get("code", "").strip()
        try:
            new = parse_password(sent.get("newPassword", ""))
            faults = {"newPassword": [new]} if isinstance(new, Fault) else {}
            if not code:
                faults = {"code": [Fault("required", "is required")], **faults}
            if isinstance(new, Fault) or faults:
                raise Invalid(faults)
            await self._services.recovery.reset(code, new, client_address(request))
        except Refusal as refused:
            return await self._link_page(request, code=code, refused=refused)
        return await self._link_page(request, done=True)

    async def _page(
        self, request: Request, *, account: str = "", done: bool = False, refused: Refusal | None = None
    ) -> Response:
        context = {
            "account": account,
            "most": TYPED_MAX,
            "done": done,
            "mail_on": self._services.sends_mail,
            **self._refusal(request, refused),
        }
        return self._site.page(
            request, "password_forgotten.html", await self._site.viewer(request), context, refused=refused
        )

    async def _link_page(
        self, request: Request, *, code: str = "", done: bool = False, refused: Refusal | None = None
    ) -> Response:
        context = {
            "code": code,
            "done": done,
            "password_min": PASSWORD_MIN,
            **self._refusal(request, refused),
        }
        return self._site.page(request, "password_new.html", await self._site.viewer(request), context, refused=refused)

    def _refusal(self, request: Request, refused: Refusal | None) -> dict[str, Any]:
        """Return the parts of a refusal that the forms show."""
        language, words = self._site.language(request), self._site.words
        shown = at_field(refused, {InvalidLink: "code"})
        return {
            "faults": words.field_faults(language, shown),
            "message": words.message(language, shown),
        }
