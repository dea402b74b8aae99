"""The page on which staff enter the results of lots that were sold by outcry: a script keeps the lines until they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.block import FLOOR
from saleroom.http.endpoints import digest
from saleroom.http.requests import session_token
from saleroom.http.responses import json_response
from saleroom.kernel.currency import decimals
from saleroom.kernel.errors import Refusal, Unauthenticated
from saleroom.kernel.identifiers import GID, IdempotencyKey
from saleroom.sales.api.fields import REASON_MAX
from saleroom.sales.api.results import RESULT, TAKEN_BACK, read
from saleroom.sales.service import results
from saleroom.sales.service.results import QueuedLine
from saleroom.sales.services import SaleServices
from saleroom.sales.web.catalogue import sale_gid
from saleroom.sales.web.console import NOT_KEPT, key_of, refusal
from saleroom.site.amounts import notation
from saleroom.site.app import Shell
from saleroom.site.language import Language
from saleroom.site.site import Site, fields, for_users

ENTRY = "/sales/{gid}/entry"
SHEET = "/sales/{gid}/entry/sheet"
_TEMPLATE = "entry.html"


class EntryPages:
    """The page, the sheet that it shows, and the lines that it sends."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    @for_users
    async def page(self, request: Request) -> Response:
        """GET /sales/{gid}/entry: the page, which reads the sheet by itself."""
        gid, language = sale_gid(request), self._site.language(request)
        viewer, _ = await self._site.read(request, results.sheet, gid)
        return self._site.page(request, _TEMPLATE, viewer, shown(language), headers=NOT_KEPT)

    async def sheet(self, request: Request) -> Response:
        """GET /sales/{gid}/entry/sheet: all lots of the sale and its paddles, in JSON."""
        try:
            found = await self._services.database.read(results.sheet, session_token(request), sale_gid(request))
        except Refusal as refused:
            return refusal(self._site, request, refused)
        return json_response(found, 200, NOT_KEPT)

    async def send(self, request: Request) -> Response:
        """POST /sales/{gid}/entry: one line, with an Idempotency-Key; the answer is that of the API.

        `user` is who has typed it: somebody else who is logged in by now must not send it. `act` is `enter` or `undo`.
        """
        try:
            gid, sent = sale_gid(request), await fields(request)
            token = session_token(request)
            if token is None:
                raise Unauthenticated
            is_undo = sent.get("act") == "undo"
            values, key = (TAKEN_BACK if is_undo else RESULT).read(sent.get("line", "").encode()), key_of(request)
            once = None if key is None else IdempotencyKey(key, digest("POST", ENTRY, gid, {**values, "undo": is_undo}))
            typed = QueuedLine(user=sent.get("user", ""), is_undo=is_undo, line=read(values))
            return json_response(
                await self._services.tokens.write(results.send, token, gid, typed, once), 200, NOT_KEPT
            )
        except Refusal as refused:
            return refusal(self._site, request, refused)


def shown(language: Language) -> Mapping[str, Any]:
    """Return what the page shows in a language: nothing of a sale or of a reader, so a browser can keep it."""
    return {
        "currency": language.currency,
        "decimals": decimals(language.currency),
        "notation": notation(language.currency, language.locale),
        "example": language.example,
        "floor": FLOOR,
        "reason_max": REASON_MAX,
    }


def shell() -> Shell:
    """Return the page as browsers keep it for times without a connection."""
    return Shell(
        path=ENTRY.format(gid=GID.pattern),
        template=_TEMPLATE,
        files=(
            "console.css",
            "entry.css",
            "clerk.js",
            "amounts.js",
            "result_lines.js",
            "result_queue.js",
            "entry.js",
            "entry_list.js",
            "site.js",
        ),
        context=shown,
    )
