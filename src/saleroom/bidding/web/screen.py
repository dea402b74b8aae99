"""The hall's screen: one lot for a projector, which goes on to the next lot by itself."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from saleroom.accounts.domain.accounts import parse_username
from saleroom.bidding.domain.views import AuctionView
from saleroom.bidding.service import catalogue
from saleroom.bidding.web.lots import lot_gid
from saleroom.kernel.errors import Fault, Invalid
from saleroom.site.site import Site, go_to, is_fragment, is_local

RESULT_SECONDS = 12
"""How long a result stays before the next lot comes; without a next lot, how often the screen asks for one."""
REFRESH_SECONDS = 5
"""How often a screen without scripts reloads."""


class ScreenPages:
    """GET /lots/{gid}/screen and /lots/{gid}/screen/next."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        """GET /lots/{gid}/screen?author=NAME: the lot as the hall sees it; `author` keeps to one seller's lots."""
        gid, author = lot_gid(request), _author(request)
        viewer, screen = await self._site.read(request, catalogue.screen, gid, author)
        a, origin = screen.auction, self._site.origin(request)
        context = {
            "a": a,
            "bids": screen.bids,
            "cover": screen.cover,
            "next": screen.next,
            "author": author,
            "lot_url": f"{origin}/lots/{gid}",
            "local": is_local(origin),
            "address": _address(gid, author),
            "result_seconds": RESULT_SECONDS,
            "refresh": self._refresh(a, screen.next, author),
        }
        return self._site.page(request, "screen.html", viewer, context)

    async def next(self, request: Request) -> Response:
        """GET /lots/{gid}/screen/next: go on to the next lot's screen, or stay if there is none."""
        gid, author = lot_gid(request), _author(request)
        _, found = await self._site.read(request, catalogue.next_open, gid, author)
        if found is not None:
            return go_to(_address(found.gid, author))
        if not is_fragment(request):
            return go_to(_address(gid, author))
        language = self._site.language(request)
        return HTMLResponse(self._site.renderer.fragment(language, "parts/screen_waits.html", {}))

    def _refresh(self, a: AuctionView, following: AuctionView | None, author: str | None) -> str:
        """Return the refresh of a browser without scripts: after how many seconds, and to which address."""
        if a.outcome is None and a.status != "cancelled":
            return str(REFRESH_SECONDS)
        return str(RESULT_SECONDS) + ("" if following is None else f"; url={_address(following.gid, author)}")


def _address(gid: str, author: str | None) -> str:
    return f"/lots/{gid}/screen" + (f"?{urlencode({'author': author})}" if author else "")


def _author(request: Request) -> str | None:
    """Return the seller whose lots the screen shows. Raises Invalid if nobody can have that name."""
    sent = request.query_params.get("author")
    found = parse_username(sent) if sent else None
    if isinstance(found, Fault):
        raise Invalid({"author": [found]})
    return found
