"""The book of a sale in the back office: absentee bids, a line for each, entered by keyboard."""

from __future__ import annotations

import re
from decimal import Decimal

from msgspec import json
from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, MissingRight, Refusal
from saleroom.sales.domain.book import LINE_MAX, BookLine, parse_line
from saleroom.sales.domain.book_views import BookLineView
from saleroom.sales.domain.errors import UnknownSale
from saleroom.sales.service import book
from saleroom.sales.services import SaleServices
from saleroom.sales.web.catalogue import sale_gid
from saleroom.sales.web.console import to_clerk
from saleroom.site.language import N_
from saleroom.site.site import Site, fields, for_users, go_to

BOOK = "/admin/sales/{gid}/book"
ROWS = 100
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_DONE = re.compile(r"([0-9]{1,5})-([0-9]{1,6}[A-Z]{0,2})")
_REASON = N_("The absentee bid was taken back before the lot was called.")
_NOT_KEPT = {"Cache-Control": "no-store"}


class BookPages:
    """The page of the book, and its one form."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/sales/{gid}/book?before=: the form, and what was entered, the newest first."""
        return await self._page(request)

    @for_users
    async def enter(self, request: Request) -> Response:
        """POST /admin/sales/{gid}/book: one line."""
        sent, back = await fields(request), f"/admin/sales/{sale_gid(request)}/book"
        text = sent.get("line", "")
        try:
            line = self._read(request, text)
            write = self._services.tokens.write
            answer = await write(book.enter, session_token(request) or "", sale_gid(request), line)
            found = json.decode(answer, type=BookLineView)
        except (UnknownSale, MissingRight):
            raise
        except Declined as refused:
            return await self._page(request, refused, text)
        return go_to(f"{back}?done={found.paddle}-{found.label}")

    def _read(self, request: Request, text: str) -> BookLine:
        """Return what a line says, its amount as the reader's language writes it. Raises Invalid."""
        language = self._site.language(request)
        found = parse_line(text)
        if isinstance(found, Fault):
            raise Invalid({"line": [found]})
        paddle, label, amount = found
        maximum = None if amount is None else language.parse_sure_money(amount)
        if isinstance(maximum, Fault):
            raise Invalid({"line": [maximum]})
        return BookLine(paddle=paddle, label=label, maximum=maximum, reason=language.gettext(_REASON))

    @for_users
    async def _page(self, request: Request, refused: Refusal | None = None, text: str = "") -> Response:
        gid, language, asked = sale_gid(request), self._site.language(request), request.query_params
        before, done = asked.get("before", ""), _DONE.fullmatch(asked.get("done", ""))
        place = int(before) if _NUMBER.fullmatch(before) else None
        viewer, found = await self._site.read(request, book.listed, gid, ROWS, place)
        last = None
        if done and not refused:
            last = next((one for one in found.lines.rows if (str(one.paddle), one.label) == done.groups()), None)
        fault = self._site.words.field_faults(language, refused).get("line")
        context = {
            "sale": found.sale,
            "lines": found.lines.rows,
            "next": found.lines.next,
            "last": last,
            "text": text,
            "fault": fault or (None if refused is None else to_clerk(self._site, language, refused)),
            "line_max": LINE_MAX,
            "example": f"12 45 {language.amount(Decimal(500))}",
        }
        return self._site.page(request, "sale_book.html", viewer, context, refused=refused, headers=_NOT_KEPT)
