"""The page of an invitation: its role goes to the reader, or to a new account."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.accounts import PASSWORD_MIN
from saleroom.accounts.domain.errors import InvalidInvitation
from saleroom.accounts.service import invitations
from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.accounts import credentials
from saleroom.accounts.web.words import at_field
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Invalid, Refusal, Unauthenticated
from saleroom.site.site import Site, fields, go_to

StartSession = Callable[[Request, str, str, str | None], Awaitable[Response]]
AFTER = "/admin"


class JoiningPages:
    """The page of an invitation."""

    def __init__(self, site: Site, services: AccountServices, start_session: StartSession) -> None:
        self._site = site
        self._services = services
        self._start_session = start_session

    async def form(self, request: Request) -> Response:
        """GET /join: the form, which has the code from the link. It changes nothing."""
        return await self._page(request, {})

    async def join(self, request: Request) -> Response:
        """POST /join: take the invitation, with a new account if nobody is logged in."""
        sent = await fields(request)
        code = sent.get("code", "").strip()
        viewer = await self._site.viewer(request)
        try:
            if not code:
                raise Invalid.one("code", "required", "is required")
            if viewer is not None:
                take = partial(invitations.take, code=code, sign=self._services.sign)
                await self._services.tokens.write(take, session_token(request) or "")
                return go_to(AFTER)
            username, password = credentials(sent)
            await self._services.invitations.join(code, username, password, client_address(request))
        except Unauthenticated:
            return await self._page(request, sent)
        except Refusal as refused:
            return await self._page(request, sent, refused)
        try:
            return await self._start_session(request, username, password, AFTER)
        except Refusal:
            # The account exists now, so the reader goes on with the form to log in.
            return self._site.to_log_in(request, back=AFTER)

    async def _page(self, request: Request, sent: dict[str, str], refused: Refusal | None = None) -> Response:
        language, words = self._site.language(request), self._site.words
        shown = at_field(refused, {InvalidInvitation: "code"})
        context = {
            "code": sent.get("code", ""),
            "username": sent.get("username", ""),
            "password_min": PASSWORD_MIN,
            "faults": words.field_faults(language, shown),
            "message": words.message(language, shown),
        }
        return self._site.page(request, "join.html", await self._site.viewer(request), context, refused=refused)
