"""The page of a lot, its bid box, and the whole history of its bids."""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import AuctionChanged, BuyNowUnavailable, TermsChanged, UnknownAuction
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.views import AuctionView, BidAnswer
from saleroom.bidding.service import bidding, lot, reading
from saleroom.bidding.service.bidding import BidCommand
from saleroom.bidding.service.lot import LotDetails
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web import words
from saleroom.http.endpoints import digest
from saleroom.http.forgery import forgery_token
from saleroom.http.problems import headers_of, status_of
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Fault, Invalid, Refusal, Unauthenticated
from saleroom.kernel.identifiers import GID, IdempotencyKey
from saleroom.kernel.instants import instant
from saleroom.kernel.money import ZERO, parse_money
from saleroom.site.language import N_, Language
from saleroom.site.site import Site, Viewer, fields, go_to, is_fragment
from saleroom.storage.database import Transaction

BIDS_SHOWN = 20
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


class Role(StrEnum):
    """A reader's part in a lot, as far as its page depends on it."""

    VISITOR = "visitor"
    LEADING = "leading"
    OUTBID = "outbid"
    SELLER = "seller"


class Proposal(Struct, frozen=True):
    """A bid for its bidder to confirm, exactly as it will be placed; with its `key` it counts once."""

    amount: Decimal | None
    maximum: Decimal | None
    buy: bool
    key: str


class LotPages:
    """The pages of lots."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /lots/{gid}: the lot, with its newest bids and what the reader can do."""
        return await self._page(request)

    async def bids(self, request: Request) -> Response:
        """GET /lots/{gid}/bids: the whole history of bids, by page."""
        before = _before(request)
        viewer, found = await self._site.read(request, _lot, lot_gid(request), BIDS_PER_PAGE, before)
        context = {"a": found.auction, "bids": found.bids, "older": found.older, "first": before is None}
        return self._site.page(request, "bids.html", viewer, context)

    async def box(self, request: Request) -> Response:
        """GET /lots/{gid}/box: the bid box alone, as it is now."""
        return await self._page(request)

    async def bid(self, request: Request) -> Response:
        """POST /lots/{gid}/bid: show the meaning of the bid, or place it if it is confirmed."""
        return await self._step(request, buy=False)

    async def buy(self, request: Request) -> Response:
        """POST /lots/{gid}/buy: show the meaning of buying now, or buy if it is confirmed."""
        return await self._step(request, buy=True)

    async def _step(self, request: Request, *, buy: bool) -> Response:
        token = session_token(request)
        if token is None or await self._site.viewer(request) is None:
            return self._site.to_log_in(request)
        sent = await fields(request)
        if "confirmed" not in sent:
            return await self._check(request, sent, buy=buy)
        proposal: Proposal | None = None
        try:
            proposal, seen = _confirmed(sent, buy=buy)
            return await self._answered(request, await self._place(request, token, proposal, seen))
        except AuctionChanged as changed:
            assert proposal is not None, "only a confirmed bid is refused like this"
            said = self._site.language(request).gettext(_NOT_BOUGHT if buy else _NOT_BID)
            return await self._again(request, proposal, Precondition(version=changed.seen), said)
        except Refusal as refused:
            return await self._refused(request, refused)

    async def _check(self, request: Request, sent: dict[str, str], *, buy: bool) -> Response:
        """Show the meaning of the bid, and the changes since its bidder saw the lot."""
        since = _version(sent)
        if buy:
            return await self._page(request, proposal=Proposal(None, None, buy=True, key=_new_key()), since=since)
        _, found = await self._site.read(request, _lot, lot_gid(request), BIDS_SHOWN, None)
        proposal, faults = _read(self._site.language(request), found, sent)
        if faults:
            return await self._page(request, sent=sent, faults=faults, since=since, status=400)
        return await self._page(request, proposal=proposal, since=since)

    async def _again(self, request: Request, proposal: Proposal, seen: Precondition, message: str) -> Response:
        """Ask to confirm the same again, with the reason in `message`; nothing was done."""
        proposal = msgspec.structs.replace(proposal, key=_new_key())
        part = "parts/lot_answer.html"
        return await self._page(request, proposal=proposal, since=seen.version, message=message, part=part, status=409)

    async def _place(self, request: Request, token: str, proposal: Proposal, seen: Precondition) -> bytes:
        """Place the confirmed bid, if the lot is still as its bidder saw it. Raises Refusal."""
        gid, services = lot_gid(request), self._services
        bid = BidRequest(proposal.amount, proposal.maximum, received_at=services.database.clock_now(), seen=seen)
        said = {
            "amount": proposal.amount,
            "maximum": proposal.maximum,
            "price": seen.price,
            "seen_version": seen.version,
        }
        said = {name: value for name, value in said.items() if value is not None}
        once = IdempotencyKey(
            proposal.key, digest("POST", f"/auctions/{{gid}}/{'buy' if proposal.buy else 'bids'}", gid, said)
        )
        if proposal.buy:
            return await services.tokens.write(bidding.buy_now, token, gid, once, bid)
        return await services.desk.place(BidCommand(token, gid, bid, once))

    async def _answered(self, request: Request, body: bytes) -> Response:
        if not is_fragment(request):
            return go_to(f"/lots/{lot_gid(request)}#lot-box")
        answer = msgspec.json.decode(body, type=BidAnswer)
        return await self._page(request, answer=answer, part="parts/lot_answer.html")

    async def _refused(self, request: Request, refused: Refusal) -> Response:
        """Show the bid box again, with the reason. Raises a refusal that is not about the bid."""
        if isinstance(refused, Unauthenticated):
            return self._site.to_log_in(request)
        if isinstance(refused, UnknownAuction):
            raise refused
        return await self._page(
            request,
            message=self._site.words.refusal(self._site.language(request), refused),
            status=status_of(refused),
            headers=headers_of(refused),
            part="parts/lot_answer.html",
        )

    async def _page(
        self,
        request: Request,
        *,
        proposal: Proposal | None = None,
        answer: BidAnswer | None = None,
        message: str | None = None,
        sent: dict[str, str] | None = None,
        faults: dict[str, str] | None = None,
        since: int | None = None,
        part: str = "parts/lot_fresh_box.html",
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Return the page, or for htmx the `part` of it, with the changes since the version `since`."""
        viewer, (found, changed) = await self._site.read(request, _lot_since, lot_gid(request), since)
        if proposal is not None and proposal.buy and (found.auction.buy_now_price is None or found.auction.bid_count):
            unavailable = BuyNowUnavailable(minimum_bid=_amount(found.auction.minimum_bid))
            proposal, status = None, status_of(unavailable)
            message = message or self._site.words.refusal(self._site.language(request), unavailable)
        if changed is not None:
            message = message or self._site.language(request).gettext(_READ_AGAIN)
        language = self._site.language(request)
        context = {
            "lot": found,
            "a": found.auction,
            "role": _role(found, viewer),
            "extended": _is_extended(found),
            "proposal": proposal,
            "answer": answer,
            "message": message,
            "changes": words.changes(language, changed),
            "sent": None if sent is None else {"amount": "", "maximum": "", **sent},
            "faults": faults or {},
            "origin": self._site.origin(request),
            "now": instant(await self._services.database.read(Transaction.now)),
            "viewer": viewer,
            "viewer_known": True,
        }
        renderer = self._site.renderer
        if not is_fragment(request):
            return renderer.page(request, language, "lot.html", context, status=status, headers=headers or {})
        context |= {"forgery_token": lambda: forgery_token(request)}
        html = renderer.fragment(language, part, context)
        return HTMLResponse(html, status, {"Cache-Control": "private, no-store", **(headers or {})})


def lot_gid(request: Request) -> str:
    """Return the gid in the path of a lot's page. Raises UnknownAuction if no lot can have it."""
    found: str = request.path_params["gid"]
    if GID.fullmatch(found) is None:
        raise UnknownAuction
    return found


def role_of(a: AuctionView, viewer: Viewer | None, *, has_bid: bool) -> Role:
    """Return the part of `viewer` in a lot."""
    if viewer is None:
        return Role.VISITOR
    if viewer.username == a.author:
        return Role.SELLER
    if viewer.username == a.current_bidder:
        return Role.LEADING
    return Role.OUTBID if has_bid else Role.VISITOR


def _read(language: Language, found: LotDetails, sent: dict[str, str]) -> tuple[Proposal, dict[str, str]]:
    """Return the bid in a form, and its faults by field, as far as everyone may know them."""
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
    return Proposal(amount, maximum, buy=False, key=_new_key()), faults


def _lot(tx: Transaction, token: str | None, gid: str, limit: int, before: int | None) -> LotDetails:
    return lot.show(tx, token, gid, limit, before)


def _lot_since(
    tx: Transaction, token: str | None, gid: str, since: int | None
) -> tuple[LotDetails, AuctionChanged | None]:
    """Return a lot, and the changes if its terms were others at the version `since`."""
    found = _lot(tx, token, gid, BIDS_SHOWN, None)
    if since is None or found.terms_version <= since <= found.auction.version:
        return found, None
    version, changes = reading.changed_since(tx, gid, since)
    return found, TermsChanged(seen=since, changes=changes, version=version)


def _role(found: LotDetails, viewer: Viewer | None) -> str:
    return role_of(found.auction, viewer, has_bid=found.standing is not None)


def _is_extended(found: LotDetails) -> bool:
    """Return whether a late bid has moved the end to where it is (docs/rules.md, rule 6)."""
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


def _confirmed(sent: dict[str, str], *, buy: bool) -> tuple[Proposal, Precondition]:
    """Return the confirmed bid, and the state of the lot that its bidder had seen. Raises Invalid."""
    version, price = _version(sent), _exact(sent, "price") if buy else None
    if version is None or (buy and price is None):
        raise Invalid.one("version", "required", "is missing; open the lot again")
    amount, maximum = (None, None) if buy else (_exact(sent, "exactAmount"), _exact(sent, "exactMaximum"))
    if not buy and amount is maximum is None:
        raise Invalid.one("amount", "required", "is required")
    return Proposal(amount, maximum, buy=buy, key=_key(sent)), Precondition(version=version, price=price)


def _version(sent: dict[str, str]) -> int | None:
    """Return the version of the lot that a form was shown with, or None."""
    text = sent.get("version", "")
    return int(text) if _NUMBER.fullmatch(text) else None


def _amount(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _exact(sent: dict[str, str], name: str) -> Decimal | None:
    """Return an amount that the page itself wrote into the form, as on the wire. Raises Invalid."""
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
