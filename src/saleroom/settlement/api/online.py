"""Payments by card online: begin one, list those of an invoice and of the house, and take the provider's callbacks."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, Upload
from saleroom.http.paging import paging
from saleroom.http.requests import header, read_body
from saleroom.http.responses import json_response, page_response
from saleroom.settlement.api.documents import DOCUMENT
from saleroom.settlement.domain.errors import (
    CardsOff,
    ForgedCallback,
    NotPayableOnline,
    ProviderUnavailable,
    UnknownDocument,
)
from saleroom.settlement.domain.online.online_views import OnlinePaymentPage, OwnPaymentsView, PaymentSheetView
from saleroom.settlement.service.online import online_showing
from saleroom.settlement.service.online.online_looking import OnlineCards
from saleroom.settlement.services import SettlementServices
from saleroom.storage.schema import NUMBER_MAX

CALLBACKS = "/online-payments/callbacks"
CALLBACK_BYTES_MAX = 256 * 1024
"""The provider's callbacks hold one object each, a few thousand bytes."""
PAYMENTS = CursorKind("payments online", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])
_SIGNATURE = b"stripe-signature"


async def cards_of(services: SettlementServices, token: str, right: Right) -> OnlineCards:
    """Return the payments by card online. Raises CardsOff, before that Unauthenticated or MissingRight."""
    if services.cards is None:
        await services.database.read(online_showing.refuse, token, right)
        raise CardsOff
    return services.cards


async def begin(call: Call[SettlementServices]) -> Response:
    """POST /documents/{gid}/online-payments."""
    cards = await cards_of(call.services, call.token, Right.ACCOUNT)
    return json_response(PaymentSheetView(pay_at=await cards.begin(call.token, call.identifier)))


async def show(call: Call[SettlementServices]) -> Response:
    """GET /documents/{gid}/online-payments."""
    await cards_of(call.services, call.token, Right.READ)
    given = (call.token, call.identifier, call.services.letterhead.currency)
    return json_response(await call.services.database.read(online_showing.of_own, *given))


async def list_all(call: Call[SettlementServices]) -> Response:
    """GET /online-payments."""
    page = await call.services.database.read(online_showing.listed, call.token, call.limit, call.place)
    cursor = call.services.cursors.next_page(PAYMENTS, page.next)
    return page_response(call.scope, OnlinePaymentPage(online_payments=page.rows, next=cursor), cursor)


async def hear(call: Call[SettlementServices]) -> Response:
    """POST /online-payments/callbacks."""
    cards = call.services.cards
    if cards is None:
        raise CardsOff
    body = await read_body(call.request, CALLBACK_BYTES_MAX)
    await cards.hear(body, header(call.scope, _SIGNATURE) or "")
    return Response(status_code=204)


_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        method="POST",
        path="/documents/{gid}/online-payments",
        name="payOnline",
        summary="Begin to pay what is open of one's own invoice by card",
        handler=begin,
        identifier=DOCUMENT,
        answer=PaymentSheetView,
        errors=(CardsOff, UnknownDocument, NotPayableOnline, ProviderUnavailable),
        about="The answer has the address of the card provider's page. Asking again while the same amount is open gives "
        "the same page. Nothing is paid until the provider says so.",
    ),
    _one(
        method="GET",
        path="/documents/{gid}/online-payments",
        name="ownOnlinePayments",
        summary="List the payments by card online of one's own invoice",
        handler=show,
        identifier=DOCUMENT,
        answer=OwnPaymentsView,
        errors=(CardsOff, UnknownDocument),
        about="The latest first.",
    ),
    _one(
        method="GET",
        path="/online-payments",
        name="onlinePayments",
        summary="List the payments by card online, with their refunds and disputes",
        handler=list_all,
        query=paging(PAYMENTS),
        answer=OnlinePaymentPage,
        about="Needs the right `settle`. The newest first.",
    ),
    Endpoint(
        method="POST",
        path=CALLBACKS,
        name="cardCallback",
        summary="Take a callback of the card provider",
        handler=hear,
        tag="settlement",
        proven=True,
        upload=Upload(("application/json",), "An event of Stripe, with its header Stripe-Signature."),
        status=204,
        errors=(CardsOff, ForgedCallback),
        about=f"The signature is verified over the body as it was sent, of {CALLBACK_BYTES_MAX} bytes at most. A callback "
        "only has the house ask the provider soon, so it may come twice, late or in any order.",
    ),
)
