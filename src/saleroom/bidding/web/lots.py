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

from saleroom.accounts.domain.accounts import Account
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import AuctionChanged, BuyNowUnavailable, TermsChanged, UnknownAuction
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.views import BidAnswer
from saleroom.bidding.service import bidding, lot, reading
from saleroom.bidding.service.bidding import BidCommand
from saleroom.bidding.service.lot import LotDetails
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.live import BIDS_SHOWN, role_of
from saleroom.http.endpoints import digest
from saleroom.http.forgery import forgery_token
from saleroom.http.problems import headers_of, status_of
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Fault, Invalid, Refused, Unauthenticated
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.instants import instant
from saleroom.kernel.money import ZERO, parse_money
from saleroom.site import words
from saleroom.site.language import N_, Language
from saleroom.site.site import Site, fields, go_to, is_fragment, lot_gid, to_log_in
from saleroom.storage.database import Transaction

BIDS_PER_PAGE = 50
KEY_BYTES = 16
_NUMBER = re.compile(r"[0-9]{1,9}")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_READ_AGAIN = N_("This lot was changed after you saw it. Read what is new before you go on.")
_NOT_BID = N_("This lot was changed after you saw it. No bid was placed.")
_NOT_BOUGHT = N_("This lot was changed after you saw it. Nothing was bought.")
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

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

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
        return await self._page(request)

    async def bid(self, request: Request) -> Response:
        """POST /lots/{gid}/bid: show what the bid means; once it is confirmed, place it."""
        return await self._step(request, buy=False)

    async def buy(self, request: Request) -> Response:
        """POST /lots/{gid}/buy: show what buying now means; once it is confirmed, buy."""
        return await self._step(request, buy=True)

    async def _step(self, request: Request, *, buy: bool) -> Response:
        token = session_token(request)
        if token is None or await self._site.viewer(request) is None:
            return to_log_in(request)
        sent = await fields(request)
        if "confirmed" not in sent:
            return await self._check(request, sent, buy=buy)
        asked: Asked | None = None
        try:
            asked, seen = _confirmed(sent, buy=buy)
            return await self._answered(request, await self._place(request, token, asked, seen))
        except AuctionChanged as changed:
            assert asked is not None, "nothing else is refused so"
            said = self._language(request).gettext(_NOT_BOUGHT if buy else _NOT_BID)
            return await self._again(request, asked, Precondition(version=changed.seen), said)
        except Refused as refused:
            return await self._refused(request, refused)

    async def _check(self, request: Request, sent: dict[str, str], *, buy: bool) -> Response:
        """Show what the bid means, and what has changed since its bidder has seen the lot."""
        since = _version(sent)
        if buy:
            return await self._page(request, asked=Asked(None, None, buy=True, key=_new_key()), since=since)
        _, found = await self._site.read(request, _lot, lot_gid(request), BIDS_SHOWN, None)
        asked, faults = _read(self._language(request), found, sent)
        if faults:
            return await self._page(request, sent=sent, faults=faults, since=since, status=400)
        return await self._page(request, asked=asked, since=since)

    async def _again(self, request: Request, asked: Asked, seen: Precondition, message: str) -> Response:
        """Ask for another confirmation of the same, with the `message` why; nothing was done."""
        asked = msgspec.structs.replace(asked, key=_new_key())
        part = "parts/lot_answer.html"
        return await self._page(request, asked=asked, since=seen.version, message=message, part=part, status=409)

    async def _place(self, request: Request, token: str, asked: Asked, seen: Precondition) -> bytes:
        """Do what was confirmed, if the lot is still what was seen. Raises Refused."""
        gid, services = lot_gid(request), self._services
        bid = BidRequest(asked.amount, asked.maximum, received_at=services.database.clock_now(), seen=seen)
        said = {"amount": asked.amount, "maximum": asked.maximum, "price": seen.price, "seen_version": seen.version}
        said = {name: value for name, value in said.items() if value is not None}
        once = IdempotencyKey(
            asked.key, digest("POST", f"/auctions/{{gid}}/{'buy' if asked.buy else 'bids'}", gid, said)
        )
        if asked.buy:
            return await services.tokens.write(bidding.buy_now, token, gid, once, bid, services.signing_key)
        return await services.desk.place(BidCommand(token, gid, bid, once))

    async def _answered(self, request: Request, body: bytes) -> Response:
        if not is_fragment(request):
            return go_to(f"/lots/{lot_gid(request)}#lot-box")
        answer = msgspec.json.decode(body, type=BidAnswer)
        return await self._page(request, answer=answer, part="parts/lot_answer.html")

    async def _refused(self, request: Request, refused: Refused) -> Response:
        """Show the box again, with why. Raises what has nothing to do with the bid."""
        if isinstance(refused, Unauthenticated):
            return to_log_in(request)
        if isinstance(refused, UnknownAuction):
            raise refused
        return await self._page(
            request,
            message=words.refusal(self._language(request), refused),
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
        since: int | None = None,
        part: str = "parts/lot_fresh_box.html",
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Return the page, or the `part` of it that htmx asked for, with what has changed `since` that version."""
        viewer, (found, changed) = await self._site.read(request, _lot_since, lot_gid(request), since)
        if asked is not None and asked.buy and (found.auction.buy_now_price is None or found.auction.bid_count):
            unavailable = BuyNowUnavailable(minimum_bid=_amount(found.auction.minimum_bid))
            asked, status = None, status_of(unavailable)
            message = message or words.refusal(self._language(request), unavailable)
        if changed is not None:
            message = message or self._language(request).gettext(_READ_AGAIN)
        context = {
            "lot": found,
            "a": found.auction,
            "role": _role(found, viewer),
            "extended": _is_extended(found),
            "asked": asked,
            "answer": answer,
            "message": message,
            "changes": words.changes(self._language(request), changed),
            "sent": None if sent is None else {"amount": "", "maximum": "", **sent},
            "faults": faults or {},
            "origin": self._site.origin(request),
            "now": instant(await self._services.database.read(Transaction.now)),
        }
        renderer = self._site.renderer
        if not is_fragment(request):
            return renderer.page(request, "lot.html", viewer, context, status=status, headers=headers or {})
        context |= {"viewer": viewer, "forgery_token": lambda: forgery_token(request)}
        html = renderer.fragment(renderer.language(request), part, context)
        return HTMLResponse(html, status, {"Cache-Control": "private, no-store", **(headers or {})})

    def _language(self, request: Request) -> Language:
        return self._site.renderer.language(request)


def _read(language: Language, found: LotDetails, sent: dict[str, str]) -> tuple[Asked, dict[str, str]]:
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
    least = _amount(found.auction.minimum_bid) or ZERO
    if amount is not None and amount < least:
        faults["amount"] = language.gettext(_BELOW_LEAST, amount=language.money(least))
    if maximum is not None and amount is not None and maximum < amount and "amount" not in faults:
        faults["maximum"] = language.gettext(_BELOW_BID)
    elif leading and maximum is not None and found.limit is not None and maximum <= found.limit:
        faults["maximum"] = language.gettext(_BELOW_LIMIT, amount=language.money(found.limit))
    elif not leading and maximum is not None and maximum < least:
        faults["maximum"] = language.gettext(_BELOW_LEAST, amount=language.money(least))
    return Asked(amount, maximum, buy=False, key=_new_key()), faults


def _lot(tx: Transaction, token: str | None, gid: str, limit: int, before: int | None) -> LotDetails:
    return lot.show(tx, token, gid, limit, before)


def _lot_since(
    tx: Transaction, token: str | None, gid: str, since: int | None
) -> tuple[LotDetails, AuctionChanged | None]:
    """Return a lot, and what has changed where something else was offered at the version `since`."""
    found = _lot(tx, token, gid, BIDS_SHOWN, None)
    if since is None or found.terms_version <= since <= found.auction.version:
        return found, None
    version, changes = reading.changed_since(tx, gid, since)
    return found, TermsChanged(seen=since, changes=changes, version=version)


def _role(found: LotDetails, viewer: Account | None) -> str:
    return role_of(found.auction, viewer, has_bid=found.standing is not None)


def _is_extended(found: LotDetails) -> bool:
    """Return whether the end is where a late bid has moved it (docs/rules.md, rule 6)."""
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


def _confirmed(sent: dict[str, str], *, buy: bool) -> tuple[Asked, Precondition]:
    """Return what was confirmed, and what its bidder had seen of the lot. Raises Invalid."""
    version, price = _version(sent), _exact(sent, "price") if buy else None
    if version is None or (buy and price is None):
        raise Invalid.one("version", "required", "is missing; open the lot again")
    amount, maximum = (None, None) if buy else (_exact(sent, "exactAmount"), _exact(sent, "exactMaximum"))
    if not buy and amount is maximum is None:
        raise Invalid.one("amount", "required", "is required")
    return Asked(amount, maximum, buy=buy, key=_key(sent)), Precondition(version=version, price=price)


def _version(sent: dict[str, str]) -> int | None:
    """Return the version of the lot that a form was shown with; None where it does not say."""
    text = sent.get("version", "")
    return int(text) if _NUMBER.fullmatch(text) else None


def _amount(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


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
