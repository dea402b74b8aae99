"""The page on which those who run the house void bids, take a lot down, or cancel its sale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.bidding.api.moderation import CANCEL, HIDE, VOID
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.domain.voiding import REASON_CHARACTERS_MAX
from saleroom.bidding.service import moderation
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.bid_form import NUMBER
from saleroom.bidding.web.lots import lot_gid
from saleroom.http.forms import Form
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, MissingRight, Refusal
from saleroom.site.site import Site, fields, for_users, go_to


class ModerationPages:
    """What staff do about one lot."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def overview(self, request: Request) -> Response:
        """GET /lots/{gid}/moderate: the bids that can be voided, and the forms to hide and to cancel the lot."""
        return await self._page(request)

    async def void(self, request: Request) -> Response:
        """POST /lots/{gid}/void: void a bid."""
        return await self._do(request, moderation.void_bid, VOID, "void")

    async def hide(self, request: Request) -> Response:
        """POST /lots/{gid}/hide: take the lot down."""
        return await self._do(request, moderation.hide, HIDE, "hide")

    async def show(self, request: Request) -> Response:
        """POST /lots/{gid}/show: show it again."""
        return await self._do(request, moderation.show, None, "show")

    async def cancel(self, request: Request) -> Response:
        """POST /lots/{gid}/cancel: cancel the sale."""
        return await self._do(request, moderation.cancel, CANCEL, "cancel")

    @for_users
    async def _do(self, request: Request, use_case: Callable[..., Any], form: Form | None, name: str) -> Response:
        gid, sent = lot_gid(request), await fields(request)
        reason = sent.get("reason", "").replace("\r\n", " ")
        said: dict[str, Any] = {"reason": reason}
        if form is VOID:
            number = sent.get("bid", "")
            said["bid"] = int(number) if NUMBER.fullmatch(number) else 0
            name = f"void-{said['bid']}"
        try:
            values = {} if form is None else form.read(msgspec.json.encode(said))
            await self._services.tokens.write(use_case, session_token(request) or "", gid, *values.values())
        except (UnknownAuction, MissingRight):
            raise
        except Declined as refused:
            return await self._page(request, refused, form=name, sent=reason)
        return go_to(f"/lots/{gid}/moderate")

    @for_users
    async def _page(
        self, request: Request, refused: Refusal | None = None, *, form: str = "", sent: str = ""
    ) -> Response:
        gid, language = lot_gid(request), self._site.language(request)
        right = Right.VOID_BIDS if form.startswith("void") else Right.MODERATE_LOTS
        viewer, found = await self._site.read(request, moderation.overview, gid, right)
        fault = self._site.words.field_faults(language, refused).get("reason")
        context = {
            "lot": found,
            "a": found.auction,
            "message": None if refused is None or fault else self._site.words.refusal(language, refused),
            "fault": fault,
            "form": form,
            "sent": sent,
            "most": REASON_CHARACTERS_MAX,
        }
        return self._site.page(request, "moderate.html", viewer, context, refused=refused)
