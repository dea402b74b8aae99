"""How the service is, and what it offers."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.http.endpoints import Call
from saleroom.http.responses import Health, Readiness, json_response
from saleroom.storage.faults import Unavailable

PROBE = {"Cache-Control": "no-store"}


async def healthz(call: Call) -> Response:
    """GET /healthz."""
    return json_response(Health("ok"), headers=PROBE)


async def readyz(call: Call) -> Response:
    """GET /readyz: 503 while the database cannot be reached; the broker's absence does not stop the service."""
    mqtt = call.house.broker()
    try:
        owed = await call.house.owing.ask("owed")
    except Unavailable:
        down = Readiness("unavailable", "unavailable", mqtt, 0)
        return json_response(down, 503, {**PROBE, "Retry-After": "1"})
    return json_response(Readiness("ok", "ok", mqtt, owed), headers=PROBE)


async def asyncapi(call: Call) -> Response:
    """GET /asyncapi.json."""
    return json_response(call.house.asyncapi, headers={"Cache-Control": "no-cache"})


async def openapi(call: Call) -> Response:
    """GET /openapi.json."""
    return json_response(call.house.openapi, headers={"Cache-Control": "no-cache"})
