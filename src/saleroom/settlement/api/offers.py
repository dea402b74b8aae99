"""After-sale offers: offer a lot that was not sold, withdraw that, list offers, and answer one's own."""

from __future__ import annotations

import re
from functools import partial

from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.endpoints import Access, Call, Endpoint, PathIdentifier
from saleroom.http.forms import INSTANT_SCHEMA, POSITIVE_SCHEMA, Field, Form, boolean, checked, instant, positive
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID
from saleroom.sales.api.fields import LOT, SALE, paddle_field
from saleroom.sales.api.results import REFUSED
from saleroom.sales.domain.errors import LotGone, SaleOver, StandsStill, TooManyLots, UnknownLot, UnknownSale
from saleroom.settlement.domain.errors import (
    LotOffered,
    LotSold,
    NobodyToOffer,
    NotReturned,
    OfferEnded,
    UnknownOffer,
)
from saleroom.settlement.domain.unsold.offer_views import OffersView, OwnOffersView
from saleroom.settlement.domain.unsold.offers import NewOffer, refuse_receiver
from saleroom.settlement.service.unsold import after_sale, offering
from saleroom.settlement.service.unsold.after_sale import Relisting
from saleroom.settlement.services import SettlementServices

OFFER = PathIdentifier(
    name="gid",
    pattern=re.compile(GID.pattern),
    unknown=UnknownOffer,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The offer.",
)
MAKE = Form(
    name="NewOffer",
    example={"paddle": 12, "offerPrice": "80", "until": "2030-01-31T12:00:00Z"},
    fields=(
        paddle_field("To whom it is offered; leave it out for an offer to all."),
        Field(
            name="toAll",
            to="to_all",
            parse=boolean,
            schema={"type": "boolean"},
            about="Whether it is offered to all who have a paddle; the first one who accepts it buys the lot.",
        ),
        Field(
            name="offerPrice",
            to="price",
            parse=positive,
            schema=POSITIVE_SCHEMA,
            required=True,
            about="For how much, as a hammer price; premium and tax come on top by the rate card.",
        ),
        Field(
            name="until", to="until", parse=instant, schema=INSTANT_SCHEMA, required=True, about="The end of the offer."
        ),
    ),
)
_NO_GID = Fault("gid", "must be the identifier of a sale")
_UNSOLD = (UnknownLot, LotSold, LotGone, LotOffered, IdempotencyMismatch)
RELIST = Form(
    name="NextSale",
    example={"sale": "k3X9mQ2vTa1_"},
    fields=(
        Field(
            name="sale",
            to="sale",
            parse=checked(lambda text: text if GID.fullmatch(text) else _NO_GID),
            schema={"type": "string", "pattern": f"^{GID.pattern}$"},
            required=True,
            about="The sale that the lot becomes a lot of.",
        ),
    ),
)
ANSWER = Form(
    name="OfferReply",
    example={"accepted": True},
    fields=(
        Field(
            name="accepted",
            to="accepted",
            parse=boolean,
            schema={"type": "boolean"},
            required=True,
            about="Whether the lot is bought. That cannot be undone.",
        ),
    ),
)


async def show(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/offers."""
    return json_response(await call.services.database.read(offering.listed, call.token, call.identifier))


async def make(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/lots/{label}/offers."""
    sent, write = call.values, call.services.tokens.write
    paddle = sent.get("paddle")
    refuse_receiver(paddle, to_all=sent.get("to_all", False))
    new = NewOffer(call.part, paddle, sent["price"], sent["until"])
    return json_response(await write(offering.offer, call.token, call.identifier, new, call.key), 201)


async def relist(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/lots/{label}/next-sale."""
    given = (call.identifier, Relisting(call.part, call.values["sale"]), call.services.places, call.key)
    return json_response(await call.services.tokens.write(after_sale.put_into_next, call.token, *given), 201)


async def give_back(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/lots/{label}/return."""
    given = (call.identifier, call.part, call.key)
    return json_response(await call.services.tokens.write(after_sale.give_back, call.token, *given))


async def undo_return(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/lots/{label}/return/undo."""
    given = (call.identifier, call.part, call.key)
    return json_response(await call.services.tokens.write(after_sale.undo_return, call.token, *given))


async def withdraw(call: Call[SettlementServices]) -> Response:
    """POST /offers/{gid}/withdrawal."""
    write = call.services.tokens.write
    return json_response(await write(offering.withdraw, call.token, call.identifier, call.key))


async def show_mine(call: Call[SettlementServices]) -> Response:
    """GET /me/offers."""
    return json_response(await call.services.database.read(offering.mine, call.token, call.services.places))


async def answer(call: Call[SettlementServices]) -> Response:
    """POST /offers/{gid}/answer."""
    given = (call.identifier, call.values["accepted"], call.services.places, call.key)
    return json_response(await call.services.tokens.write(offering.answer, call.token, *given))


_RIGHT = "Needs the right `manage_sales`."
_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        method="GET",
        path="/sales/{gid}/offers",
        name="offersOfSale",
        summary="List the offers of a sale, and the lots that can be offered",
        handler=show,
        identifier=SALE,
        answer=OffersView,
        errors=(UnknownSale,),
        about=_RIGHT,
    ),
    _one(
        method="POST",
        path="/sales/{gid}/lots/{label}/offers",
        name="offerLot",
        summary="Offer a lot that was not sold to a paddle, or to all",
        handler=make,
        identifier=SALE,
        part=LOT,
        form=MAKE,
        status=201,
        answer=OffersView,
        once=True,
        errors=(*REFUSED, LotSold, LotOffered, NobodyToOffer, IdempotencyMismatch),
        about=f"{_RIGHT} A lot of a live sale; nothing is offered that could not be accepted now. The audit log notes it.",
    ),
    _one(
        method="POST",
        path="/sales/{gid}/lots/{label}/next-sale",
        name="putIntoNextSale",
        summary="Make a lot that was not sold a lot of another sale",
        handler=relist,
        identifier=SALE,
        part=LOT,
        form=RELIST,
        status=201,
        answer=OffersView,
        once=True,
        errors=(UnknownSale, SaleOver, StandsStill, TooManyLots, *_UNSOLD),
        about=f"{_RIGHT} With its terms, estimate, consignor and photos. No fee is charged twice. The audit log notes it.",
    ),
    _one(
        method="POST",
        path="/sales/{gid}/lots/{label}/return",
        name="returnLot",
        summary="Note that a lot that was not sold went back to its consignor",
        handler=give_back,
        identifier=SALE,
        part=LOT,
        answer=OffersView,
        once=True,
        errors=(UnknownSale, *_UNSOLD),
        about=f"{_RIGHT} The audit log notes it.",
    ),
    _one(
        method="POST",
        path="/sales/{gid}/lots/{label}/return/undo",
        name="undoReturn",
        summary="Take back that a lot went to its consignor",
        handler=undo_return,
        identifier=SALE,
        part=LOT,
        answer=OffersView,
        once=True,
        errors=(UnknownSale, UnknownLot, NotReturned, IdempotencyMismatch),
        about=f"{_RIGHT} The audit log notes it.",
    ),
    _one(
        method="POST",
        path="/offers/{gid}/withdrawal",
        name="withdrawOffer",
        summary="Withdraw an offer",
        handler=withdraw,
        identifier=OFFER,
        answer=OffersView,
        once=True,
        errors=(UnknownOffer, OfferEnded, IdempotencyMismatch),
        about=f"{_RIGHT} The audit log notes it.",
    ),
    _one(
        method="GET",
        path="/me/offers",
        name="myOffers",
        summary="List the offers to me",
        handler=show_mine,
        answer=OwnOffersView,
        about="The latest first, with what has become of each.",
    ),
    _one(
        method="POST",
        path="/offers/{gid}/answer",
        name="answerOffer",
        summary="Accept or decline an offer to me",
        handler=answer,
        identifier=OFFER,
        form=ANSWER,
        answer=OwnOffersView,
        once=True,
        errors=(*REFUSED, UnknownOffer, LotSold, OfferEnded, IdempotencyMismatch),
        about="A lot that is accepted is sold at the price of the offer, as by the hammer.",
    ),
)
