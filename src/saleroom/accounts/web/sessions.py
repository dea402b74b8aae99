"""Where the reader is logged in: the list of their sessions, each of them or all ended with the password."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import UnknownSession, WrongPassword
from saleroom.accounts.service import sessions
from saleroom.accounts.services import AccountServices
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, Refusal
from saleroom.kernel.instants import instant
from saleroom.site.site import Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

PATH = "/mine/sessions"
_DIGITS_MAX = 18
_ALL = 0
"""In place of the number of a session: all of them."""


class SessionPages:
    """The page of the reader's sessions."""

    def __init__(self, site: Site, services: AccountServices, without_session: Callable[[Response], Response]) -> None:
        """`without_session` takes the session's cookie from the browser."""
        self._site = site
        self._services = services
        self._without_session = without_session

    async def show(self, request: Request) -> Response:
        """GET /mine/sessions: the devices where the reader is logged in."""
        return await self._page(request)

    @for_users
    async def end(self, request: Request) -> Response:
        """POST /mine/sessions/end: log one device out."""
        sent = await fields(request)
        given = sent.get("id", "")
        if not (given.isascii() and given.isdigit() and len(given) <= _DIGITS_MAX):
            raise Invalid({"id": [Fault("malformed", "must be the number of a session")]})
        token, address = session_token(request) or "", client_address(request)
        try:
            await sessions.end_session_by_password(self._services.accounts, token, _password(sent), address, int(given))
        except UnknownSession:
            pass  # it has ended already, as the list shows
        except Declined as refused:
            return await self._page(request, int(given), refused)
        return go_to(PATH)

    @for_users
    async def end_all(self, request: Request) -> Response:
        """POST /mine/sessions/end-all: log out everywhere, here too."""
        sent = await fields(request)
        token, address = session_token(request) or "", client_address(request)
        try:
            await sessions.end_all_by_password(self._services.accounts, token, _password(sent), address)
        except Declined as refused:
            return await self._page(request, _ALL, refused)
        return self._without_session(go_to("/"))

    async def _page(self, request: Request, number: int = _ALL, refused: Refusal | None = None) -> Response:
        """Return the list. The form of a session, or that of all, is open and has the refusal."""
        viewer, found = await self._site.read(request, _own)
        if viewer is None:
            return self._site.to_log_in(request)
        shown = refused
        if isinstance(refused, WrongPassword):
            shown = Invalid.one("password", refused.code, refused.message)
        language, words = self._site.language(request), self._site.words
        context = {
            "sessions": [(one, instant(one.created_at), instant(one.expires_at)) for one in found],
            "refused": None if refused is None else number,
            "fault": words.field_faults(language, shown).get("password"),
            "message": words.message(language, shown),
        }
        return self._site.page(request, "sessions.html", viewer, context, refused=refused)


def _password(sent: dict[str, str]) -> str:
    """Return the password of a form. Raises Invalid if it is missing."""
    if not (password := sent.get("password", "")):
        raise Invalid.one("password", "required", "is required")
    return password


def _own(tx: Transaction, token: str | None) -> list[sessions.Session]:
    return [] if token is None else sessions.sessions(tx, token)
