"""The reader's data: all that the house holds about them, to be downloaded; and the erasure of the account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.api.person_data import as_zip
from saleroom.accounts.domain.errors import CodeRequired, WrongCode, WrongPassword
from saleroom.accounts.service import one_time_codes
from saleroom.accounts.services import AccountServices
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Declined, Invalid, Refusal
from saleroom.site.site import Site, fields, for_users
from saleroom.storage.database import Transaction

PATH = "/mine/data"


class PersonDataPages:
    """The page of the reader's data, and its forms."""

    def __init__(self, site: Site, services: AccountServices, end_session: Callable[[Response], Response]) -> None:
        """`end_session` takes the session's cookie from the browser."""
        self._site = site
        self._services = services
        self._end_session = end_session

    async def show(self, request: Request) -> Response:
        """GET /mine/data: what the reader can do with their data."""
        return await self._page(request)

    @for_users
    async def export(self, request: Request) -> Response:
        """POST /mine/data/export: the archive, as a download."""
        password = (await fields(request)).get("password", "")
        try:
            if not password:
                raise Invalid.one("password", "required", "is required")
            token = session_token(request) or ""
            return as_zip(await self._services.archives.make(token, password, client_address(request)))
        except Declined as refused:
            return await self._page(request, refused, "export")

    @for_users
    async def erase(self, request: Request) -> Response:
        """POST /mine/data/erasure: erase the account, and say so."""
        sent = await fields(request)
        try:
            if not sent.get("password"):
                raise Invalid.one("password", "required", "is required")
            token, code = session_token(request) or "", sent.get("code") or None
            await self._services.erasures.erase_own(token, sent["password"], code, client_address(request))
        except Declined as refused:
            return await self._page(request, refused, "erasure")
        return self._end_session(self._site.page(request, "erased.html", None, {}))

    async def _page(self, request: Request, refused: Refusal | None = None, form: str = "") -> Response:
        """Return the page; `refused` is shown in the `form` that was sent."""
        viewer, has_codes = await self._site.read(request, _has_codes)
        if viewer is None:
            return self._site.to_log_in(request)
        context = {"form": form, "has_codes": has_codes, **self._refusal(request, refused)}
        return self._site.page(request, "data.html", viewer, context, refused=refused)

    def _refusal(self, request: Request, refused: Refusal | None) -> dict[str, Any]:
        shown = refused
        if isinstance(refused, WrongPassword | WrongCode | CodeRequired):
            field = "password" if isinstance(refused, WrongPassword) else "code"
            shown = Invalid.one(field, refused.code, refused.message)
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, shown),
            "message": words.message(language, shown),
        }


def _has_codes(tx: Transaction, token: str | None) -> bool:
    return token is not None and one_time_codes.security(tx, token).codes_since is not None
