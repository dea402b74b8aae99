"""The wiring of an edge: its routes behind the same layers as those of a house, and what it does beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.routing import Route, Router
from starlette.types import ASGIApp

from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.edge.health import HEALTH
from saleroom.edge.hub import Hub
from saleroom.edge.streams import LogDoor, Pages
from saleroom.feed.streams import AFTER, follow
from saleroom.http import front
from saleroom.http.connections import CONNECTIONS, Connections
from saleroom.http.cursors import Cursors
from saleroom.http.endpoints import Endpoint, PathIdentifier, Rows
from saleroom.http.exchange import APPLICATION, Application
from saleroom.http.front import Front, Routes
from saleroom.http.guard import Guard
from saleroom.http.metrics import Board
from saleroom.http.outcomes import Outcomes
from saleroom.http.secret import HouseSecret
from saleroom.kernel.errors import Refusal, Unauthenticated
from saleroom.kernel.identifiers import GID
from saleroom.platform_settings import PlatformSettings
from saleroom.runtime import serving
from saleroom.runtime.metering import PUBLISH_SECONDS, process_figures
from saleroom.sales.domain.errors import UnknownSale
from saleroom.site.site import Address as PagePath


def application(settings: PlatformSettings, hub: Hub, board: Board | None = None) -> ASGIApp:
    """Return the application of an edge, as `compose.application` is that of a house; it shows figures on the `board`."""
    outcomes = Outcomes()
    connections = Connections(
        settings.connections_max,
        settings.connections_per_address_max,
        settings.trusted_proxies,
        most_here=serving.room_for_connections(),
    )
    answers = _answers(settings, hub, outcomes)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[dict[str, Any]]:
        async with hub.running():
            metering = None if board is None else asyncio.create_task(_meter(board, hub, outcomes, connections))
            try:
                yield {APPLICATION: answers, CONNECTIONS: connections}
            finally:
                if metering is not None:
                    metering.cancel()

    return Router(lifespan=lifespan)


def _answers(settings: PlatformSettings, hub: Hub, outcomes: Outcomes) -> Application:
    secret, pages = HouseSecret(), Pages(hub)
    doors: list[tuple[str, type[Refusal] | None]] = [
        ("/events", None),
        ("/auctions/{gid}/events", UnknownAuction),
        ("/sales/{gid}/events", UnknownSale),
    ]
    rows: list[Rows[Any]] = [Rows(LogDoor(hub, path), (_log_row(path, unknown),)) for path, unknown in doors]
    found = [
        Route("/lots/{gid}/live", PagePath(GET=pages.lot)),
        Route("/lots/{gid}/screen/live", PagePath(GET=pages.screen)),
        Route("/live", PagePath(GET=pages.cards)),
        Route("/sales/{gid}/block/live", PagePath(GET=pages.block)),
    ]
    cursors, size_max = Cursors(secret), settings.body_bytes_max
    return front.build(
        Front(
            Guard(secret=secret, form_bytes_max=size_max, https=settings.is_https),
            Routes(
                found, [route for one in (*rows, Rows(hub, HEALTH)) for route in one.routes(found, cursors, size_max)]
            ),
            page_answer=lambda _, __: None,
            whose=_nobody,
            urgent=(),
        ),
        settings,
        outcomes,
    )


def _log_row(path: str, unknown: type[Refusal] | None) -> Endpoint[Any]:
    """Return the row of a stream of the log; with `unknown`, the refusal for a gid, it is that of one aggregate."""
    gid = PathIdentifier(name="gid", pattern=GID, unknown=unknown, schema={}, about="") if unknown is not None else None
    return Endpoint(
        method="GET",
        path=path,
        name="follow",
        summary="Follow the events as they happen",
        handler=follow,
        tag="events",
        identifier=gid,
        query=AFTER,
        stream=True,
    )


async def _nobody(token: str) -> int:
    """Return nobody: an edge knows no users."""
    raise Unauthenticated


async def _meter(board: Board, hub: Hub, outcomes: Outcomes, connections: Connections) -> None:
    while True:
        board.publish([*process_figures(outcomes, connections), *hub.figures()])
        await asyncio.sleep(PUBLISH_SECONDS)
