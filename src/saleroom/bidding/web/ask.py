"""Taking the ask: on the block of a live sale a bid has one amount, that of the button, and is placed by one press."""

from __future__ import annotations

import re
from decimal import Decimal

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import NotOnBlock, UnknownAuction
from saleroom.bidding.domain.views import AuctionView, BidAnswer
from saleroom.bidding.service import bidding, lot
from saleroom.bidding.service.bidding import BidCommand
from saleroom.bidding.service.lot import LotDetails
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.lots import lot_gid, role_of
from saleroom.http.endpoints import digest
from saleroom.http.problems import headers_of, status_of
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Fault, Invalid, Refusal, Unauthenticated
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.money import parse_money
from saleroom.site.site import Site, fields, go_to, is_fragment, local
from saleroom.storage.database import Transaction

_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")


class AskPart(Struct, frozen=True):
    """The reader's part in a lot on the block."""

    role: str
    may_bid: bool


class AskPages:
    """POST /lots/{gid}/ask."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def bid(self, request: Request) -> Response:
        """POST /lots/{gid}/ask: bid the amount that the button named; with `asked`, say only whether that has arrived."""
        gid, token, sent = lot_gid(request), session_token(request), await fields(request)
        back = local(sent.get("back"), f"/lots/{gid}")
        if token is None:
            return self._site.to_log_in(request, back)
        amount, once = _amount(sent), None
        key = sent.get("key", "")
        if _KEY.fullmatch(key) is not None:
            once = IdempotencyKey(key, digest("POST", "/auctions/{gid}/bids", gid, {"amount": amount}))
        try:
            if "asked" not in sent:
                body = await self._place(token, gid, amount, once)
            elif (
                once is None
                or (earlier := await self._services.database.read(bidding.earlier_answer, token, once)) is None
            ):
                return Response(status_code=204)
            else:
                body = earlier
        except Unauthenticated:
            return self._site.to_log_in(request, back)
        except Refusal as refused:
            if isinstance(refused, UnknownAuction) or not is_fragment(request) or status_of(refused) >= 429:
                raise
            return await self._answer(request, None, refused)
        if not is_fragment(request):
            return go_to(back)
        return await self._answer(request, msgspec.json.decode(body, type=BidAnswer), None)

    async def _place(self, token: str, gid: str, amount: Decimal, once: IdempotencyKey | None) -> bytes:
        """Place the bid. Raises Refusal; NotOnBlock if the lot has left the block, where this would be another kind of bid."""
        services = self._services
        earlier = None if once is None else await services.database.read(bidding.earlier_answer, token, once)
        if earlier is not None:
            return earlier
        shown = msgspec.json.decode((await services.auction_views.ask((gid, None))).json, type=AuctionView)
        if not shown.stage and shown.status not in ("closed", "cancelled"):
            raise NotOnBlock
        bid = BidRequest(amount, None, received_at=services.database.clock_now())
        return await services.desk.place(BidCommand(token, gid, bid, once))

    async def _answer(self, request: Request, answer: BidAnswer | None, refused: Refusal | None) -> Response:
        """Return what came of the bid, and the ask as it is now."""
        language = self._site.language(request)
        viewer, found = await self._site.read(request, _lot, lot_gid(request))
        role = role_of(found.auction, viewer, found.known_as, has_bid=found.standing is not None)
        context = {
            "a": found.auction,
            "part": AskPart(role, may_bid=not found.own),
            "answer": answer,
            "message": self._site.words.message(language, refused),
            "oob": False,
        }
        html = self._site.renderer.fragment(language, "parts/ask_answer.html", context)
        status, headers = (200, {}) if refused is None else (status_of(refused), headers_of(refused))
        return HTMLResponse(html, status, {"Cache-Control": "private, no-store", **headers})


def _lot(tx: Transaction, token: str | None, gid: str) -> LotDetails:
    return lot.show(tx, token, gid, 1, None)


def _amount(sent: dict[str, str]) -> Decimal:
    """Return the amount that the page itself wrote into the form, as on the wire. Raises Invalid."""
    found = parse_money(sent.get("amount", ""))
    if isinstance(found, Fault):
        raise Invalid({"amount": [found]})
    return found
