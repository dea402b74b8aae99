"""The page of a lot, its bid box, and the whole history of its bids."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import AuctionChanged, BidTooLow, BuyNowUnavailable, TermsChanged, UnknownAuction
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.questions import ANSWER_CHARACTERS_MAX, QUESTION_CHARACTERS_MAX
from saleroom.bidding.domain.views import AuctionView, BidAnswer, BidView, is_tied, last_amount
from saleroom.bidding.service import bidding, catalogue, lot, reading
from saleroom.bidding.service.bidding import BidCommand
from saleroom.bidding.service.catalogue import Beside, InSale
from saleroom.bidding.service.lot import LotDetails
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web import bid_form, typed_bid, words
from saleroom.bidding.web.bid_form import Proposal
from saleroom.bidding.web.story import mark_of
from saleroom.http.endpoints import digest
from saleroom.http.forgery import OF_ANOTHER_SESSION, forgery_token
from saleroom.http.problems import headers_of, status_of
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Invalid, Refusal, Unauthenticated
from saleroom.kernel.identifiers import GID, IdempotencyKey
from saleroom.kernel.instants import instant
from saleroom.site.language import N_
from saleroom.site.site import Site, Viewer, fields, go_to, is_fragment, is_local
from saleroom.storage.database import Transaction

BIDS_SHOWN = 20
BIDS_PER_PAGE = 50
ANSWER = "parts/lot_answer.html"
_READ_AGAIN = N_("This lot was changed after you saw it. Read what is new before you go on.")
_NOT_BID = N_("This lot was changed after you saw it. No bid was placed.")
_NOT_BOUGHT = N_("This lot was changed after you saw it. Nothing was bought.")
_OVERTAKEN = N_("Overtaken: bid %(amount)s or more.")
_ANOTHER_LOGIN = N_("You have logged in since this page was opened. Nothing was done yet: check your bid once more.")


class Role(StrEnum):
    """A reader's part in a lot, as far as its page depends on it."""

    VISITOR = "visitor"
    LEADING = "leading"
    OUTBID = "outbid"
    SELLER = "seller"


class CardReader(Struct, frozen=True):
    """What the card of a lot says about its reader. `tied`: only an earlier equal bid keeps the reader from the lead."""

    role: Role
    tied: bool


class Asking(Struct, frozen=True, kw_only=True):
    """The result of the form of a question: its text with a `fault` or a `message`, or what is `done`.

    `number` is None for a new question, otherwise that of the one to answer.
    """

    number: int | None = None
    text: str = ""
    fault: str | None = None
    message: str | None = None
    done: str | None = None


class Reply(Struct, frozen=True, kw_only=True):
    """What the page of a lot says beside the lot, and with which status and headers; htmx gets the `part` of it alone.

    `sent` is the form of a bid as it came, with its `faults`. `proposal` is a bid that waits to be confirmed, and `answer` that
    of one that was placed. The changes since the version `since` are shown.
    """

    sent: dict[str, str] | None = None
    faults: dict[str, str] | None = None
    proposal: Proposal | None = None
    answer: BidAnswer | None = None
    message: str | None = None
    since: int | None = None
    asking: Asking | None = None
    part: str = "parts/lot_fresh_box.html"
    status: int = 200
    headers: dict[str, str] | None = None


class LotPages:
    """The pages of lots."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /lots/{gid}: the lot, with its newest bids and what the reader can do."""
        typed = None if session_token(request) is None else typed_bid.kept(request)
        answer = await self._page(request, Reply(sent=typed))
        if typed is not None:
            typed_bid.forget(answer, lot_gid(request), https=self._site.https)
        return answer

    async def bids(self, request: Request) -> Response:
        """GET /lots/{gid}/bids: the whole history of bids, by page."""
        before = _before(request)
        viewer, found = await self._site.read(request, lot.show, lot_gid(request), BIDS_PER_PAGE, before)
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

    async def asked(self, request: Request, asking: Asking, refused: Refusal | None = None) -> Response:
        """Return the page, or for htmx the part with the form of a question, with what came of it."""
        part = "parts/lot_asking.html" if asking.number is None else "parts/settled_question.html"
        if refused is None:
            return await self._page(request, Reply(asking=asking, part=part))
        return await self._page(
            request, Reply(asking=asking, part=part, status=status_of(refused), headers=headers_of(refused))
        )

    async def _step(self, request: Request, *, buy: bool) -> Response:
        gid, token = lot_gid(request), session_token(request)
        viewer, found = await self._site.read(request, lot.show, gid, BIDS_SHOWN, None)
        if token is None or viewer is None:
            answer = self._site.to_log_in(request, f"/lots/{gid}")
            typed = bid_form.typed(self._site.language(request), await fields(request))
            typed_bid.keep(answer, gid, typed, https=self._site.https)
            return answer
        sent = await fields(request)
        if "confirmed" in sent:
            return await self._confirm(request, token, found, sent, buy=buy)
        return await self._check(request, found, sent, buy=buy)

    async def _confirm(
        self, request: Request, token: str, found: LotDetails, sent: dict[str, str], *, buy: bool
    ) -> Response:
        try:
            proposal, seen = bid_form.confirmed(sent, buy=buy)
        except Invalid as refused:
            return await self._refused(request, refused)
        try:
            return await self._go_on(request, token, found, sent, (proposal, seen))
        except AuctionChanged as changed:
            said = self._site.language(request).gettext(_NOT_BOUGHT if buy else _NOT_BID)
            return await self._again(request, proposal.asked_again(), Precondition(version=changed.seen), said)
        except BidTooLow as refused:
            least = refused.facts["minimum_bid"]
            if not isinstance(least, Decimal):
                return await self._refused(request, refused)
            return await self._overtaken(request, proposal, seen, least)
        except Refusal as refused:
            return await self._refused(request, refused)

    async def _go_on(
        self,
        request: Request,
        token: str,
        found: LotDetails,
        sent: dict[str, str],
        confirmed: tuple[Proposal, Precondition],
    ) -> Response:
        """Place a confirmed bid, or ask for its answer, or look at it again. Raises Refusal."""
        proposal, seen = confirmed
        if "asked" in sent:
            return await self._ask(request, token, proposal, seen)
        if "stale" in sent:
            return await self._look_again(request, found, proposal, seen)
        if OF_ANOTHER_SESSION in request.scope:
            said = self._site.language(request).gettext(_ANOTHER_LOGIN)
            return await self._again(request, proposal.asked_again(), seen, said)
        fault = bid_form.slip_fault(self._site.language(request), found.auction, proposal, sent)
        if fault is not None:
            return await self._page(request, Reply(proposal=proposal, sent=sent, faults={"again": fault}, status=400))
        return await self._answered(request, await self._place(request, token, proposal, seen))

    async def _check(self, request: Request, found: LotDetails, sent: dict[str, str], *, buy: bool) -> Response:
        """Show the meaning of the bid, and the changes since its bidder saw the lot."""
        since = bid_form.version(sent)
        if buy:
            return await self._page(request, Reply(proposal=bid_form.purchase(), since=since))
        proposal, faults = bid_form.read(self._site.language(request), found, sent)
        if faults:
            return await self._page(request, Reply(sent=sent, faults=faults, since=since, status=400))
        return await self._page(request, Reply(proposal=proposal, since=since))

    async def _look_again(
        self, request: Request, found: LotDetails, proposal: Proposal, seen: Precondition
    ) -> Response:
        """Show the meaning of a bid that waits for its confirmation while others bid. Nothing is done."""
        least = bid_form.least_bid(found)
        low = least is not None and (proposal.limit < least or (proposal.amount or least) < least)
        if proposal.buy or least is None or found.standing == "leading" or not low:
            return await self._page(request, Reply(proposal=proposal, since=seen.version, part=ANSWER))
        return await self._overtaken(request, proposal, seen, least)

    async def _overtaken(self, request: Request, proposal: Proposal, seen: Precondition, least: Decimal) -> Response:
        """Ask to confirm the next possible bid instead, which is at `least`; nothing was done."""
        language = self._site.language(request)
        said = language.gettext(_OVERTAKEN, amount=language.money(least))
        return await self._again(request, proposal.raised(least), seen, said)

    async def _again(self, request: Request, proposal: Proposal, seen: Precondition, message: str) -> Response:
        """Ask to confirm this bid, with the reason in `message`; nothing was done."""
        return await self._page(
            request, Reply(proposal=proposal, since=seen.version, message=message, part=ANSWER, status=409)
        )

    async def _ask(self, request: Request, token: str, proposal: Proposal, seen: Precondition) -> Response:
        """Answer whether a confirmed bid has arrived, after its answer was lost: as it was answered, otherwise with 204."""
        once = _once(lot_gid(request), proposal, seen)
        body = await self._services.database.read(bidding.earlier_answer, token, once)
        return Response(status_code=204) if body is None else await self._answered(request, body)

    async def _place(self, request: Request, token: str, proposal: Proposal, seen: Precondition) -> bytes:
        """Place the confirmed bid, if the lot is still as its bidder saw it. Raises Refusal."""
        gid, services = lot_gid(request), self._services
        bid = BidRequest(proposal.amount, proposal.maximum, received_at=services.database.clock_now(), seen=seen)
        once = _once(gid, proposal, seen)
        if proposal.buy:
            return await services.tokens.write(bidding.buy_now, token, gid, once, bid)
        return await services.desk.place(BidCommand(token, gid, bid, once))

    async def _answered(self, request: Request, body: bytes) -> Response:
        if not is_fragment(request):
            return go_to(f"/lots/{lot_gid(request)}#lot-box")
        answer = msgspec.json.decode(body, type=BidAnswer)
        return await self._page(request, Reply(answer=answer, part=ANSWER))

    async def _refused(self, request: Request, refused: Refusal) -> Response:
        """Show the bid box again, with the reason. Raises a refusal that is not about the bid."""
        if isinstance(refused, Unauthenticated):
            return self._site.to_log_in(request, f"/lots/{lot_gid(request)}")
        if isinstance(refused, UnknownAuction) or (is_fragment(request) and status_of(refused) >= 429):
            # A part of a page says so in its place, and keeps the bid with its key.
            raise refused
        message = self._site.words.refusal(self._site.language(request), refused)
        return await self._page(
            request, Reply(message=message, status=status_of(refused), headers=headers_of(refused), part=ANSWER)
        )

    async def _page(self, request: Request, reply: Reply = Reply()) -> Response:  # noqa: B008  # it is frozen
        """Return the page, or for htmx the part of it that is asked for."""
        whole = not is_fragment(request)
        viewer, read = await self._site.read(request, _page_reading, lot_gid(request), reply.since, whole=whole)
        reply = self._of_now(request, reply, read.lot, read.changed)
        context = self._context(request, reply, read) | {
            "role": _role(read.lot, viewer),
            "viewer": viewer,
            "viewer_known": True,
        }
        renderer, language, headers = self._site.renderer, self._site.language(request), reply.headers or {}
        if whole:
            context |= {"previous": read.beside.before, "following": read.beside.after, "in_sale": read.place}
            context["here"] = self._site.here(request)
            return renderer.page(request, language, "lot.html", context, status=reply.status, headers=headers)
        context |= {"forgery_token": lambda: forgery_token(request)}
        html = renderer.fragment(language, reply.part, context)
        return HTMLResponse(html, reply.status, {"Cache-Control": "private, no-store", **headers})

    def _of_now(self, request: Request, reply: Reply, found: LotDetails, changed: AuctionChanged | None) -> Reply:
        """Return a reply without a purchase that is not possible any more, and with a message on what has changed."""
        proposal, language = reply.proposal, self._site.language(request)
        if proposal is not None and proposal.buy and (found.auction.buy_now_price is None or found.auction.current_bid):
            unavailable = BuyNowUnavailable(minimum_bid=bid_form.least_bid(found))
            message = reply.message or self._site.words.refusal(language, unavailable)
            reply = structs.replace(reply, proposal=None, status=status_of(unavailable), message=message)
        if changed is not None:
            reply = structs.replace(reply, message=reply.message or language.gettext(_READ_AGAIN))
        return reply

    def _context(self, request: Request, reply: Reply, read: _PageReading) -> dict[str, Any]:
        found, origin = read.lot, self._site.origin(request)
        return {
            "lot": found,
            "a": found.auction,
            "now": instant(read.now),
            "tied": tied(found.auction, found.known_as, found.bids),
            "extended": _is_extended(found),
            "proposal": reply.proposal,
            "answer": reply.answer,
            "message": reply.message,
            "changes": words.changes(self._site.language(request), read.changed),
            "sent": {"amount": "", "maximum": "", "again": "", **reply.sent} if reply.sent is not None else None,
            "doubts": bid_form.doubts(self._site.language(request), reply.proposal) if reply.proposal else [],
            "times": reply.proposal.times(found.auction) if reply.proposal else None,
            "faults": reply.faults or {},
            "asking": reply.asking,
            "question_most": QUESTION_CHARACTERS_MAX,
            "answer_most": ANSWER_CHARACTERS_MAX,
            "story": mark_of(found.remarks, found.questions, own=found.own),
            "origin": origin,
            "local": is_local(origin),
        }


def lot_gid(request: Request) -> str:
    """Return the gid in the path of a lot's page. Raises UnknownAuction if no lot can have it."""
    found: str = request.path_params["gid"]
    if GID.fullmatch(found) is None:
        raise UnknownAuction
    return found


def role_of(a: AuctionView, viewer: Viewer | None, known_as: str | None, *, has_bid: bool) -> Role:
    """Return the part of `viewer` in a lot, which shows their bids under the name `known_as`."""
    if viewer is None:
        return Role.VISITOR
    if viewer.username == a.author:
        return Role.SELLER
    if known_as == a.current_bidder is not None:
        return Role.LEADING
    return Role.OUTBID if has_bid and a.current_bidder is not None else Role.VISITOR


def tied(a: AuctionView, known_as: str | None, bids: Sequence[BidView]) -> bool:
    """Return whether only an earlier equal bid keeps the bidder `known_as` from the lead. `bids` come newest first."""
    return known_as is not None and is_tied(a, known_as, last_amount(bids, known_as))


def card_reader(a: AuctionView, viewer: Viewer | None, known_as: str | None, amount: str | None) -> CardReader:
    """Return what the card of a lot says about `viewer`, whose last bid, under the name `known_as`, is of `amount`."""
    equal = known_as is not None and is_tied(a, known_as, amount)
    return CardReader(role_of(a, viewer, known_as, has_bid=amount is not None), equal)


class _PageReading(Struct, frozen=True):
    """What the page of a lot shows. A part of the page does not show the lot's place in its sale, nor the lots beside it."""

    lot: LotDetails
    changed: AuctionChanged | None
    """The changes, if the terms were others at the version that the reader has seen."""
    now: datetime
    place: InSale | None
    beside: Beside


def _page_reading(tx: Transaction, token: str | None, gid: str, since: int | None, *, whole: bool) -> _PageReading:
    found = lot.show(tx, token, gid, BIDS_SHOWN, None)
    changed = None
    if since is not None and not found.terms_version <= since <= found.auction.version:
        version, changes = reading.changed_since(tx, gid, since)
        changed = TermsChanged(seen=since, changes=changes, version=version)
    if not whole:
        return _PageReading(found, changed, tx.now(), place=None, beside=Beside(None, None))
    place = catalogue.in_sale(tx, gid)
    beside = catalogue.neighbours(tx, gid) if place is None else place.beside
    return _PageReading(found, changed, tx.now(), place, beside)


def _role(found: LotDetails, viewer: Viewer | None) -> str:
    return role_of(found.auction, viewer, found.known_as, has_bid=found.standing is not None)


def _is_extended(found: LotDetails) -> bool:
    """Return whether a late bid has moved the end to where it is (docs/rules.md, rule 6)."""
    rule, ends_at = found.soft_close, found.auction.ends_at
    if rule is None or ends_at is None or found.auction.status != "open":
        return False
    late = datetime.fromisoformat(ends_at) - timedelta(seconds=rule.extension)
    return any(datetime.fromisoformat(bid.placed_at) == late for bid in found.bids)


def _once(gid: str, proposal: Proposal, seen: Precondition) -> IdempotencyKey:
    """Return the key of a confirmed bid, with a digest of all that it says."""
    said = {
        "amount": proposal.amount,
        "maximum": proposal.maximum,
        "price": seen.price,
        "seen_version": seen.version,
    }
    said = {name: value for name, value in said.items() if value is not None}
    path = f"/auctions/{{gid}}/{'buy' if proposal.buy else 'bids'}"
    return IdempotencyKey(proposal.key, digest("POST", path, gid, said))


def _before(request: Request) -> int | None:
    text = request.query_params.get("before")
    if text is not None and bid_form.NUMBER.fullmatch(text) is None:
        raise Invalid.one("before", "cursor", "is not the number of a bid; open the lot without it")
    return None if text is None else int(text)
