"""The reader's standing: warnings, suspensions and bans, and that the warnings are read."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.service import sanctions
from saleroom.accounts.services import AccountServices
from saleroom.http.requests import session_token
from saleroom.site.site import Site, for_users, go_to


class StandingPages:
    """The pages of the reader's standing."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    @for_users
    async def show(self, request: Request) -> Response:
        """GET /mine/standing: what staff did about the reader."""
        viewer, found = await self._site.read(request, sanctions.own)
        return self._site.page(request, "standing.html", viewer, {"found": found})

    @for_users
    async def read(self, request: Request) -> Response:
        """POST /mine/standing/read: the reader has read the warnings; lead back to the page that showed them."""
        await self._services.tokens.write(sanctions.read_warnings, session_token(request) or "")
        return go_to(self._site.here(request))
