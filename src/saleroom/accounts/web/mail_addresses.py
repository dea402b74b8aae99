"""The reader's mail address: the form, and the page that a link by mail leads to."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import InvalidLink, WrongPassword
from saleroom.accounts.service import addresses
from saleroom.accounts.service.addresses import MailState, VerifiedAddress
from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.words import at_field
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, Refusal
from saleroom.kernel.instants import maybe_instant
from saleroom.kernel.mail import ADDRESS_MAX, parse_mail_address
from saleroom.site.site import Site, fields, for_users
from saleroom.storage.database import Transaction

PATH = "/mine/mail-address"


class MailAddressPages:
    """The pages of the reader's mail address."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def form(self, request: Request) -> Response:
        """GET /mine/mail-address: the address, and the form to change it."""
        return await self._page(request)

    @for_users
    async def save(self, request: Request) -> Response:
        """POST /mine/mail-address: send a link to another address, or take the address away."""
        sent = await fields(request)
        removes = sent.get("do") == "remove"
        try:
            address, password = _read(sent, removes=removes)
            language = self._site.language(request).tag
            changed = await self._services.change_address(
                session_token(request) or "", password, address, language, client_address(request)
            )
        except Declined as refused:
            return await self._page(request, sent=sent, refused=refused, removes=removes)
        if removes:
            return await self._page(request, done="removed")
        return await self._page(request, done="sent" if changed.unverified else "kept")

    async def link(self, request: Request) -> Response:
        """GET /address/confirm: the page that a link leads to. It changes nothing, as mail scanners follow links."""
        return await self._link_page(request)

    async def confirm(self, request: Request) -> Response:
        """POST /address/confirm: verify the address by the code of the link."""
        code = (await fields(request)).get("code", "").strip()
        language = self._site.language(request).tag
        try:
            if not code:
                raise Invalid.one("code", "required", "is required")
            found = await self._services.database.write(addresses.verify, code, language, self._services.sign)
        except Refusal as refused:
            return await self._link_page(request, code=code, refused=refused)
        return await self._link_page(request, found=found)

    async def _page(
        self,
        request: Request,
        *,
        sent: dict[str, str] | None = None,
        done: str = "",
        refused: Refusal | None = None,
        removes: bool = False,
    ) -> Response:
        viewer, state = await self._site.read(request, _own)
        if viewer is None:
            return self._site.to_log_in(request)
        form = "remove" if removes else "change"
        context = {
            "state": state,
            "verified_at": maybe_instant(state.verified_at),
            "expires_at": maybe_instant(state.link_expires_at),
            "typed": (sent or {}).get("address", ""),
            "most": ADDRESS_MAX,
            "done": done,
            "form": "" if refused is None else form,
            "mail_on": self._services.sends_mail,
            **self._refusal(request, refused),
        }
        return self._site.page(request, "mail_address.html", viewer, context, refused=refused)

    async def _link_page(
        self, request: Request, *, code: str = "", found: VerifiedAddress | None = None, refused: Refusal | None = None
    ) -> Response:
        viewer = await self._site.viewer(request)
        context = {"code": code, "found": found, **self._refusal(request, refused)}
        return self._site.page(request, "address_confirm.html", viewer, context, refused=refused)

    def _refusal(self, request: Request, refused: Refusal | None) -> dict[str, Any]:
        """Return the parts of a refusal that the forms show."""
        shown = at_field(refused, {WrongPassword: "password", InvalidLink: "code"})
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, shown),
            "message": words.message(language, shown),
        }


def _read(sent: dict[str, str], *, removes: bool) -> tuple[str | None, str]:
    """Return the address, None to take it away, and the password. Raises Invalid with the faults of both."""
    faults: dict[str, list[Fault]] = {}
    address = None if removes else parse_mail_address(sent.get("address", ""))
    if isinstance(address, Fault):
        faults["address"] = [address]
    if not sent.get("password"):
        faults["password"] = [Fault("required", "is required")]
    if isinstance(address, Fault) or faults:
        raise Invalid(faults)
    return address, sent["password"]


def _own(tx: Transaction, token: str | None) -> MailState:
    return MailState() if token is None else addresses.own(tx, token)
