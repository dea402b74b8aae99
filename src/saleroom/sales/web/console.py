"""The clerk's console of a live sale, and the auctioneer's view of it: pages that follow the desk of the sale by scripts."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.block import FLOOR
from saleroom.bidding.domain.events import Channel
from saleroom.http.endpoints import KEY_HEADER, KEY_LENGTH_MAX, digest
from saleroom.http.problems import body_of, headers_of, status_of
from saleroom.http.requests import header, session_token
from saleroom.http.responses import json_response
from saleroom.kernel.currency import decimals
from saleroom.kernel.errors import Fault, Invalid, Refusal, Unauthenticated
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.api.block import ACT
from saleroom.sales.api.fields import REASON_MAX
from saleroom.sales.domain.block import Act, BlockAct
from saleroom.sales.service.live import desk
from saleroom.sales.services import SaleServices
from saleroom.sales.web.block_words import OF_A_PADDLE
from saleroom.sales.web.catalogue import sale_gid
from saleroom.site.amounts import notation
from saleroom.site.language import Language
from saleroom.site.site import Site, fields, for_users

CONSOLE = "/sales/{gid}/console"
AUCTIONEER = "/sales/{gid}/auctioneer"
STATE = "/sales/{gid}/console/state"
_PADDLE = re.compile(r"[0-9]{1,6}")
_encode = msgspec.json.Encoder().encode
NOT_KEPT = {"Cache-Control": "no-store"}


class ConsolePages:
    """The console, its acts, and the state that it and the auctioneer's view show."""

    def __init__(self, site: Site, services: SaleServices) -> None:
        self._site = site
        self._services = services

    async def console(self, request: Request) -> Response:
        """GET /sales/{gid}/console: the clerk's console."""
        return await self._page(request, "console.html")

    async def auctioneer(self, request: Request) -> Response:
        """GET /sales/{gid}/auctioneer: what the auctioneer reads on the rostrum."""
        return await self._page(request, "auctioneer.html")

    async def state(self, request: Request) -> Response:
        """GET /sales/{gid}/console/state: the desk in JSON."""
        try:
            found = await self._services.database.read(desk.shown, session_token(request), sale_gid(request))
        except Refusal as refused:
            return refusal(self._site, request, refused)
        return json_response(found, 200, NOT_KEPT)

    async def act(self, request: Request) -> Response:
        """POST /sales/{gid}/console: one act, with an Idempotency-Key; the answer is the desk in JSON.

        `tag` is that of the block right after the act, on which the next act of the same sender rests.
        """
        try:
            gid, sent = sale_gid(request), await fields(request)
            token = session_token(request)
            if token is None:
                raise Unauthenticated
            values, key = _read(sent), key_of(request)
            once = None if key is None else IdempotencyKey(key, digest("POST", CONSOLE, gid, values))
            asked = BlockAct(**values | {"act": Act(values["act"]), "channel": Channel(values.get("channel", "floor"))})
            answer = await self._services.acts.do(token, gid, asked, once)
            found = await self._services.database.read(desk.shown, token, gid)
            return json_response({"tag": msgspec.json.decode(answer)["tag"], "desk": found}, 200, NOT_KEPT)
        except Refusal as refused:
            return refusal(self._site, request, refused)

    @for_users
    async def _page(self, request: Request, template: str) -> Response:
        gid, language = sale_gid(request), self._site.language(request)
        viewer, (sale, found) = await self._site.read(request, desk.opened, gid)
        context = {
            "sale": sale,
            "desk": msgspec.to_builtins(found),
            "currency": self._services.currency,
            "decimals": decimals(self._services.currency),
            "notation": notation(language.currency, language.locale),
            "example": language.example,
            "floor": FLOOR,
            "reason_max": REASON_MAX,
            "login": self._site.login_address(f"/sales/{gid}/console"),
            "language": language,
        }
        return self._site.page(request, template, viewer, context, headers=NOT_KEPT)


def refusal(site: Site, request: Request, refused: Refusal) -> Response:
    """Return a refusal in the reader's words, with its code and its facts, by which the script knows what to ask next."""
    language = site.language(request)
    said = " ".join(dict.fromkeys(site.words.field_faults(language, refused).values()))
    words = said or str(to_clerk(site, language, refused))
    return json_response(
        {**body_of(refused), "message": words}, status_of(refused), {**NOT_KEPT, **headers_of(refused)}
    )


def to_clerk(site: Site, language: Language, refused: Refusal) -> Markup:
    """Return the sentences on a refusal for those who have acted for a bidder."""
    words = site.words
    return replace(words, refusals={**words.refusals, **OF_A_PADDLE}).refusal(language, refused)


def _read(sent: dict[str, str]) -> dict[str, Any]:
    """Return the members of an act as the API reads them. Raises Invalid."""
    said: dict[str, Any] = {name: value for name, value in sent.items() if name != "csrfToken" and value.strip()}
    if _PADDLE.fullmatch(said.get("paddle", "")):
        said["paddle"] = int(said["paddle"])
    if _PADDLE.fullmatch(said.get("pledge", "")):
        said["pledge"] = int(said["pledge"])
    for name in ("accepted", "again"):
        if name in said:
            said[name] = said[name] == "true"
    return ACT.read(_encode(said))


def key_of(request: Request) -> str | None:
    """Return the key of a request. Raises Invalid if it is too long."""
    key = header(request.scope, KEY_HEADER)
    if key is not None and not 1 <= len(key) <= KEY_LENGTH_MAX:
        raise Invalid({"Idempotency-Key": [Fault("key_length", f"must have 1 to {KEY_LENGTH_MAX} characters")]})
    return key
