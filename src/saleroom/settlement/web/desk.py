"""The cashier's desk in the back office: a paddle, what is owed, payments by keyboard; the accounts of a sale, and payouts."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, Refusal
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.consignors import parse_code
from saleroom.sales.domain.errors import UnknownConsignor, UnknownLot, UnknownParticipant, UnknownSale
from saleroom.sales.domain.labels import parse_label
from saleroom.settlement.api.desk import BUYER, CORRECT, sheet
from saleroom.settlement.domain.desk_acts import BuyerPayments, BuyerRefund, ConsignorPayout
from saleroom.settlement.domain.desk_views import DeskView
from saleroom.settlement.domain.documents.content import finer_fault
from saleroom.settlement.domain.journal import BY_HAND, HandPayment, Method, rest
from saleroom.settlement.service import closing, correcting, desk, reports
from saleroom.settlement.service.correcting import Correction
from saleroom.settlement.service.documents.receipts import Paper
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.forms import Sent, once_of, page_gid, whole
from saleroom.settlement.web.words import BOOKS, DISPUTES, DOCUMENTS, ITEMS, METHODS, ONLINE, REFUND_STATES, WAYS
from saleroom.site.language import N_, Language
from saleroom.site.site import Section, Site, fields, for_users, go_to

REST = "*"
"""What somebody types instead of an amount for all that is left to pay."""
DESK = Section("/admin/desk", N_("Desk"), Right.SETTLE)


class DeskPages:
    """The pages of the desk, and their forms."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    @for_users
    async def all(self, request: Request) -> Response:
        """GET /admin/desk: the sales to settle."""
        viewer, found = await self._site.read(request, desk.sales_to_settle)
        return self._site.page(request, "desks.html", viewer, {"sales": found})

    async def one(self, request: Request) -> Response:
        """GET /admin/desk/{gid}?buyer=: what a buyer owes, and the form of payments."""
        return await self._desk(request, request.query_params.get("buyer", "").strip().removeprefix("#"))

    async def pay(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/payments: take payments of a buyer, by the amounts that are filled in."""

        async def act(gid: str, buyer: str, sent: Sent) -> dict[str, str]:
            payments = self._amounts(request, sent)
            said = {"buyer": buyer, "paid": [str(one) for one in payments]}
            once = once_of(sent, "/admin/desk/{gid}/payments", gid, said)
            pay = closing.pay if sent.get("invoice") else desk.pay
            body = await self._write(
                request, pay, gid, BuyerPayments(_who(buyer), payments), self._paper(request), once
            )
            return _outcome(body, "change")

        return await self._act(request, act)

    async def refund(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/refund: pay a buyer back what the house owes them."""

        async def act(gid: str, buyer: str, sent: Sent) -> dict[str, str]:
            back = self._one_amount(request, sent, Method)
            once = once_of(sent, "/admin/desk/{gid}/refund", gid, {"buyer": buyer, "back": str(back)})
            given = BuyerRefund(_who(buyer), back)
            body = await self._write(request, desk.refund, gid, given, self._paper(request), once)
            return {"done": "1", **_outcome(body)}

        return await self._act(request, act)

    async def net(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/netting: set off what a buyer owes against what the house owes them."""

        async def act(gid: str, buyer: str, sent: Sent) -> dict[str, str]:
            once = once_of(sent, "/admin/desk/{gid}/netting", gid, {"buyer": buyer})
            body = await self._write(request, closing.net, gid, _who(buyer), self._paper(request), once)
            return {"netted": "1", **_outcome(body)}

        return await self._act(request, act)

    async def correct(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/correction: give a sold lot to another paddle, or take it back and refund it."""

        async def act(gid: str, _: str, sent: Sent) -> dict[str, str]:
            label = parse_label(sent.get("lot", ""))
            if isinstance(label, Fault):
                raise UnknownLot
            said: dict[str, Any] = {
                name: sent[name].strip() for name in ("reason", "method") if sent.get(name, "").strip()
            }
            paddle = sent.get("paddle", "").strip().removeprefix("#")
            if sent.get("do") != "take-back":
                number = whole(paddle)
                said["paddle"] = paddle if number is None else number
            values = CORRECT.read(msgspec.json.encode(said))
            change = Correction(
                label=label, paddle=values.get("paddle"), reason=values["reason"], back=values.get("back")
            )
            once = once_of(sent, "/admin/desk/{gid}/correction", gid, {"lot": label, **said})
            body = await self._write(request, correcting.correct, gid, change, self._paper(request), once)
            return {"done": "1", **_outcome(body)}

        return await self._act(request, act)

    @for_users
    async def _act(self, request: Request, act: Callable[[str, str, Sent], Awaitable[dict[str, str]]]) -> Response:
        """Let `act` do what a form asks for a buyer of a sale; then show the desk, with what it returns or the refusal."""
        sent, gid = await fields(request), page_gid(request, UnknownSale)
        buyer = sent.get("buyer", "")
        try:
            outcome = await act(gid, buyer, sent)
        except (UnknownSale, UnknownParticipant):
            raise
        except Declined as refused:
            return await self._desk(request, buyer, refused, sent)
        return go_to(f"{DESK.path}/{gid}?{urlencode({'buyer': buyer, **outcome})}")

    async def accounts(self, request: Request) -> Response:
        """GET /admin/desk/{gid}/accounts: the accounts of a sale, its buyers and consignors."""
        return await self._accounts(request)

    async def statement(self, request: Request) -> Response:
        """GET /admin/desk/{gid}/statements/{code}: what a consignor gets, line by line."""
        return await self._statement(request)

    @for_users
    async def pay_out(self, request: Request) -> Response:
        """POST /admin/desk/{gid}/statements/{code}: pay a consignor all or a part of what the house owes them."""
        sent, gid, code = await fields(request), page_gid(request, UnknownSale), _code(request)
        try:
            out, is_sure = self._one_amount(request, sent, BY_HAND), "isSure" in sent
            once = once_of(
                sent, "/admin/desk/{gid}/statements/{code}", gid, {"code": code, "out": str(out), "sure": is_sure}
            )
            given = ConsignorPayout(code, out, is_sure)
            body = await self._write(request, desk.pay_out, gid, given, self._paper(request), once)
        except (UnknownSale, UnknownConsignor):
            raise
        except Declined as refused:
            return await self._statement(request, refused, sent)
        return go_to(f"{DESK.path}/{gid}/statements/{code}?{urlencode({'done': '1', **_outcome(body)})}")

    @for_users
    async def export(self, request: Request) -> Response:
        """GET /admin/desk/{gid}/accounts.csv: each lot with its money, as a sheet in the language of the reader."""
        gid, language = page_gid(request, UnknownSale), self._language(request)
        return await sheet(self._services, session_token(request) or "", gid, language)

    def _language(self, request: Request) -> str:
        return "de" if self._site.language(request).catalogue == "de" else "en"

    def _paper(self, request: Request) -> Paper:
        return self._services.paper(self._language(request))

    async def _write(self, request: Request, use_case: Callable[..., Any], *args: Any) -> Any:
        return await self._services.tokens.write(use_case, session_token(request) or "", *args)

    def _amounts(self, request: Request, sent: Sent) -> list[HandPayment]:
        """Return the payments by the amounts that are filled in; `*` is what they leave of the sum that the page showed.

        Raises Invalid.
        """
        found, faults, star = list[HandPayment](), dict[str, list[Fault]](), sent.get("all", "")
        for method in BY_HAND:
            text = sent.get(method.value, "").strip()
            if method.value == star or not text:
                continue
            if text == REST and star not in {one.value for one in BY_HAND}:
                star = method.value
                continue
            amount = self._site.language(request).parse_sure_money(text)
            if text == REST:
                faults[method.value] = [Fault("rest_twice", "must be in one field only")]
            elif isinstance(amount, Fault):
                faults[method.value] = [amount]
            elif fault := finer_fault([amount], self._services.places):
                faults[method.value] = [fault]
            elif amount:
                found.append(HandPayment(method, amount))
        if star in {one.value for one in BY_HAND} and not faults:
            shown = Decimal(sent["owed"]) if _AMOUNT.fullmatch(sent.get("owed", "")) else ZERO
            left = rest(shown, found, Method(star), self._services.letterhead.currency)
            if left:
                found.append(HandPayment(Method(star), left))
            else:
                faults[star] = [Fault("not_positive", "must be above 0")]
        if not found and not faults:
            faults["cash"] = [Fault("required", "is required")]
        if faults:
            raise Invalid(faults)
        return found

    def _one_amount(self, request: Request, sent: Sent, methods: Iterable[Method]) -> HandPayment:
        """Return what is paid out, in one of some ways. Raises Invalid."""
        amount = self._site.language(request).parse_sure_money(sent.get("amount", ""))
        if isinstance(amount, Decimal) and not amount:
            amount = Fault("not_positive", "must be above 0")
        if isinstance(amount, Fault):
            raise Invalid({"amount": [amount]})
        if sent.get("method") not in [one.value for one in methods]:
            raise Invalid({"method": [Fault("not_a_choice", "must be one of the ways to pay")]})
        return HandPayment(Method(sent["method"]), amount)

    @for_users
    async def _desk(
        self, request: Request, buyer: str, refused: Refusal | None = None, sent: Sent | None = None
    ) -> Response:
        gid, found, unknown = page_gid(request, UnknownSale), None, False
        viewer, sale = await self._site.read(request, desk.sale_to_settle, gid)
        if buyer:
            try:
                currency = self._services.letterhead.currency
                found = await self._write(request, desk.shown, gid, _who(buyer), currency)
            except UnknownParticipant as nobody:
                refused, unknown = nobody, True
        asked = request.query_params
        context = {
            "gid": gid,
            "title": sale.terms.title,
            "buyer": buyer,
            "found": found,
            "unknown": unknown,
            "owed": Decimal(found.owed) if found else None,
            "change": asked.get("change") if refused is None and _AMOUNT.fullmatch(asked.get("change", "")) else None,
            "done": refused is None and "done" in asked,
            "netted": refused is None and "netted" in asked,
            "receipt": asked.get("receipt"),
            "invoice": asked.get("invoice"),
            "rest": REST,
            **self._said(request, refused, sent, _marked(found, sent or {})),
        }
        return self._site.page(request, "desk.html", viewer, context, refused=refused, headers=_UNSEEN)

    @for_users
    async def _accounts(self, request: Request) -> Response:
        gid = page_gid(request, UnknownSale)
        viewer, sale = await self._site.read(request, desk.sale_to_settle, gid)
        found = await self._write(request, reports.accounts, gid, self._services.places)
        books = {one.value: self._site.language(request).gettext(said) for one, said in BOOKS.items()}
        context = {"gid": gid, "title": sale.terms.title, "found": found, "books": books}
        return self._site.page(request, "sale_accounts.html", viewer, context, headers=_UNSEEN)

    @for_users
    async def _statement(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        gid, code = page_gid(request, UnknownSale), _code(request)
        viewer, sale = await self._site.read(request, desk.sale_to_settle, gid)
        found = await self._write(request, desk.statement, gid, code, self._services.places)
        asked = request.query_params
        done = refused is None and "done" in asked
        context = {
            "gid": gid,
            "title": sale.terms.title,
            "found": found,
            "owed": Decimal(found.to_pay_out),
            "done": done,
            "buyer": "",
        }
        context["receipt"] = asked.get("receipt")
        context |= self._said(request, refused, sent, ("amount", "method") if context["owed"] > 0 else ())
        return self._site.page(request, "statement.html", viewer, context, refused=refused, headers=_UNSEEN)

    def _said(
        self, request: Request, refused: Refusal | None, sent: Sent | None, marked: tuple[str, ...]
    ) -> dict[str, Any]:
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, refused),
            "message": words.above(language, refused, marked),
            "sent": {"language": self._language(request), **(sent or {})},
            "key": secrets.token_urlsafe(24),
            "items": _labels(language, ITEMS),
            "methods": _labels(language, METHODS),
            "online": language.gettext(ONLINE),
            "refund_states": _labels(language, REFUND_STATES),
            "disputes": _labels(language, DISPUTES),
            "ways": {name: language.gettext(said) for name, said in WAYS.items()},
            "kinds": _labels(language, DOCUMENTS),
        }


_AMOUNT = re.compile(r"[0-9]{1,17}\.[0-9]{3}")
_UNSEEN = {"Cache-Control": "no-store"}


def _marked(found: DeskView | None, sent: Sent) -> tuple[str, ...]:
    """Return the fields of the form that was sent, unless it is gone: another cashier may have settled the buyer meanwhile."""
    if found is None:
        return ()
    if "lot" in sent:
        return ("reason", "paddle") if found.settled_lots else ()
    owed = Decimal(found.owed)
    if owed > 0:
        return tuple(METHODS)
    return ("amount", "method") if owed < 0 else ()


def _outcome(body: bytes, *names: str) -> dict[str, str]:
    """Return what the page says after money moved: the receipt, the invoice, and members by these names."""
    found = msgspec.json.decode(body)
    papers = {"receipt": found["paymentReceipt"], "invoice": found.get("issuedInvoice")}
    return {name: str(found[name]) for name in names} | {name: gid for name, gid in papers.items() if gid}


def _labels(language: Language, words: Any) -> dict[str, str]:
    return {one.value: language.gettext(said) for one, said in words.items()}


def _who(buyer: str) -> str:
    if BUYER.pattern.fullmatch(buyer) is None:
        raise UnknownParticipant
    return buyer


def _code(request: Request) -> str:
    found = parse_code(str(request.path_params["code"]))
    if isinstance(found, Fault):
        raise UnknownConsignor
    return found
