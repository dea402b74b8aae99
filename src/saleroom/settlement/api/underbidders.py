"""Offers to underbidders: every lot of a sale that was not sold to the one who came closest."""

from __future__ import annotations

import re
from functools import partial

from msgspec import structs
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import INSTANT_SCHEMA, Field, Form, checked, instant
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Fault
from saleroom.sales.api.fields import SALE
from saleroom.sales.domain.errors import UnknownSale
from saleroom.settlement.api.forms import choice
from saleroom.settlement.domain.errors import PlanChanged
from saleroom.settlement.domain.unsold.offer_views import UnderbidderPlanView
from saleroom.settlement.domain.unsold.underbidding import Otherwise
from saleroom.settlement.service.unsold import underbidding
from saleroom.settlement.service.unsold.underbidding import SeenPlan
from saleroom.settlement.services import SettlementServices

_TAG = re.compile("[0-9a-f]{64}")
_NO_TAG = Fault("plan_tag", "must be the planTag of a preview")
_ABOUT = (
    "The price of a lot whose highest bid is below its reserve: the reserve, or the lower estimate if that is more."
)
OTHERWISE = structs.replace(choice("otherwise", "otherwise", Otherwise, _ABOUT), required=True)
PREVIEW = Form(name="UnderbidderPreview", example={"otherwise": "reserve"}, fields=(OTHERWISE,))
OFFER_ALL = Form(
    name="UnderbidderOffers",
    example={"otherwise": "reserve", "until": "2030-01-31T12:00:00Z", "planTag": "0" * 64},
    fields=(
        OTHERWISE,
        Field(
            name="until",
            to="until",
            parse=instant,
            schema=INSTANT_SCHEMA,
            required=True,
            about="The end of each offer.",
        ),
        Field(
            name="planTag",
            to="tag",
            parse=checked(lambda text: text if _TAG.fullmatch(text) else _NO_TAG),
            schema={"type": "string", "pattern": f"^{_TAG.pattern}$"},
            required=True,
            about="That of the preview; another plan is not done in its place.",
        ),
    ),
)


async def preview(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/underbidder-offers/preview."""
    given = (call.identifier, call.values["otherwise"])
    found = await call.services.tokens.write(underbidding.preview, call.token, *given)
    return json_response(underbidding.view_of(call.identifier, found))


async def offer_all(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/underbidder-offers."""
    sent = call.values
    given = (call.identifier, SeenPlan(sent["otherwise"], sent["until"], sent["tag"]), call.key)
    return json_response(await call.services.tokens.write(underbidding.offer_all, call.token, *given), 201)


_one = partial(
    Endpoint[SettlementServices],
    tag="settlement",
    access=Access.TOKEN,
    method="POST",
    identifier=SALE,
    answer=UnderbidderPlanView,
)
_RIGHT = "Needs the right `manage_sales`."
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        path="/sales/{gid}/underbidder-offers/preview",
        name="previewUnderbidderOffers",
        summary="Show what would be offered to the underbidders of a sale",
        handler=preview,
        form=PREVIEW,
        errors=(UnknownSale,),
        about=f"{_RIGHT} Nothing is done. Each lot that was not sold is there once: offered, or left out with the reason.",
    ),
    _one(
        path="/sales/{gid}/underbidder-offers",
        name="offerToUnderbidders",
        summary="Offer every lot of a sale that was not sold to its underbidder",
        handler=offer_all,
        form=OFFER_ALL,
        status=201,
        once=True,
        errors=(UnknownSale, PlanChanged, IdempotencyMismatch),
        about=f"{_RIGHT} Just the plan of the preview, all of it or nothing. The audit log notes each offer.",
    ),
)
