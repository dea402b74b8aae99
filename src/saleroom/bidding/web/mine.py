"""My saleroom: the lots that the reader bids on, sells and watches; and the star on any lot."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.api.lists import DEALINGS, WATCHED
from saleroom.bidding.domain.auction import OVER
from saleroom.bidding.service import calendars, drafts, lot, mine
from saleroom.bidding.service.mine import LIVE
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage.mine import RankPlace
from saleroom.bidding.web.drafts import draft_rows
from saleroom.bidding.web.lots import lot_gid
from saleroom.http.cursors import CursorKind
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Unauthenticated
from saleroom.kernel.instants import maybe_instant
from saleroom.site.site import Site, fields, for_users, go_to, is_fragment, local
from saleroom.storage.database import Transaction

ROWS = 20
"""Rows of a list on one page."""

Lists = dict[str, Any]


class MinePages:
    """The lots of the user who is logged in."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def bidding(self, request: Request) -> Response:
        """GET /mine: the lots on which the reader leads or was outbid, then those won or lost."""
        return await self._lists(request, "mine_bidding.html", _bidding)

    async def selling(self, request: Request) -> Response:
        """GET /mine/selling: the reader's lots on sale, then those that are over."""
        return await self._lists(request, "mine_selling.html", _selling)

    async def watching(self, request: Request) -> Response:
        """GET /mine/watching: the lots with the reader's star."""
        return await self._lists(request, "mine_watching.html", _watching, WATCHED)

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
            await self._services.set_watched(session_token(request) or "", gid, watched=watched)
        except Unauthenticated:
            return self._site.to_log_in(request, back)
        if not is_fragment(request):
            return go_to(back)
        viewer, found = await self._site.read(request, lot.show, gid, 1, None)
        return self._site.page(
            request, "parts/star.html", viewer, {"a": found.auction, "watched": watched, "here": back}
        )

    @for_users
    async def _lists(
        self,
        request: Request,
        template: str,
        use_case: Callable[[Transaction, str | None, Any, Any], Lists],
        of: CursorKind = DEALINGS,
    ) -> Response:
        cursors, query = self._services.cursors, request.query_params
        now, over = cursors.place_in(query, of, "now"), cursors.place_in(query, of, "over")
        viewer, found = await self._site.read(request, use_case, now, over)
        context = {
            "first_now": now is None,
            "first_over": over is None,
            "cursor": partial(cursors.write, of),
            **found,
        }
        return self._site.page(request, template, viewer, context)


def _bidding(tx: Transaction, token: str | None, now: RankPlace | None, over: RankPlace | None) -> Lists:
    return {
        "outbid": mine.count_outbid(tx, token),
        "now": mine.bidding(tx, token, LIVE, ROWS, now),
        "over": mine.bidding(tx, token, OVER, ROWS, over),
    }


def _selling(tx: Transaction, token: str | None, now: RankPlace | None, over: RankPlace | None) -> Lists:
    return {
        "drafts": draft_rows(drafts.newest(tx, token)) if now is None and over is None else [],
        "now": mine.selling(tx, token, LIVE, ROWS, now),
        "over": mine.selling(tx, token, OVER, ROWS, over),
    }


def _watching(tx: Transaction, token: str | None, now: int | None, over: int | None) -> Lists:
    return {
        "now": mine.watching(tx, token, ROWS, now),
        "calendar": None if token is None else maybe_instant(calendars.made_at(tx, token)),
    }
