"""The pages of a live sale's hall, which follow the block: the screen, the next lots, and the page of a bidder."""

from __future__ import annotations

import re
import secrets
from collections.abc import Hashable
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.endpoints import digest
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Invalid, Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.api.pledges import PLEDGE
from saleroom.sales.domain.errors import PledgedAlready
from saleroom.sales.domain.participants import Standing
from saleroom.sales.service import needs
from saleroom.sales.service.live import hall
from saleroom.sales.service.live.blocks import State
from saleroom.sales.service.live.hall import Hall, Reader
from saleroom.sales.services import SaleServices
from saleroom.sales.web.block_stream import BlockStream, Make
from saleroom.sales.web.catalogue import sale_gid
from saleroom.site.language import Language
from saleroom.site.site import Site, fields, for_users, go_to, is_local

REFRESH_SECONDS = 5
"""How often a page without scripts reloads."""
_encode = msgspec.json.Encoder().encode


class View(StrEnum):
    """What a stream of the block sends: its JSON, or the part of a page."""

    STATE = "state"
    SCREEN = "screen"
    NEXT = "next"
    BIDDER = "bidder"


_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")
_PARTS = {
    View.SCREEN: "parts/hall_screen.html",
    View.NEXT: "parts/hall_next.html",
    View.BIDDER: "parts/hall_bidder.html",
}


class Part(Struct, frozen=True):
    """The reader's part in the lot on the block."""

    role: str
    """`leading`, `outbid` or `visitor`."""
    may_bid: bool
    given: str | None = None
    """What they have pledged on it, if it is a fund-a-need."""


class HallPages:
    """The pages of the hall, and their stream."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def live(self, request: Request) -> Response:
        """GET /sales/{gid}/block/live?view=: the state of the block, at the beginning and after each change."""
        gid = sale_gid(request)
        view = _view(request)
        viewer, reader = await self._site.read(request, hall.reader, gid)
        make = _json if view is View.STATE else self._maker(view, self._site.language(request), reader)
        feed = self._services.feed
        session = self._site.session(request, viewer) if view is View.BIDDER else None
        follower = await feed.follow(gid, None, session)
        return BlockStream(follower, feed.now, self._services.blocks, gid, make)

    async def screen(self, request: Request) -> Response:
        """GET /sales/{gid}/screen: the block for a projector."""
        return await self._show(request, "hall_screen.html")

    async def next(self, request: Request) -> Response:
        """GET /sales/{gid}/next: the next lots, for a second projector."""
        return await self._show(request, "hall_next.html")

    async def total(self, request: Request) -> Response:
        """GET /sales/{gid}/total: what the evening has brought, for a projector; it looks again by itself."""
        viewer, found = await self._site.read(request, hall.evening, sale_gid(request))
        context = {"found": found, "sale": found.sale, "refresh": REFRESH_SECONDS}
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, "hall_total.html", viewer, context, headers=headers)

    async def bidder(self, request: Request) -> Response:
        """GET /sales/{gid}/live: the block for a bidder, with one button that takes the ask."""
        return await self._show(request, "hall_bidder.html")

    @for_users
    async def pledge(self, request: Request) -> Response:
        """POST /sales/{gid}/live: give the present level; who has given it already is asked."""
        gid, sent = sale_gid(request), await fields(request)
        try:
            values = PLEDGE.read(_encode({"amount": sent.get("amount", ""), "again": sent.get("again") == "true"}))
            key, once = sent.get("key", ""), None
            if _KEY.fullmatch(key) is not None:
                once = IdempotencyKey(key, digest("POST", "/sales/{gid}/pledges", gid, values))
            write = self._services.tokens.write
            await write(needs.give, session_token(request) or "", gid, values["amount"], once, again=values["again"])
        except PledgedAlready as refused:
            return await self._show(request, "hall_bidder.html", again=str(refused.facts["amount"]))
        except Declined as refused:
            return await self._show(request, "hall_bidder.html", refused=refused)
        return go_to(f"/sales/{gid}/live")

    async def _show(
        self, request: Request, template: str, again: str | None = None, refused: Refusal | None = None
    ) -> Response:
        gid = sale_gid(request)
        try:
            viewer, (found, reader) = await self._site.read(request, hall.entered, gid)
        except Refusal as other:
            raise refused or other from None
        origin = self._site.origin(request)
        context = {
            **_context(found, part_of(found, reader)),
            "reader": reader,
            "pending": Standing.PENDING,
            "declined": Standing.DECLINED,
            "live_url": f"{origin}/sales/{gid}/live",
            "local": is_local(origin),
            "refresh": REFRESH_SECONDS,
            "oob": False,
            "asked_again": again,
            "pledge_key": secrets.token_urlsafe(16),
            "problem_words": None
            if refused is None
            else self._site.words.refusal(self._site.language(request), refused),
        }
        headers = {"Cache-Control": "no-store"}
        return self._site.page(request, template, viewer, context, headers=headers, refused=refused)

    def _maker(self, view: View, language: Language, reader: Reader) -> Make:
        def make(state: State) -> bytes:
            part = part_of(state.hall, reader) if view is View.BIDDER else None
            key: Hashable = (view, language.tag, part)
            found = state.made.get(key)
            if found is None:
                context = _context(state.hall, part) | {"oob": True}
                html = self._site.renderer.fragment(language, _PARTS[view], context)
                lines = "".join(f"data: {line}\n" for line in html.splitlines() if line.strip())
                found = state.made[key] = f"{lines}\n".encode()
            return found

        return make


def part_of(found: Hall, reader: Reader) -> Part:
    """Return the reader's part in the lot that was called last."""
    if reader.id is None:
        return Part("visitor", may_bid=False)
    if reader.id in found.given:
        return Part("giver", reader.may_bid, str(found.given[reader.id]))
    if reader.id == found.leader_id:
        return Part("leading", reader.may_bid)
    return Part("outbid" if reader.id in found.bidder_ids else "visitor", reader.may_bid)


def _context(found: Hall, part: Part | None) -> dict[str, Any]:
    """Return what the templates of the hall show."""
    lot = found.lot
    return {
        "hall": found,
        "sale": found.sale,
        "block": found.block,
        "lot": lot,
        "a": None if lot is None else lot.auction,
        "cover": None if lot is None else found.covers.get(lot.gid),
        "part": part,
    }


def _json(state: State) -> bytes:
    found = state.made.get(View.STATE)
    if found is None:
        found = state.made[View.STATE] = b"event: block\ndata: %s\n\n" % _encode(state.hall.block)
    return found


def _view(request: Request) -> View:
    asked = request.query_params.get("view", View.STATE)
    try:
        return View(asked)
    except ValueError:
        raise Invalid.one("view", "not_a_choice", f"must be one of {', '.join(View)}") from None
