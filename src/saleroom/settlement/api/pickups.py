"""Pick-up: list the sold lots of a sale, hand one out, and take that back."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Form
from saleroom.http.responses import json_response
from saleroom.sales.api.fields import LOT, SALE, words_field
from saleroom.sales.domain.errors import UnknownLot, UnknownSale
from saleroom.settlement.domain.errors import HandedOut, LotNotSold, NotHandedOut, NotPaid
from saleroom.settlement.domain.pickup_views import PickupsView
from saleroom.settlement.domain.pickups import REASON_MAX, TO_MAX, NewPickup
from saleroom.settlement.service import handing_out
from saleroom.settlement.services import SettlementServices

HAND_OUT = Form(
    name="PickupRequest",
    example={"to": "Grace, her sister"},
    members_min=0,
    fields=(
        words_field("to", "to", TO_MAX, "Who takes it, if it is not the buyer."),
        words_field("reason", "reason", REASON_MAX, "Why it is handed out unpaid; for those who manage sales."),
    ),
)


async def show(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/pickups."""
    write, places = call.services.tokens.write, call.services.places
    return json_response(await write(handing_out.listed, call.token, call.identifier, places))


async def hand_out(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/lots/{label}/pickup."""
    sent, services = call.values, call.services
    given = (NewPickup(call.part, sent.get("to", ""), sent.get("reason", "")), services.places, call.key)
    return json_response(await services.tokens.write(handing_out.hand_out, call.token, call.identifier, *given))


async def undo(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/lots/{label}/pickup/undo."""
    given = (call.part, call.services.places, call.key)
    return json_response(await call.services.tokens.write(handing_out.undo, call.token, call.identifier, *given))


_RIGHT = "Needs the right `settle`."
_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN, identifier=SALE, answer=PickupsView)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        method="GET",
        path="/sales/{gid}/pickups",
        name="pickups",
        summary="List the sold lots of a sale for the door",
        handler=show,
        errors=(UnknownSale,),
        about=f"{_RIGHT} Each with its buyer, whether it is paid, and whether it was handed out.",
    ),
    _one(
        method="POST",
        path="/sales/{gid}/lots/{label}/pickup",
        name="handOut",
        summary="Hand a sold lot out",
        handler=hand_out,
        part=LOT,
        form=HAND_OUT,
        once=True,
        errors=(UnknownSale, UnknownLot, LotNotSold, HandedOut, NotPaid, IdempotencyMismatch),
        about=f"{_RIGHT} One that is not paid needs `reason`, and the right `manage_sales`. The audit log notes it.",
    ),
    _one(
        method="POST",
        path="/sales/{gid}/lots/{label}/pickup/undo",
        name="undoHandOut",
        summary="Take back that a lot was handed out",
        handler=undo,
        part=LOT,
        once=True,
        errors=(UnknownSale, UnknownLot, NotHandedOut, IdempotencyMismatch),
        about=f"{_RIGHT} The audit log notes it.",
    ),
)
