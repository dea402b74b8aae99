"""After-sale offers on pages: staff offer lots that were not sold, and people answer the offers to them."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection
from datetime import timedelta
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.domain.paddles import PADDLE_MAX
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, MissingRight, Refusal
from saleroom.sales.domain.errors import UnknownLot, UnknownSale
from saleroom.sales.domain.labels import parse_label
from saleroom.settlement.api.offers import RELIST
from saleroom.settlement.api.underbidders import PREVIEW
from saleroom.settlement.domain.errors import UnknownOffer
from saleroom.settlement.domain.unsold.offer_views import OffersView
from saleroom.settlement.domain.unsold.offers import LASTS_MAX, NewOffer
from saleroom.settlement.domain.unsold.underbidding import LeftOut
from saleroom.settlement.service.unsold import after_sale, offering, underbidding
from saleroom.settlement.service.unsold.after_sale import Relisting
from saleroom.settlement.service.unsold.offering import MINE
from saleroom.settlement.service.unsold.underbidding import Plan, SeenPlan
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.desk import DESK
from saleroom.settlement.web.forms import Sent, once_of, page_gid, whole
from saleroom.settlement.web.words import LEFT_OUT, OFFER_STATES
from saleroom.site.site import Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

DAYS = 7
"""For how many days a lot is offered unless staff say otherwise."""
ACCEPT, DECLINE = "accept", "decline"


class OfferPages:
    """The pages of offers, and their forms."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/desk/{gid}/offers: the lots of a sale that can be offered, and its offers."""
        return await self._page(request)

    @for_users
    async def make(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/offers/new: offer a lot to a paddle."""
        sent, gid = await fields(request), page_gid(request, UnknownSale)
        label = parse_label(sent.get("lot", ""))
        if isinstance(label, Fault):
            raise UnknownLot
        try:
            values = self._read(request, sent)
            said = {name: str(value) for name, value in values.items()}
            key = once_of(sent, "/admin/desk/{gid}/offers/new", gid, {"lot": label, **said})
            until = await self._services.database.read(_in_days, values["days"])
            new = NewOffer(label, values["paddle"], values["price"], until)
            await self._services.tokens.write(offering.offer, session_token(request) or "", gid, new, key)
        except (MissingRight, UnknownSale):
            raise
        except Declined as refused:
            return await self._page(request, refused, label, sent)
        return go_to(f"{DESK.path}/{gid}/offers?done=1")

    @for_users
    async def underbidders(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/offers/underbidders: show what would be offered to underbidders, or do just that."""
        sent, gid = await fields(request), page_gid(request, UnknownSale)
        token, write = session_token(request) or "", self._services.tokens.write
        try:
            days = _days(sent)
            otherwise = PREVIEW.read(msgspec.json.encode({"otherwise": sent.get("otherwise", "")}))["otherwise"]
            if "planTag" not in sent:
                plan = await write(underbidding.preview, token, gid, otherwise)
                return await self._page(request, sent=sent, plan=plan)
            until = await self._services.database.read(_in_days, days)
            said = {"otherwise": otherwise.value, "days": str(days), "planTag": sent["planTag"]}
            key = once_of(sent, "/admin/desk/{gid}/offers/underbidders", gid, said)
            await write(underbidding.offer_all, token, gid, SeenPlan(otherwise, until, sent["planTag"]), key)
        except (MissingRight, UnknownSale):
            raise
        except Declined as refused:
            return await self._page(request, refused, _ALL, sent)
        return go_to(f"{DESK.path}/{gid}/offers?done=1")

    async def relist(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/offers/next-sale: make a lot that was not sold a lot of another sale."""

        async def act(sent: Sent, gid: str, label: str) -> None:
            into = RELIST.read(msgspec.json.encode({"sale": sent.get("sale", "")}))["sale"]
            key = once_of(sent, "/admin/desk/{gid}/offers/next-sale", gid, {"lot": label, "sale": into})
            token = session_token(request) or ""
            given = (gid, Relisting(label, into), self._services.places, key)
            await self._services.tokens.write(after_sale.put_into_next, token, *given)

        return await self._after_sale(request, act)

    async def give_back(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/offers/return: note that a lot went back to its consignor, or take that back."""

        async def act(sent: Sent, gid: str, label: str) -> None:
            undo = sent.get("undo") == "on"
            key = once_of(sent, "/admin/desk/{gid}/offers/return", gid, {"lot": label, "undo": str(undo)})
            use_case = after_sale.undo_return if undo else after_sale.give_back
            await self._services.tokens.write(use_case, session_token(request) or "", gid, label, key)

        return await self._after_sale(request, act)

    @for_users
    async def _after_sale(self, request: Request, act: Callable[[Sent, str, str], Awaitable[None]]) -> Response:
        sent, gid = await fields(request), page_gid(request, UnknownSale)
        label = parse_label(sent.get("lot", ""))
        if isinstance(label, Fault):
            raise UnknownLot
        try:
            await act(sent, gid, label)
        except (MissingRight, UnknownSale):
            raise
        except Declined as refused:
            return await self._page(request, refused)
        return go_to(f"{DESK.path}/{gid}/offers?done=1")

    @for_users
    async def withdraw(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/offers/withdrawal: withdraw an offer."""
        sent, gid = await fields(request), page_gid(request, UnknownSale)
        offer = sent.get("offer", "")
        try:
            key = once_of(sent, "/admin/desk/{gid}/offers/withdrawal", gid, {"offer": offer})
            await self._services.tokens.write(offering.withdraw, session_token(request) or "", offer, key)
        except (MissingRight, UnknownOffer):
            raise
        except Declined as refused:
            return await self._page(request, refused)
        return go_to(f"{DESK.path}/{gid}/offers?done=1")

    async def mine(self, request: Request) -> Response:
        """GET /mine/offers: the offers to the reader."""
        return await self._mine(request)

    @for_users
    async def answer(self, request: Request) -> Response:
        """POST /mine/offers/{gid}: accept or decline an offer."""
        sent, gid = await fields(request), page_gid(request, UnknownOffer)
        do = sent.get("do")
        if do not in (ACCEPT, DECLINE):
            raise Invalid({"do": [Fault("malformed", f"must be {ACCEPT} or {DECLINE}")]})
        try:
            key = once_of(sent, "/mine/offers/{gid}", gid, {"do": do})
            given = (gid, do == ACCEPT, self._services.places, key)
            await self._services.tokens.write(offering.answer, session_token(request) or "", *given)
        except (MissingRight, UnknownOffer):
            raise
        except Declined as refused:
            return await self._mine(request, refused)
        return go_to(f"{MINE}?done={do}")

    def _read(self, request: Request, sent: Sent) -> dict[str, Any]:
        """Return the paddle, the price and the days of a form. Raises Invalid."""
        faults: dict[str, list[Fault]] = {}
        paddle, days = whole(sent.get("paddle", "").strip().removeprefix("#")), whole(sent.get("days", "").strip())
        price = self._site.language(request).parse_sure_money(sent.get("offerPrice", ""))
        to_all = sent.get("toAll") == "on"
        if not to_all and (paddle is None or not 1 <= paddle <= PADDLE_MAX):
            faults["paddle"] = [Fault("buyer", "must be a paddle")]
        if days is None or not 1 <= days <= LASTS_MAX.days:
            faults["days"] = [_TOO_LONG]
        if isinstance(price, Fault):
            faults["offerPrice"] = [price]
        elif not price:
            faults["offerPrice"] = [Fault("not_positive", "must be above 0")]
        if faults:
            raise Invalid(faults)
        return {"paddle": None if to_all else paddle, "price": price, "days": days}

    @for_users
    async def _page(
        self,
        request: Request,
        refused: Refusal | None = None,
        of: str = "",
        sent: Sent | None = None,
        plan: Plan | None = None,
    ) -> Response:
        gid = page_gid(request, UnknownSale)
        viewer, (title, found) = await self._site.read(request, offering.overview, gid)
        context = {
            "gid": gid,
            "title": title,
            "found": found,
            "of": of,
            "sent": sent or {},
            "days": DAYS,
            "plan": plan,
            "left_out": [] if plan is None else [(lot, self._why(request, why)) for lot, why in plan.left_out],
            **self._said(request, refused, _marked(of, found)),
        }
        return self._site.page(request, "offers.html", viewer, context, refused=refused, headers=_UNSEEN)

    @for_users
    async def _mine(self, request: Request, refused: Refusal | None = None) -> Response:
        viewer, found = await self._site.read(request, offering.mine, self._services.places)
        context = {"found": found, "accept": ACCEPT, "decline": DECLINE, **self._said(request, refused, ())}
        return self._site.page(request, "mine_offers.html", viewer, context, refused=refused, headers=_UNSEEN)

    def _why(self, request: Request, why: Refusal | LeftOut) -> str:
        """Return in words why a lot is not offered."""
        language = self._site.language(request)
        return language.gettext(LEFT_OUT[why]) if isinstance(why, LeftOut) else self._site.words.refusal(language, why)

    def _said(self, request: Request, refused: Refusal | None, marked: Collection[str]) -> dict[str, Any]:
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, refused),
            "message": words.above(language, refused, marked),
            "done": None if refused else request.query_params.get("done"),
            "states": {str(one): language.gettext(said) for one, said in OFFER_STATES.items()},
            "key": secrets.token_urlsafe(24),
        }


_ALL = "all"
"""What is not the label of a lot: the form for all of them."""
_TOO_LONG = Fault("offer_too_long", f"must be from 1 to {LASTS_MAX.days} days", most=LASTS_MAX.days)
_UNSEEN = {"Cache-Control": "no-store"}


def _marked(of: str, found: OffersView) -> Collection[str]:
    """Return the fields of the form `of` a lot, or of all, which a page shows only while they can be offered."""
    if of == _ALL:
        return ("days",) if found.lots_to_offer and not found.is_timed else ()
    labels = {one.label for one in found.lots_to_offer}
    return ("paddle", "offerPrice", "days") if of in labels and not found.is_timed else ()


def _days(sent: Sent) -> int:
    """Return for how many days a form offers. Raises Invalid."""
    days = whole(sent.get("days", "").strip())
    if days is None or not 1 <= days <= LASTS_MAX.days:
        raise Invalid({"days": [_TOO_LONG]})
    return days


def _in_days(tx: Transaction, days: int) -> Any:
    return tx.now() + timedelta(days=days)
