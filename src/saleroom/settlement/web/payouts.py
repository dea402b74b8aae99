"""Payouts in the back office: one payment file for many, and what became of them; and the bank accounts of consignors."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import CodeRequired, WrongCode, WrongPassword
from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import client_address, session_token
from saleroom.http.responses import LIMIT_DEFAULT
from saleroom.kernel.errors import Declined, Fault, Invalid, MissingRight, Refusal
from saleroom.sales.domain.consignors import parse_code
from saleroom.sales.domain.errors import UnknownConsignor, UnknownSale
from saleroom.settlement.api.payout_accounts import ACCOUNT, OWN_ACCOUNT, account_in, changed
from saleroom.settlement.api.payout_reports import CHECK, imported
from saleroom.settlement.api.payouts import DUE, FILES, MAKE, MARK, PAGE, as_xml, made
from saleroom.settlement.domain.bank.payout_views import ImportedReportView, PayoutView
from saleroom.settlement.domain.bank.payouts import UNDER_WAY, PayoutMark, PayoutState
from saleroom.settlement.domain.bank.status_reports import REJECTED
from saleroom.settlement.domain.bank.transfers import CURRENCY, HOLDER_MAX, IBAN_MAX
from saleroom.settlement.domain.errors import UnknownPaymentFile
from saleroom.settlement.service.bank import payout_accounts, payout_reporting, payouts
from saleroom.settlement.service.money_mails import ACCOUNTS as MINE
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.bank_words import bank_time, booked_as, doubts_in, said_of
from saleroom.settlement.web.forms import Sent, once_of, page_gid, whole
from saleroom.settlement.web.words import PAYOUT_STATES
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, fields, for_users, go_to

PAYOUTS = Section("/admin/payouts", N_("Payouts"), Right.SETTLE)
_CHOSEN = "pay-"


class PayoutPages:
    """The pages of payouts and of bank accounts, and their forms."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    async def show(self, request: Request) -> Response:
        """GET /admin/payouts: what is due, to be ticked, and the payment files."""
        return await self._page(request)

    @for_users
    async def make(self, request: Request) -> Response:
        """POST /admin/payouts: make one payment file of what is ticked."""
        sent = await fields(request)
        chosen = [text.split(" ") for name, text in sorted(sent.items()) if name.startswith(_CHOSEN)]
        said = [dict(zip(("sale", "consignor", "amount"), parts, strict=False)) for parts in chosen]
        try:
            values = MAKE.read(_encode({"payouts": said}))
            key = once_of(sent, PAYOUTS.path, "", {"payouts": said})
            body = await made(self._services, session_token(request) or "", values["payouts"], key)
        except (MissingRight, UnknownSale, UnknownConsignor):
            raise
        except Declined as refused:
            return await self._page(request, refused, sent)
        return go_to(f"{PAYOUTS.path}/{msgspec.json.decode(body)['paymentFile']}")

    @for_users
    async def _page(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        cursors, query = self._services.cursors, request.query_params
        before, due_before = cursors.place_in(query, FILES), cursors.place_in(query, DUE, "due")
        viewer, due = await self._site.read(request, payouts.due, LIMIT_DEFAULT, due_before)
        files = await self._services.database.read(payouts.listed, session_token(request), PAGE, before)
        ticked = None if sent is None else {text for name, text in sent.items() if name.startswith(_CHOSEN)}
        context = {
            "due": due.payouts.rows,
            "total": due.total,
            "next_due": cursors.next_page(DUE, due.payouts.next),
            "files": files.rows,
            "next": cursors.next_page(FILES, files.next),
            "ticked": ticked,
            "is_sepa": self._services.payer.currency == CURRENCY,
            "has_account": self._services.payer.bank is not None,
            "under_way": {state.value for state in UNDER_WAY},
            **self._refusal(request, refused),
        }
        return self._site.page(request, "payouts.html", viewer, context, refused=refused, headers=_UNSEEN)

    async def one(self, request: Request) -> Response:
        """GET /admin/payouts/{gid}: a payment file, and what has become of its payouts."""
        return await self._file(request)

    @for_users
    async def mark(self, request: Request) -> Response:
        """POST /admin/payouts/{gid}: note what has become of one payout, or that the bank has all of them."""
        sent, gid = await fields(request), page_gid(request, UnknownPaymentFile)
        said: dict[str, Any] = {name: sent[name].strip() for name in ("mark", "reason") if sent.get(name, "").strip()}
        place = whole(sent.get("transfer", ""))
        if place is not None:
            said["transfers"] = [place]
        try:
            values = MARK.read(_encode(said))
            key = once_of(sent, "/admin/payouts/{gid}", gid, said)
            new = PayoutMark(values["state"], values.get("places", ()), values.get("reason"))
            await self._services.tokens.write(payouts.mark, session_token(request) or "", gid, new, key)
        except (MissingRight, UnknownPaymentFile):
            raise
        except Declined as refused:
            return await self._file(request, refused, sent)
        return go_to(f"{PAYOUTS.path}/{gid}?done=1")

    @for_users
    async def send_report(self, request: Request) -> Response:
        """POST /admin/payouts/reports: import what the bank says of a payment file, and show the file with what that did."""
        try:
            found = await imported(self._services, request, session_token(request) or "")
        except MissingRight:
            raise
        except Declined as refused:
            return await self._page(request, refused)
        return await self._file(request, found=found)

    @for_users
    async def check(self, request: Request) -> Response:
        """POST /admin/payouts/{gid}/checks: note that somebody has looked into what a bank has said of a payout."""
        sent, gid = await fields(request), page_gid(request, UnknownPaymentFile)
        said = {"transfers": [whole(sent.get("transfer", "")) or 0], "reason": sent.get("reason", "").strip()}
        try:
            values = CHECK.read(_encode(said))
            key = once_of(sent, "/admin/payouts/{gid}/checks", gid, said)
            given = (gid, values["places"], values["reason"], key)
            await self._services.tokens.write(payout_reporting.look_into, session_token(request) or "", *given)
        except (MissingRight, UnknownPaymentFile):
            raise
        except Declined as refused:
            return await self._file(request, refused, {**sent, "do": "check"})
        return go_to(f"{PAYOUTS.path}/{gid}?done=1")

    @for_users
    async def _file(
        self,
        request: Request,
        refused: Refusal | None = None,
        sent: Sent | None = None,
        found: ImportedReportView | None = None,
    ) -> Response:
        gid = page_gid(request, UnknownPaymentFile) if found is None else found.payment_file
        viewer, file = await self._site.read(request, payouts.shown, gid)
        language = self._site.language(request)
        context = {
            "found": file,
            "imported": found,
            "said_of": partial(said_of, language),
            "booked_as": partial(booked_as, language),
            "bank_time": partial(bank_time, language),
            "doubts": doubts_in(language),
            "was_rejected": {one.transfer_number for one in file.payouts if _was_rejected(one)},
            "states": {state.value: language.gettext(said) for state, said in PAYOUT_STATES.items()},
            "can_send": any(one.payout_state == PayoutState.MADE for one in file.payouts),
            "marks": [
                (one.value, language.gettext(PAYOUT_STATES[one])) for one in (PayoutState.BOOKED, PayoutState.FAILED)
            ],
            "sent": sent or {},
            "done": refused is None and "done" in request.query_params,
            **self._refusal(request, refused),
        }
        return self._site.page(request, "payment_file.html", viewer, context, refused=refused, headers=_UNSEEN)

    @for_users
    async def download(self, request: Request) -> Response:
        """GET /admin/payouts/{gid}/pain.xml: the file for the bank."""
        gid = page_gid(request, UnknownPaymentFile)
        return await as_xml(self._services, session_token(request) or "", gid)

    async def account(self, request: Request) -> Response:
        """GET /admin/payouts/accounts/{code}: the bank account of a consignor."""
        return await self._account(request)

    @for_users
    async def change_account(self, request: Request) -> Response:
        """POST /admin/payouts/accounts/{code}: give a consignor a bank account, or take it away."""
        sent, code = await fields(request), _code(request)
        try:
            account = await account_in(ACCOUNT.read(_encode(_said(sent))))
            await self._services.tokens.write(payout_accounts.change, session_token(request) or "", code, account)
        except (MissingRight, UnknownConsignor):
            raise
        except Declined as refused:
            return await self._account(request, refused, sent)
        return go_to(f"{PAYOUTS.path}/accounts/{code}?done=1")

    @for_users
    async def _account(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        viewer, found = await self._site.read(request, payout_accounts.shown, _code(request))
        context = {"found": found, **self._account_form(request, refused, sent)}
        return self._site.page(request, "payout_account.html", viewer, context, refused=refused, headers=_UNSEEN)

    async def mine(self, request: Request) -> Response:
        """GET /mine/payouts: the reader's bank accounts, masked, and the forms to change them."""
        return await self._mine(request)

    @for_users
    async def change_own(self, request: Request) -> Response:
        """POST /mine/payouts/{code}: change one of the reader's bank accounts, with the password."""
        sent, code = await fields(request), _code(request)
        said = {**_said(sent), "password": sent.get("password", ""), "code": sent.get("code", "").strip() or None}
        try:
            values = OWN_ACCOUNT.read(_encode(said))
            if not values["password"]:
                raise Invalid.one("password", "required", "is required")
            token = session_token(request) or ""
            await changed(self._services, token, code, values, client_address(request))
        except (MissingRight, UnknownConsignor):
            raise
        except Declined as refused:
            return await self._mine(request, refused, sent, code)
        return go_to(f"{MINE}?done={code}")

    @for_users
    async def _mine(
        self, request: Request, refused: Refusal | None = None, sent: Sent | None = None, of: str = ""
    ) -> Response:
        viewer, found = await self._site.read(request, payout_accounts.mine)
        context = {"accounts": found.payout_accounts, "of": of, **self._account_form(request, refused, sent)}
        return self._site.page(request, "mine_payouts.html", viewer, context, refused=refused, headers=_UNSEEN)

    def _account_form(self, request: Request, refused: Refusal | None, sent: Sent | None) -> dict[str, Any]:
        """Return what the forms of accounts show: what was typed but the password, and the faults."""
        typed = {name: text for name, text in (sent or {}).items() if name in ("accountHolder", "iban")}
        done = "" if refused else request.query_params.get("done", "")
        most = {"holder_max": HOLDER_MAX, "iban_max": IBAN_MAX}
        removes = (sent or {}).get("do") == "remove"
        return {"sent": typed, "removes": removes, "done": done, **most, **self._refusal(request, refused)}

    def _refusal(self, request: Request, refused: Refusal | None) -> dict[str, Any]:
        """Return the parts of a refusal that the forms show."""
        shown = refused
        if isinstance(refused, WrongPassword):
            shown = Invalid.one("password", refused.code, refused.message)
        elif isinstance(refused, CodeRequired | WrongCode):
            shown = Invalid.one("code", refused.code, refused.message)
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, shown),
            "message": words.message(language, shown),
            "key": secrets.token_urlsafe(24),
        }


def _was_rejected(one: PayoutView) -> bool:
    """Return whether a payout failed because its bank has rejected it; what the bank has said is the reason then."""
    of_bank = any(said.bank_status == REJECTED and said.doubt is None for said in one.bank_said)
    return of_bank and one.payout_state == PayoutState.FAILED


def _said(sent: Sent) -> dict[str, str | None]:
    """Return the account of a form: its fields, or that it is taken away."""
    if sent.get("do") == "remove":
        return {"iban": None}
    return {"accountHolder": sent.get("accountHolder", ""), "iban": sent.get("iban", "")}


def _code(request: Request) -> str:
    found = parse_code(str(request.path_params["code"]))
    if isinstance(found, Fault):
        raise UnknownConsignor
    return found


_UNSEEN = {"Cache-Control": "no-store"}
_encode = msgspec.json.Encoder().encode
