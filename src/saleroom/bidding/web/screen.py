"""The hall's screen: one lot for a projector, which goes on to the next one by itself; and the code that leads to a lot."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from saleroom.accounts.domain.accounts import parse_username
from saleroom.bidding.domain.views import AuctionView
from saleroom.bidding.service import catalogue
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.qr_codes import Codes
from saleroom.http import problems
from saleroom.kernel.errors import Busy, Fault, Invalid
from saleroom.site.site import Site, go_to, is_fragment, lot_gid

RESULT_SECONDS = 12
"""How long a result stays before the next lot comes, and how often the screen asks for one while there is none."""
REFRESH_SECONDS = 5
"""How often a screen without scripts reads itself anew."""


class Screens:
    """GET /lots/{gid}/screen, /lots/{gid}/screen/next and /lots/{gid}/qr.svg."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services
        self._codes = Codes()

    async def show(self, request: Request) -> Response:
        """GET /lots/{gid}/screen?author=NAME: the lot as the hall sees it; `author` keeps to one seller's lots."""
        gid, author = lot_gid(request), _author(request)
        viewer, screen = await self._site.read(request, catalogue.screen, gid, author)
        a = screen.auction
        context = {
            "a": a,
            "bids": screen.bids,
            "cover": screen.cover,
            "next": screen.next,
            "author": author,
            "lot_url": f"{self._site.origin(request)}/lots/{gid}",
            "address": _address(gid, author),
            "result_seconds": RESULT_SECONDS,
            "refresh": self._refresh(a, screen.next, author),
        }
        return self._site.page(request, "screen.html", viewer, context)

    async def next(self, request: Request) -> Response:
        """GET /lots/{gid}/screen/next: go on to the next lot's screen; where there is none, stay."""
        gid, author = lot_gid(request), _author(request)
        _, found = await self._site.read(request, catalogue.after, gid, author)
        if found is not None:
            return go_to(_address(found.gid, author))
        if not is_fragment(request):
            return go_to(_address(gid, author))
        language = self._site.renderer.language(request)
        return HTMLResponse(self._site.renderer.fragment(language, "parts/screen_waits.html", {}))

    async def code(self, request: Request) -> Response:
        """GET /lots/{gid}/qr.svg: the address of the lot's page as a QR code, dark on light in every colour scheme."""
        gid = lot_gid(request)
        await self._services.auction_views.ask((gid, None))
        try:
            code = await self._codes.of(f"{self._site.origin(request)}/lots/{gid}")
        except Busy as refused:
            return problems.answer(refused)  # a picture's place has no use for a page, which costs as much as a bid
        return Response(code, media_type="image/svg+xml", headers={"Cache-Control": "private, max-age=300"})

    def _refresh(self, a: AuctionView, following: AuctionView | None, author: str | None) -> str:
        """Return what a browser without scripts is told: when to read which address."""
        if following is not None:
            return f"{RESULT_SECONDS}; url={_address(following.gid, author)}"
        return str(REFRESH_SECONDS if a.outcome is None and a.status != "cancelled" else RESULT_SECONDS)


def _address(gid: str, author: str | None) -> str:
    return f"/lots/{gid}/screen" + (f"?{urlencode({'author': author})}" if author else "")


def _author(request: Request) -> str | None:
    """Return whose lots the screen keeps to. Raises Invalid where nobody can have that name."""
    sent = request.query_params.get("author")
    found = parse_username(sent) if sent else None
    if isinstance(found, Fault):
        raise Invalid({"author": [found]})
    return found
