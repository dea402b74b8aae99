"""What buying in a sale costs, for everybody."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from saleroom.bidding.domain.events import Channel
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.responses import json_response
from saleroom.sales.api.fields import LOT, SALE
from saleroom.sales.domain.errors import UnknownLot, UnknownSale
from saleroom.settlement.api.forms import TRIAL
from saleroom.settlement.domain.rates.costs import CostsView
from saleroom.settlement.service.costing import costs
from saleroom.settlement.services import SettlementServices

PRICED = tuple(field for field in TRIAL if field.name in ("price", "channel"))


async def of_sale(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/costs."""
    return await _costs(call, None)


async def of_lot(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/lots/{label}/costs."""
    return await _costs(call, call.part)


async def _costs(call: Call[SettlementServices], label: str | None) -> Response:
    asked = (call.query.get("price"), call.query.get("channel", Channel.ONLINE), call.services.places)
    found = await call.services.database.read(costs, call.viewer, call.identifier, label, *asked)
    return json_response(found.found)


_ABOUT = (
    "By the rates of today. With a `price`, the lines and the total are those of a lot that is sold at it now. Without a rate "
    "card the buyer pays the hammer price alone."
)
_one = partial(
    Endpoint[SettlementServices],
    method="GET",
    tag="settlement",
    access=Access.TOKEN_OPTIONAL,
    identifier=SALE,
    query=PRICED,
    answer=CostsView,
    about=_ABOUT,
)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        path="/sales/{gid}/costs",
        name="costsOfSale",
        summary="Show what buying in a sale costs: premium, surcharges and tax",
        handler=of_sale,
        errors=(UnknownSale,),
    ),
    _one(
        path="/sales/{gid}/lots/{label}/costs",
        name="costsOfLot",
        summary="Show what buying a lot costs: premium, surcharges and tax",
        handler=of_lot,
        part=LOT,
        errors=(UnknownSale, UnknownLot),
    ),
)
