"""QR codes of the lots' addresses. A thread draws each of them once, because one takes as long as many bids."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.lots import lot_gid
from saleroom.http import problems
from saleroom.kernel.errors import Busy
from saleroom.site.qr_codes import draw
from saleroom.site.site import Site

CACHED_MAX = 512
"""Codes in the cache, a few kilobytes each."""
WAITING_MAX = 8
"""Codes that may wait to be drawn. Further requests are refused as Busy."""
RESTS = 9
"""The thread rests this many times as long as the last code took: drawing holds the interpreter's lock."""


class QrCodes:
    """GET /lots/{gid}/qr.svg."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services
        self._drawer = Drawer()

    async def show(self, request: Request) -> Response:
        """GET: the address of the lot's page as a QR code, dark on light in every colour scheme."""
        gid = lot_gid(request)
        await self._services.auction_views.ask((gid, None))
        try:
            code = await self._drawer.code(f"{self._site.origin(request)}/lots/{gid}")
        except Busy as refused:
            return problems.answer(refused)  # not a page: it would cost as much as a bid and is no picture
        return Response(code, media_type="image/svg+xml", headers={"Cache-Control": "private, max-age=300"})


class Drawer:
    """Draws codes as SVG."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "codes")
        self._cache: OrderedDict[str, asyncio.Future[bytes]] = OrderedDict()
        self._waiting = 0
        self._rests_until = 0.0

    async def code(self, address: str) -> bytes:
        """Return the code of an address, from the cache or newly drawn. Raises Busy."""
        drawing = self._cache.get(address)
        if drawing is None:
            if self._waiting >= WAITING_MAX:
                raise Busy
            self._waiting += 1
            drawing = self._cache[address] = asyncio.get_running_loop().run_in_executor(self._pool, self._draw, address)
            drawing.add_done_callback(self._done)
            if len(self._cache) > CACHED_MAX:
                self._cache.popitem(last=False)
        # A client that gives up does not take the code from the others that wait for it.
        return await asyncio.shield(drawing)

    def _draw(self, address: str) -> bytes:
        """Draw one code, in the thread."""
        time.sleep(max(0.0, self._rests_until - time.monotonic()))
        began = time.monotonic()
        code = draw(address)
        ended = time.monotonic()
        self._rests_until = ended + RESTS * (ended - began)
        return code

    def _done(self, _: asyncio.Future[bytes]) -> None:
        self._waiting -= 1
