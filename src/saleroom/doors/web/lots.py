"""The page of a lot."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from saleroom.domain.errors import Invalid, UnknownAuction
from saleroom.doors.web.site import Site
from saleroom.service import reading
from saleroom.storage.database import Transaction

BIDS_PER_PAGE = 50
GID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NUMBER = re.compile(r"[0-9]{1,9}")


class Lots:
    """GET /lots/{gid}."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        """GET /lots/{gid}: one auction with its history."""
        gid, before = request.path_params["gid"], _before(request)
        viewer, lot = await self._site.read(request, _lot, gid, before)
        context = {"lot": lot, "a": lot.auction, "first": before is None, "origin": self._site.origin(request)}
        return self._site.page(request, "lot.html", viewer, context)


def _lot(tx: Transaction, token: str | None, gid: str, before: int | None) -> reading.Lot:
    if GID.fullmatch(gid) is None:
        raise UnknownAuction
    return reading.lot(tx, gid, token, BIDS_PER_PAGE, before)


def _before(request: Request) -> int | None:
    text = request.query_params.get("before")
    if text is not None and _NUMBER.fullmatch(text) is None:
        raise Invalid.one("before", "cursor", "is not the number of a bid; open the lot without it")
    return None if text is None else int(text)
