"""The pages of a live sale's hall, which follow the block: the screen, the next lots, and the page of a bidder."""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.kernel.errors import Invalid
from saleroom.sales.domain.participants import Standing
from saleroom.sales.service import hall
from saleroom.sales.service.blocks import State
from saleroom.sales.service.hall import Hall, Reader
from saleroom.sales.services import SaleServices
from saleroom.sales.web.block_stream import BlockStream, Make
from saleroom.sales.web.catalogue import sale_gid
from saleroom.site.language import Language
from saleroom.site.site import Site, is_local

REFRESH_SECONDS = 5
"""How often a page without scripts reloads."""
_encode = msgspec.json.Encoder().encode


class View(StrEnum):
    """What a stream of the block sends: its JSON, or the part of a page."""

    STATE = "state"
    SCREEN = "screen"
    NEXT = "next"
    BIDDER = "bidder"


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


class HallPages:
    """The pages of the hall, and their stream."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def live(self, request: Request) -> Response:
        """GET /sales/{gid}/block/live?view=: the state of the block, at the beginning and after each change."""
        gid = sale_gid(request)
        view = _view(request)
        _, reader = await self._site.read(request, hall.reader, gid)
        make = _json if view is View.STATE else self._maker(view, self._site.language(request), reader)
        feed = self._services.feed
        follower = await feed.follow(gid, None)
        return BlockStream(follower, feed.now, self._services.blocks, gid, make)

    async def screen(self, request: Request) -> Response:
        """GET /sales/{gid}/screen: the block for a projector."""
        return await self._show(request, "hall_screen.html")

    async def next(self, request: Request) -> Response:
        """GET /sales/{gid}/next: the next lots, for a second projector."""
        return await self._show(request, "hall_next.html")

    async def bidder(self, request: Request) -> Response:
        """GET /sales/{gid}/live: the block for a bidder, with one button that takes the ask."""
        return await self._show(request, "hall_bidder.html")

    async def _show(self, request: Request, template: str) -> Response:
        gid = sale_gid(request)
        viewer, (found, reader) = await self._site.read(request, hall.entered, gid)
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
        }
        return self._site.page(request, template, viewer, context, headers={"Cache-Control": "no-store"})

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
