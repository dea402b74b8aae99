"""Rate cards: list, make, show, change, try out; and choose them for sales, lots and consignors."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.endpoints import Access, Call, Endpoint, PathIdentifier
from saleroom.http.responses import json_response
from saleroom.kernel.identifiers import GID
from saleroom.sales.api.fields import CONSIGNOR, LOT, SALE
from saleroom.sales.domain.errors import UnknownConsignor, UnknownLot, UnknownSale
from saleroom.settlement.api.forms import CHANGE, CHOOSE, MAKE, TRIAL, card_of
from saleroom.settlement.domain.errors import RateCardTaken, TooManyRateCards, UnknownRateCard
from saleroom.settlement.domain.rates.cards import PreviewView, RateCardView
from saleroom.settlement.service import rates
from saleroom.settlement.service.rates import CardTarget, Trial
from saleroom.settlement.services import SettlementServices

CARD = PathIdentifier(
    name="gid",
    pattern=GID,
    unknown=UnknownRateCard,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The rate card.",
)
_RIGHT = "Needs the right `set_rates`."
_NOTED = f"{_RIGHT} The audit log notes it."


class RateCardsView(Struct, frozen=True, rename="camel"):
    """The rate cards of the house, by name."""

    rate_cards: list[RateCardView]


class RateChoiceView(Struct, frozen=True):
    """The rate card that is chosen; null for none of its own."""

    card: str | None


async def list_cards(call: Call[SettlementServices]) -> Response:
    """GET /rate-cards."""
    return json_response(RateCardsView(await call.services.database.read(rates.listed, call.token)))


async def make(call: Call[SettlementServices]) -> Response:
    """POST /rate-cards."""
    sent = call.values
    write = call.services.tokens.write
    return json_response(await write(rates.make, call.token, sent["name"], card_of(sent), call.key), 201)


async def show(call: Call[SettlementServices]) -> Response:
    """GET /rate-cards/{gid}."""
    return json_response(await call.services.database.read(rates.shown, call.token, call.identifier))


async def change(call: Call[SettlementServices]) -> Response:
    """PUT /rate-cards/{gid}."""
    write = call.services.tokens.write
    return json_response(await write(rates.change, call.token, call.identifier, card_of(call.values), call.key))


async def preview(call: Call[SettlementServices]) -> Response:
    """GET /rate-cards/{gid}/preview."""
    trial = Trial(**({"price": None} | call.query))
    read = call.services.database.read
    return json_response(await read(rates.preview, call.token, call.identifier, trial, call.services.places))


async def choose_for_sale(call: Call[SettlementServices]) -> Response:
    """PUT /sales/{gid}/rates."""
    return await _choose(call, CardTarget(sale=call.identifier))


async def choose_for_lot(call: Call[SettlementServices]) -> Response:
    """PUT /sales/{gid}/lots/{label}/rates."""
    return await _choose(call, CardTarget(sale=call.identifier, lot=call.part))


async def choose_for_consignor(call: Call[SettlementServices]) -> Response:
    """PUT /consignors/{code}/rates."""
    return await _choose(call, CardTarget(consignor=call.identifier))


async def rates_of_sale(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/rates."""
    return await _holding(call, CardTarget(sale=call.identifier))


async def rates_of_lot(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/lots/{label}/rates."""
    return await _holding(call, CardTarget(sale=call.identifier, lot=call.part))


async def rates_of_consignor(call: Call[SettlementServices]) -> Response:
    """GET /consignors/{code}/rates."""
    return await _holding(call, CardTarget(consignor=call.identifier))


async def _choose(call: Call[SettlementServices], chosen: CardTarget) -> Response:
    card = await call.services.tokens.write(rates.choose, call.token, chosen, call.values["card"])
    return json_response(RateChoiceView(card))


async def _holding(call: Call[SettlementServices], chosen: CardTarget) -> Response:
    return json_response(RateChoiceView(await call.services.database.read(rates.holding, call.token, chosen)))


_LATER = (
    "What was sold before keeps the rates that held then; if none held, the first card that is chosen later holds. A lot on an "
    "invoice or a statement keeps what that states until it is credited."
)
_CARDS: tuple[Endpoint[SettlementServices], ...] = (
    Endpoint(
        method="GET",
        path="/rate-cards",
        name="rateCards",
        summary="List the rate cards of the house",
        handler=list_cards,
        tag="settlement",
        access=Access.TOKEN,
        answer=RateCardsView,
        about=_RIGHT,
    ),
    Endpoint(
        method="POST",
        path="/rate-cards",
        name="makeRateCard",
        summary="Make a rate card",
        handler=make,
        tag="settlement",
        access=Access.TOKEN,
        form=MAKE,
        status=201,
        answer=RateCardView,
        errors=(RateCardTaken, TooManyRateCards, IdempotencyMismatch),
        once=True,
        about=_NOTED,
    ),
    Endpoint(
        method="GET",
        path="/rate-cards/{gid}",
        name="rateCard",
        summary="Show a rate card",
        handler=show,
        tag="settlement",
        identifier=CARD,
        access=Access.TOKEN,
        answer=RateCardView,
        errors=(UnknownRateCard,),
        about=_RIGHT,
    ),
    Endpoint(
        method="PUT",
        path="/rate-cards/{gid}",
        name="changeRateCard",
        summary="Give a rate card other terms, which hold from now on",
        handler=change,
        tag="settlement",
        identifier=CARD,
        access=Access.TOKEN,
        form=CHANGE,
        answer=RateCardView,
        errors=(UnknownRateCard, TooManyRateCards, IdempotencyMismatch),
        once=True,
        about=f"{_NOTED} The body has all terms. {_LATER}",
    ),
    Endpoint(
        method="GET",
        path="/rate-cards/{gid}/preview",
        name="previewRates",
        summary="Try a rate card: what would a hammer price cost the buyer and bring the consignor",
        handler=preview,
        tag="settlement",
        identifier=CARD,
        access=Access.TOKEN,
        query=TRIAL,
        answer=PreviewView,
        errors=(UnknownRateCard,),
        about=_RIGHT,
    ),
)
_CHOICES: tuple[Endpoint[SettlementServices], ...] = (
    Endpoint(
        method="GET",
        path="/sales/{gid}/rates",
        name="ratesOfSale",
        summary="Show the rate card of a sale",
        handler=rates_of_sale,
        tag="settlement",
        identifier=SALE,
        access=Access.TOKEN,
        answer=RateChoiceView,
        errors=(UnknownSale,),
        about=_RIGHT,
    ),
    Endpoint(
        method="PUT",
        path="/sales/{gid}/rates",
        name="chooseRatesOfSale",
        summary="Choose the rate card of a sale",
        handler=choose_for_sale,
        tag="settlement",
        identifier=SALE,
        access=Access.TOKEN,
        form=CHOOSE,
        answer=RateChoiceView,
        errors=(UnknownSale, UnknownRateCard),
        about=_NOTED,
    ),
    Endpoint(
        method="GET",
        path="/sales/{gid}/lots/{label}/rates",
        name="ratesOfLot",
        summary="Show the rate card of a lot, if it has its own",
        handler=rates_of_lot,
        tag="settlement",
        identifier=SALE,
        part=LOT,
        access=Access.TOKEN,
        answer=RateChoiceView,
        errors=(UnknownSale, UnknownLot),
        about=_RIGHT,
    ),
    Endpoint(
        method="PUT",
        path="/sales/{gid}/lots/{label}/rates",
        name="chooseRatesOfLot",
        summary="Choose a rate card for one lot",
        handler=choose_for_lot,
        tag="settlement",
        identifier=SALE,
        part=LOT,
        access=Access.TOKEN,
        form=CHOOSE,
        answer=RateChoiceView,
        errors=(UnknownSale, UnknownLot, UnknownRateCard),
        about=_NOTED,
    ),
    Endpoint(
        method="GET",
        path="/consignors/{code}/rates",
        name="ratesOfConsignor",
        summary="Show the rate card of a consignor, if they have their own",
        handler=rates_of_consignor,
        tag="settlement",
        identifier=CONSIGNOR,
        access=Access.TOKEN,
        answer=RateChoiceView,
        errors=(UnknownConsignor,),
        about=_RIGHT,
    ),
    Endpoint(
        method="PUT",
        path="/consignors/{code}/rates",
        name="chooseRatesOfConsignor",
        summary="Choose a rate card for the lots of a consignor",
        handler=choose_for_consignor,
        tag="settlement",
        identifier=CONSIGNOR,
        access=Access.TOKEN,
        form=CHOOSE,
        answer=RateChoiceView,
        errors=(UnknownConsignor, UnknownRateCard),
        about=_NOTED,
    ),
)
ENDPOINTS = (*_CARDS, *_CHOICES)
