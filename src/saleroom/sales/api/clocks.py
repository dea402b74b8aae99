"""The clocks of a sale: pause it with all its lots, and let it go on."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.responses import json_response
from saleroom.sales.api.fields import SALE
from saleroom.sales.domain.errors import SaleNotPaused, SaleNotRunning, SaleOver, UnknownSale
from saleroom.sales.domain.views import SaleView
from saleroom.sales.service import clocks
from saleroom.sales.services import SaleServices


async def pause(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/pause."""
    return json_response(await call.services.tokens.write(clocks.pause, call.token, call.identifier, call.key))


async def resume(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/resume."""
    return json_response(await call.services.tokens.write(clocks.resume, call.token, call.identifier, call.key))


ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="POST",
        path="/sales/{gid}/pause",
        name="pauseSale",
        summary="Pause a running sale: the clocks of all its lots stand still",
        handler=pause,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        answer=SaleView,
        errors=(UnknownSale, SaleOver, SaleNotRunning, IdempotencyMismatch),
        once=True,
        about="Needs the right `manage_sales`. No lot takes bids, opens or ends until it is resumed. The audit log notes it.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/resume",
        name="resumeSale",
        summary="Let a paused sale go on: each lot has the time that it had",
        handler=resume,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        answer=SaleView,
        errors=(UnknownSale, SaleOver, SaleNotPaused, IdempotencyMismatch),
        once=True,
        about="Needs the right `manage_sales`. The audit log notes it.",
    ),
)
