"""The reader's data: all that the house holds about them, to be downloaded."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.api.person_data import as_zip
from saleroom.accounts.domain.errors import WrongPassword
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.services import AccountServices
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Invalid, Refusal, Unauthenticated
from saleroom.site.site import Site, fields
from saleroom.storage.database import Transaction

PATH = "/mine/data"


class PersonDataPages:
    """The page of the reader's data, and its forms."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /mine/data: what the reader can do with their data."""
        return await self._page(request)

    async def export(self, request: Request) -> Response:
        """POST /mine/data/export: the archive, as a download."""
        password = (await fields(request)).get("password", "")
        try:
            if not password:
                raise Invalid.one("password", "required", "is required")
            token = session_token(request) or ""
            return as_zip(await self._services.archives.make(token, password, client_address(request)))
        except Unauthenticated:
            return self._site.to_log_in(request, PATH)
        except Refusal as refused:
            return await self._page(request, refused, "export")

    async def _page(self, request: Request, refused: Refusal | None = None, form: str = "") -> Response:
        """Return the page; `refused` is shown in the `form` that was sent."""
        viewer, _ = await self._site.read(request, _may_change)
        if viewer is None:
            return self._site.to_log_in(request)
        return self._site.page(
            request, "data.html", viewer, {"form": form, **self._refusal(request, refused)}, refused=refused
        )

    def _refusal(self, request: Request, refused: Refusal | None) -> dict[str, Any]:
        shown = refused
        if isinstance(refused, WrongPassword):
            shown = Invalid.one("password", refused.code, refused.message)
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, shown),
            "message": None if shown is None else words.refusal(language, shown),
        }


def _may_change(tx: Transaction, token: str | None) -> None:
    if token is not None:
        authenticate(tx, token, Right.ACCOUNT)
