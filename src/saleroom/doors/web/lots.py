"""The page of a lot, its bid box, and the whole history of its bids."""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timedelta
from decimal import Decimal

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from saleroom.domain.accounts import Account
from saleroom.domain.bidding import BidRequest
from saleroom.domain.errors import Fault, Invalid, Refused, Unauthenticated, UnknownAuction
from saleroom.domain.money import parse_money
from saleroom.domain.views import BidAnswer, instant
from saleroom.doors.api.resource import digest
from saleroom.doors.guard import forgery_token, session_token
from saleroom.doors.problems import headers_of, status_of
from saleroom.doors.web import words
from saleroom.doors.web.language import N_, Language
from saleroom.doors.web.live import BIDS_SHOWN, role_of
from saleroom.doors.web.site import Site, fields, go_to, is_fragment, lot_gid, to_log_in
from saleroom.service import bidding, lot
from saleroom.service.bidding import BidCommand
from saleroom.service.lot import Lot
from saleroom.service.once import Once
from saleroom.storage.database import Transaction

BIDS_PER_PAGE = 50
KEY_BYTES = 16
_NUMBER = re.compile(r"[0-9]{1,9}")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BELOW_LEAST = N_("Bid %(amount)s or more.")
_BELOW_BID = N_("The limit must be at least as high as the bid.")
_BELOW_LIMIT = N_("You have a limit of %(amount)s already. A new one must be higher.")


class Asked(Struct, frozen=True):
    """A bid that its bidder is to confirm, exactly as it will be placed; `key` makes it count once."""

    amount: Decimal | None
    maximum: Decimal | None
    buy: bool
    key: str


class Lots:
    """The pages of lots."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        """GET /lots/{gid}: the lot, with its newest bids and what its reader can do."""
        return await self._page(request)

    async def bids(self, request: Request) -> Response:
        """GET /lots/{gid}/bids: the whole history, by page."""
        before = _before(request)
        viewer, found = await self._site.read(request, _lot, lot_gid(request), BIDS_PER_PAGE, before)
        context = {"a": found.auction, "bids": found.bids, "older": found.older, "first": before is None}
        return self._site.page(request, "bids.html", viewer, context)

    async def box(self, request: Request) -> Response:
        """GET /lots/{gid}/box: the bid box alone, as it is now."""
        return await self._page(request, part="parts/lot_box.html")

    async def bid(self, request: Request) -> Response:
        """POST /lots/{gid}/bid: show what the bid means; once it is confirmed, place it."""
        token = session_token(request)
        if token is None or await self._site.viewer(request) is None:
            return to_log_in(request)
        sent = await fields(request)
        try:
            if "confirmed" in sent:
                return await self._place(request, token, sent)
            return await self._check(request, sent)
        except Refused as refused:
            return await self._refused(request, refused, sent)

    async def buy(self, request: Request) -> Response:
        """POST /lots/{gid}/buy: show what buying now means; once it is confirmed, buy."""
        token, gid = session_token(request), lot_gid(request)
        if token is None or await self._site.viewer(request) is None:
            return to_log_in(request)
        sent = await fields(request)
        if "confirmed" not in sent:
            return await self._page(request, asked=Asked(None, None, buy=True, key=_new_key()))
        try:
            once = Once(_key(sent), digest("POST", "/auctions/{gid}/buy", gid, {}))
            house = self._site.house
            body = await house.write(bidding.buy_now, token, gid, once, house.database.clock_now())
        except Refused as refused:
            return await self._refused(request, refused, {})
        return await self._answered(request, body)

    async def _check(self, request: Request, sent: dict[str, str]) -> Response:
        """Show what the bid means. Raises Invalid with the faults of its fields, in the reader's language."""
        language = self._site.renderer.language(request)
        _, found = await self._site.read(request, _lot, lot_gid(request), BIDS_SHOWN, None)
        asked, faults = _read(language, found, sent)
        if faults:
            return await self._page(request, sent=sent, faults=faults, status=400)
        return await self._page(request, asked=asked)

    async def _place(self, request: Request, token: str, sent: dict[str, str]) -> Response:
        gid = lot_gid(request)
        values = {"amount": _exact(sent, "exactAmount"), "maximum": _exact(sent, "exactMaximum")}
        if values == {"amount": None, "maximum": None}:
            raise Invalid.one("amount", "required", "is required")
        said = {name: str(value) for name, value in values.items() if value is not None}
        once = Once(_key(sent), digest("POST", "/auctions/{gid}/bids", gid, said))
        house = self._site.house
        bid = BidRequest(**values, received_at=house.database.clock_now())
        body = await house.desk.place(BidCommand(token, gid, bid, once))
        return await self._answered(request, body)

    async def _answered(self, request: Request, body: bytes) -> Response:
        if not is_fragment(request):
            return go_to(f"/lots/{lot_gid(request)}#lot-box")
        answer = msgspec.json.decode(body, type=BidAnswer)
        return await self._page(request, answer=answer, part="parts/lot_answer.html")

    async def _refused(self, request: Request, refused: Refused, sent: dict[str, str]) -> Response:
        """Show the box again, with why. Raises what has nothing to do with the bid."""
        if isinstance(refused, Unauthenticated):
            return to_log_in(request)
        if isinstance(refused, UnknownAuction):
            raise refused
        language = self._site.renderer.language(request)
        return await self._page(
            request,
            message=words.refusal(language, refused),
            status=status_of(refused),
            headers=headers_of(refused),
            part="parts/lot_answer.html",
        )

    async def _page(
        self,
        request: Request,
        *,
        asked: Asked | None = None,
        answer: BidAnswer | None = None,
        message: str | None = None,
        sent: dict[str, str] | None = None,
        faults: dict[str, str] | None = None,
        part: str = "parts/lot_box.html",
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Return the page, or the `part` of it that htmx asked for."""
        viewer, found = await self._site.read(request, _lot, lot_gid(request), BIDS_SHOWN, None)
        context = {
            "lot": found,
            "a": found.auction,
            "role": _role(found, viewer),
            "extended": _is_extended(found),
            "asked": asked,
            "answer": answer,
            "message": message,
            "sent": None if sent is None else {"amount": "", "maximum": "", **sent},
            "faults": faults or {},
            "origin": self._site.origin(request),
            "now": instant(await self._site.house.database.read(Transaction.now)),
        }
        renderer = self._site.renderer
        if not is_fragment(request):
            return renderer.page(request, "lot.html", viewer, context, status=status, headers=headers or {})
        context |= {"viewer": viewer, "forgery_token": lambda: forgery_token(request)}
        html = renderer.fragment(renderer.language(request), part, context)
        return HTMLResponse(html, status, {"Cache-Control": "private, no-store", **(headers or {})})


def _read(language: Language, found: Lot, sent: dict[str, str]) -> tuple[Asked, dict[str, str]]:
    """Return what a form asks for, and by field what is wrong with it, as far as everybody may know."""
    faults: dict[str, str] = {}
    values: dict[str, Decimal | None] = {"amount": None, "maximum": None}
    leading = found.standing == "leading"
    for name in values:
        text = sent.get(name, "").strip()
        needed = leading == (name == "maximum") and (leading or not sent.get("maximum", "").strip())
        if text or needed:
            value = language.parse_money(text)
            if isinstance(value, Fault):
                faults[name] = value.message
            else:
                values[name] = value
    amount, maximum = values["amount"], values["maximum"]
    least = Decimal(found.auction.minimum_bid or 0)
    if amount is not None and amount < least:
        faults["amount"] = language.gettext(_BELOW_LEAST, amount=language.money(least))
    if maximum is not None and amount is not None and maximum < amount and "amount" not in faults:
        faults["maximum"] = language.gettext(_BELOW_BID)
    elif leading and maximum is not None and found.limit is not None and maximum <= found.limit:
        faults["maximum"] = language.gettext(_BELOW_LIMIT, amount=language.money(found.limit))
    elif not leading and maximum is not None and maximum < least:
        faults["maximum"] = language.gettext(_BELOW_LEAST, amount=language.money(least))
    return Asked(amount, maximum, buy=False, key=_new_key()), faults


def _lot(tx: Transaction, token: str | None, gid: str, limit: int, before: int | None) -> Lot:
    return lot.show(tx, token, gid, limit, before)


def _role(found: Lot, viewer: Account | None) -> str:
    return role_of(found.auction, viewer, has_bid=found.standing is not None)


def _is_extended(found: Lot) -> bool:
    """Return whether the end is where a late bid has moved it (rules.md, rule 6)."""
    rule, ends_at = found.soft_close, found.auction.ends_at
    if rule is None or ends_at is None or found.auction.status != "open":
        return False
    late = datetime.fromisoformat(ends_at) - timedelta(seconds=rule.extension)
    return any(datetime.fromisoformat(bid.placed_at) == late for bid in found.bids)


def _new_key() -> str:
    return secrets.token_urlsafe(KEY_BYTES)


def _key(sent: dict[str, str]) -> str:
    if _KEY.fullmatch(sent.get("key", "")) is None:
        raise Invalid.one("key", "required", "is missing; open the lot again")
    return sent["key"]


def _exact(sent: dict[str, str], name: str) -> Decimal | None:
    """Return an amount as the form of the house itself writes it, as on the wire. Raises Invalid."""
    if name not in sent:
        return None
    found = parse_money(sent[name])
    if isinstance(found, Fault):
        raise Invalid({"amount": [found]})
    return found


def _before(request: Request) -> int | None:
    text = request.query_params.get("before")
    if text is not None and _NUMBER.fullmatch(text) is None:
        raise Invalid.one("before", "cursor", "is not the number of a bid; open the lot without it")
    return None if text is None else int(text)
