"""The state of the service, and its documents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from saleroom.http.endpoints import Call, Endpoint
from saleroom.http.responses import Health, Readiness, json_response
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable

PROBE = {"Cache-Control": "no-store"}
COMMIT_SECONDS_MAX = 12.0
"""A process that has committed nothing for so long is not ready. Two heartbeats of the house fit into it."""


@dataclass(frozen=True, kw_only=True)
class HealthServices:
    """The state of the house and its documents: its broker, the number of owed events, and the two documents."""

    broker: Callable[[], str]
    """Returns `connected`, `not connected`, `standing by` (another process has the relay) or `off`."""
    owed: Callable[[], Awaitable[int]]
    """Counts the events that were not delivered yet. Raises DatabaseUnavailable."""
    database: Database
    """It says for how long it has committed nothing, and whether that is copied."""
    openapi: bytes
    asyncapi: bytes


async def healthz(call: Call[HealthServices]) -> Response:
    """GET /healthz."""
    return json_response(Health("ok"), headers=PROBE)


async def readyz(call: Call[HealthServices]) -> Response:
    """GET /readyz: 503 while the database cannot be reached, commits nothing or is not copied. It can do without the broker.

    A database may answer each question and yet commit nothing, as one that waits for its standby.
    """
    mqtt = call.services.broker()
    try:
        owed = await call.services.owed()
    except DatabaseUnavailable:
        return _not_ready(Readiness("unavailable", "unavailable", mqtt, 0))
    if not call.services.database.is_copied():
        return _not_ready(Readiness("unavailable", "not copied", mqtt, owed))
    if call.services.database.seconds_without_commit() > COMMIT_SECONDS_MAX:
        return _not_ready(Readiness("unavailable", "commits nothing", mqtt, owed))
    return json_response(Readiness("ok", "ok", mqtt, owed), headers=PROBE)


def _not_ready(why: Readiness) -> Response:
    return json_response(why, 503, {**PROBE, "Retry-After": "1"})


async def asyncapi(call: Call[HealthServices]) -> Response:
    """GET /asyncapi.json."""
    return json_response(call.services.asyncapi, headers={"Cache-Control": "no-cache"})


async def openapi(call: Call[HealthServices]) -> Response:
    """GET /openapi.json."""
    return json_response(call.services.openapi, headers={"Cache-Control": "no-cache"})


HEALTH: tuple[Endpoint[HealthServices], ...] = (
    Endpoint(
        method="GET",
        path="/healthz",
        name="health",
        summary="200 once the service answers",
        handler=healthz,
        tag="service",
        answer=Health,
        about="It asks nothing of the database: for a check of whether the process lives.",
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        name="ready",
        summary="Checks the database and tells how the MQTT broker is",
        handler=readyz,
        tag="service",
        answer=Readiness,
        unavailable=Readiness,
        about="For a check of whether requests can be served; 503 where the database cannot be reached, commits nothing, "
        "or is not copied although answers wait for that.",
    ),
    Endpoint(
        method="GET",
        path="/openapi.json",
        name="openapi",
        summary="This document",
        handler=openapi,
        tag="service",
        answer=dict,
        about="OpenAPI 3.1, built from the routes that this house has.",
    ),
    Endpoint(
        method="GET",
        path="/asyncapi.json",
        name="asyncapi",
        summary="What passes over MQTT and in the streams of events, as AsyncAPI 3.0",
        handler=asyncapi,
        tag="service",
        answer=dict,
        about="It names the broker and the ports of this house.",
    ),
)
