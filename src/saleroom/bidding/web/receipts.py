"""The receipts of a lot: for their bidder to read, to keep as files, and to check."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.receipts import Receipt
from saleroom.bidding.service import receipts
from saleroom.bidding.service.receipts import SignedReceipt
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.lots import lot_gid
from saleroom.http.problems import NotFound
from saleroom.site.site import Site, Viewer, fields, for_users

RECEIPTS_PER_PAGE = 20
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


class ReceiptPages:
    """The receipts of the user who is logged in."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /lots/{gid}/receipts: the reader's receipts for the lot, the newest first."""
        return await self._page(request)

    async def check(self, request: Request) -> Response:
        """POST /lots/{gid}/receipts: the same page, with what the check of a receipt found."""
        return await self._page(request, "".join((await fields(request)).get("receipt", "").split()))

    @for_users
    async def file(self, request: Request) -> Response:
        """GET /lots/{gid}/receipts/{number}.txt: one receipt as a file. Raises UnknownAuction or NotFound."""
        _, auction, found = await self._found(request)
        number = request.path_params["number"]
        if _NUMBER.fullmatch(number) is None or int(number) > len(found):
            raise NotFound
        [signed] = await self._signed([(int(number), found[int(number) - 1])])
        name = f"receipt-{auction.gid}-{number}.txt"
        headers = {"Cache-Control": "private, no-store", "Content-Disposition": f'attachment; filename="{name}"'}
        return PlainTextResponse(f"{signed.text}\n", headers=headers)

    @for_users
    async def _page(self, request: Request, text: str | None = None) -> Response:
        viewer, auction, found = await self._found(request)
        before = request.query_params.get("before", "")
        last = min(int(before) - 1, len(found)) if _NUMBER.fullmatch(before) else len(found)
        first = max(last - RECEIPTS_PER_PAGE, 0)
        verdict, checked = None, None
        if text is not None:
            verdict, checked = await receipts.verdict(self._services.database, auction, text)
        context = {
            "a": auction,
            "receipts": (await self._signed(list(enumerate(found[first:last], first + 1))))[::-1],
            "newest": last == len(found),
            "older": first + 1 if first else None,
            "verdict": verdict,
            "checked": checked,
            "origin": self._site.origin(request),
        }
        return self._site.page(
            request, "receipts.html", viewer, context, headers={"Cache-Control": "private, no-store"}
        )

    async def _found(self, request: Request) -> tuple[Viewer | None, Auction, list[Receipt]]:
        """Return the reader, the lot, and the reader's receipts. Raises Unauthenticated or UnknownAuction."""
        viewer, (auction, name) = await self._site.read(request, receipts.bidder, lot_gid(request))
        return viewer, auction, [] if name is None else await receipts.find(self._services.database, auction, name)

    async def _signed(self, numbered: list[tuple[int, Receipt]]) -> list[SignedReceipt]:
        if not numbered:
            return []
        return await self._services.database.read(receipts.sign, self._services.signing_key, numbered)
