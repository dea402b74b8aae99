"""The state of an edge: whether it lives, and whether it hears its house."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.edge.hub import Hub
from saleroom.http.endpoints import Call, Endpoint
from saleroom.http.health import PROBE
from saleroom.http.responses import Health, json_response


class EdgeReadiness(Struct, frozen=True):
    """Whether the house is heard (`ok` or `silent`), and how many readers there are."""

    status: str
    house: str
    readers: int


async def healthz(call: Call[Hub]) -> Response:
    """GET /healthz."""
    return json_response(Health("ok"), headers=PROBE)


async def readyz(call: Call[Hub]) -> Response:
    """GET /readyz: 503 while the house is not heard. Those who follow stay, and new ones go elsewhere."""
    hub = call.services
    if hub.ready:
        return json_response(EdgeReadiness("ok", "ok", len(hub)), headers=PROBE)
    return json_response(EdgeReadiness("unavailable", "silent", len(hub)), 503, {**PROBE, "Retry-After": "1"})


HEALTH: tuple[Endpoint[Hub], ...] = (
    Endpoint(
        method="GET",
        path="/healthz",
        name="health",
        summary="200 once the edge answers",
        handler=healthz,
        tag="service",
        answer=Health,
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        name="ready",
        summary="Tells whether the house is heard",
        handler=readyz,
        tag="service",
        answer=EdgeReadiness,
        unavailable=EdgeReadiness,
    ),
)
