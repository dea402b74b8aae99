"""The home page: what is on sale."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from saleroom.domain.errors import Invalid
from saleroom.domain.views import AuctionView
from saleroom.doors.api.wire import BAD_CURSOR, read_cursor, write_cursor
from saleroom.doors.web.site import Site
from saleroom.service import reading
from saleroom.storage.database import Transaction
from saleroom.storage.listing import Mark

LOTS_PER_PAGE = 30


class Home:
    """GET /."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        """GET /: the open auctions, the one that ends soonest first."""
        after = _mark(request)
        try:
            viewer, (lots, mark) = await self._site.read(request, _open_lots, after)
        except ValueError as error:
            # It reads like a cursor, but it is not one of this list.
            raise Invalid({"after": [BAD_CURSOR]}) from error
        further = None if mark is None else write_cursor(mark)
        context = {"lots": lots, "first": after is None, "next": further, "origin": self._site.origin(request)}
        return self._site.page(request, "home.html", viewer, context)


def _open_lots(tx: Transaction, token: str | None, after: Mark | None) -> tuple[list[AuctionView], Mark | None]:
    return reading.lots(tx, token, LOTS_PER_PAGE, after)


def _mark(request: Request) -> Mark | None:
    text = request.query_params.get("after")
    mark = None if text is None else read_cursor(Mark)(text)
    if mark is BAD_CURSOR:
        raise Invalid({"after": [BAD_CURSOR]})
    return mark
