"""My saleroom: what I bid on, what I sell, what I watch, where I am logged in; and the star on any lot."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import UnknownSession
from saleroom.accounts.service import accounts
from saleroom.bidding.api.lists import DEALINGS, WATCHED
from saleroom.bidding.service import lot, mine
from saleroom.bidding.service.mine import LIVE, OVER, MyLots
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage.mine import Place
from saleroom.http.cursors import List, Sealed
from saleroom.http.requests import session_cookie_name, session_token
from saleroom.kernel.errors import Fault, Invalid, Unauthenticated
from saleroom.kernel.instants import instant
from saleroom.site.site import Site, fields, go_to, is_fragment, local, lot_gid, to_log_in
from saleroom.storage.database import Transaction

ROWS = 20
"""Rows of a list on one page."""
SESSION_DIGITS_MAX = 18

Lists = dict[str, Any]


class Mine:
    """The pages of who is logged in."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def bidding(self, request: Request) -> Response:
        """GET /mine: where I lead or was outbid, then what I won and lost."""
        return await self._lists(request, "mine_bidding.html", _bidding)

    async def selling(self, request: Request) -> Response:
        """GET /mine/selling: what I have on sale, then what is over."""
        return await self._lists(request, "mine_selling.html", _selling)

    async def watching(self, request: Request) -> Response:
        """GET /mine/watching: the lots with my star."""
        return await self._lists(request, "mine_watching.html", _watching, WATCHED)

    async def sessions(self, request: Request) -> Response:
        """GET /mine/sessions: where I am logged in."""
        viewer, found = await self._site.read(request, _sessions)
        if viewer is None:
            return to_log_in(request)
        rows = [(one, instant(one.created_at), instant(one.expires_at)) for one in found]
        return self._site.page(request, "mine_sessions.html", viewer, {"sessions": rows})

    async def end_session(self, request: Request) -> Response:
        """POST /mine/sessions/end: log one device out."""
        sent = (await fields(request)).get("id", "")
        token = session_token(request)
        if not (sent.isascii() and sent.isdigit() and len(sent) <= SESSION_DIGITS_MAX):
            raise Invalid({"id": [Fault("malformed", "must be the number of a session")]})
        # It may have ended already, or one's own may: the list, or the form to log in, tells.
        with suppress(UnknownSession, Unauthenticated):
            await self._services.tokens.write(accounts.end_session, token or "", int(sent))
        return go_to("/mine/sessions")

    async def end_all(self, request: Request) -> Response:
        """POST /mine/sessions/end-all: log out everywhere, here too."""
        try:
            await self._services.tokens.write(accounts.end_all, session_token(request) or "")
        except Unauthenticated:
            # This session has ended already; the others are not this browser's to end any more.
            return go_to("/login?next=/mine/sessions")
        response = go_to("/")
        name = session_cookie_name(https=self._site.https)
        response.delete_cookie(name, secure=self._site.https, httponly=True, samesite="lax")
        return response

    async def watch(self, request: Request) -> Response:
        """POST /lots/{gid}/watch: put the star on a lot."""
        return await self._star(request, watched=True)

    async def unwatch(self, request: Request) -> Response:
        """POST /lots/{gid}/unwatch: take it off."""
        return await self._star(request, watched=False)

    async def _star(self, request: Request, *, watched: bool) -> Response:
        gid = lot_gid(request)
        back = local((await fields(request)).get("next"), f"/lots/{gid}")
        try:
            await self._services.watch(session_token(request) or "", gid, watched=watched)
        except Unauthenticated:
            form = f"/login?next={quote(back)}"
            return Response(headers={"HX-Redirect": form}) if is_fragment(request) else go_to(form)
        if not is_fragment(request):
            return go_to(back)
        viewer, found = await self._site.read(request, lot.show, gid, 1, None)
        return self._site.page(
            request, "parts/star.html", viewer, {"a": found.auction, "watched": watched, "here": back}
        )

    async def _lists(
        self,
        request: Request,
        template: str,
        use_case: Callable[[Transaction, str | None, Any, Any], Lists],
        of: List = DEALINGS,
    ) -> Response:
        now, over = self._place(request, "now", of), self._place(request, "over", of)
        try:
            viewer, found = await self._site.read(request, use_case, now, over)
        except Unauthenticated:
            return to_log_in(request)
        context = {
            "first_now": now is None,
            "first_over": over is None,
            "cursor": partial(self._services.cursors.write, of),
            **found,
        }
        return self._site.page(request, template, viewer, context)

    def _place(self, request: Request, name: str, of: List) -> Any:
        """Return where a list goes on. Raises Invalid."""
        text = request.query_params.get(name)
        found = None if text is None else self._services.cursors.read(Sealed(of, text))
        if isinstance(found, Fault):
            raise Invalid({name: [found]})
        return found


def _bidding(tx: Transaction, token: str | None, now: Place | None, over: Place | None) -> Lists:
    return {
        "outbid": mine.count_outbid(tx, token),
        "now": mine.bidding(tx, token, LIVE, ROWS, now),
        "over": mine.bidding(tx, token, OVER, ROWS, over),
    }


def _selling(tx: Transaction, token: str | None, now: Place | None, over: Place | None) -> Lists:
    return {
        "now": mine.selling(tx, token, LIVE, ROWS, now),
        "over": mine.selling(tx, token, OVER, ROWS, over),
    }


def _watching(tx: Transaction, token: str | None, now: int | None, over: int | None) -> dict[str, MyLots]:
    return {"now": mine.watching(tx, token, ROWS, now)}


def _sessions(tx: Transaction, token: str | None) -> list[accounts.Session]:
    return [] if token is None else accounts.sessions(tx, token)
