"""The wiring: areas and settings become parts, and parts become the application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial, reduce
from importlib import import_module
from operator import or_
from pathlib import Path
from types import ModuleType
from typing import Any

import structlog
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from saleroom import opening
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate, live_tokens, token_owners
from saleroom.accounts.web.pages import LOGIN
from saleroom.admin import person_export
from saleroom.area import Area, AreaParts, Platform, Task
from saleroom.areas import AREAS, forget
from saleroom.broker.embedded import reached_at
from saleroom.http import front, openapi, schemas
from saleroom.http.connections import CONNECTIONS, Connections
from saleroom.http.cursors import Cursors
from saleroom.http.endpoints import Endpoint, Rows
from saleroom.http.exchange import APPLICATION
from saleroom.http.front import Front, Routes
from saleroom.http.guard import Guard
from saleroom.http.health import HEALTH, HealthServices
from saleroom.http.metrics import Board
from saleroom.http.outcomes import Outcomes
from saleroom.http.places import SharedPlaces
from saleroom.http.schemas import Vocabulary
from saleroom.http.secret import HouseSecret
from saleroom.kernel.errors import Refusal
from saleroom.log.store import PUBLISHED
from saleroom.mqtt import asyncapi
from saleroom.mqtt.outbox import Publications
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import MqttSettings
from saleroom.runtime import serving
from saleroom.runtime.metering import Meter
from saleroom.runtime.presence import Presence
from saleroom.settings import Settings
from saleroom.site import house_profile
from saleroom.site import operations as site_operations
from saleroom.site.pages import Pages
from saleroom.site.site import AreaPages, Site
from saleroom.storage.database import Database
from saleroom.storage.notices import Notices
from saleroom.storage.tokens import Tokens

log = structlog.get_logger()

ENDPOINTS: tuple[Endpoint[Any], ...] = (*(row for area in AREAS for row in area.endpoints), *HEALTH)
"""The table of routes: every endpoint of the API."""


def vocabulary(areas: Sequence[Area[Settings]] = AREAS) -> Vocabulary:
    """Return the words of the API's document."""
    return reduce(or_, (*(area.vocabulary for area in areas), schemas.VOCABULARY))


def api_document(endpoints: Sequence[Endpoint[Any]] = ENDPOINTS, areas: Sequence[Area[Settings]] = AREAS) -> bytes:
    """Return the OpenAPI document of a house with these endpoints."""
    pages = reduce(or_, (dict(area.operations) for area in areas), dict(site_operations.OPERATIONS))
    return openapi.document(endpoints, vocabulary(areas), pages)


def application(
    settings: Settings,
    broker: MqttSettings | None = None,
    database: Database | None = None,
    areas: Sequence[Area[Settings]] = AREAS,
    folder: Path | None = None,
    board: Board | None = None,
) -> ASGIApp:
    """Return the application of one process: the platform, and the parts of all areas.

    ASGI is for its start and its end only: the protocol finds what answers requests in the state of the lifespan. `broker` None
    leaves MQTT off. Tests pass a `database` with a clock. Several processes share a `folder`, and show figures on the `board`.
    """
    tracing = tracing_of(settings)
    traces = None if tracing is None else tracing.Traces(settings)
    database = database or opening.database(settings, Database if traces is None else traces.database)
    connections, outcomes = _connections(settings, folder), Outcomes()
    secret, tokens = HouseSecret(), Tokens(database, token_owners, live_tokens)
    platform = _platform(settings, areas, secret, broker, database=database, tokens=tokens)
    parts = [area.open(settings, platform) for area in areas]
    rows: list[Rows[Any]] = [one for part in parts for one in part.rows]
    relay = next((part.relay for part in parts if part.relay is not None), None)
    endpoints = (*(row for one in rows for row in one.endpoints), *HEALTH)
    status = lambda: "off" if relay is None else relay.status  # noqa: E731  # two words
    presence = Presence(database, status, origin(settings))
    health = HealthServices(
        broker=status,
        database=database,
        owed=next((part.owed for part in parts if part.owed is not None), partial(_nothing_owed, database)),
        openapi=api_document(endpoints, areas),
        asyncapi=_messages_document(settings, areas, None if relay is None else broker),
    )

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[dict[str, Any]]:
        await secret.begin(database)
        tasks: dict[str, Task] = {"secret": partial(secret.run, database)}
        for part in parts:
            tasks |= await part.begin()
        tasks |= _heralds(settings, database, platform.published, parts, relay)
        if board is not None:
            counted, asked = [part.figures for part in parts], [ask for part in parts for ask in part.asked]
            tasks["figures"] = Meter(board, database, outcomes, connections, counted, asked).run
        try:
            async with presence.running(tasks, relay):
                yield {APPLICATION: answers, CONNECTIONS: connections}
        finally:
            for part in parts:
                part.close()
            await opening.close(database)
            if traces is not None:
                await traces.stop()

    pages = _pages(settings, [part.pages for part in parts], database, (row.path for row in endpoints))
    routes = pages.routes()
    answers = front.build(
        Front(
            _guard(settings, secret, pages, frozenset(row.path for row in endpoints if row.proven)),
            Routes(routes, _resources(settings, (*rows, Rows(health, HEALTH)), routes, platform.cursors)),
            page_answer=pages.answer,
            whose=tokens.owner,
            urgent=tuple(path for area in areas for path in area.urgent),
        ),
        settings,
        outcomes,
        around=None if traces is None else traces.layer,
    )
    return Router(lifespan=lifespan)


def _resources(settings: Settings, rows: Iterable[Rows[Any]], pages: Sequence[Route], cursors: Cursors) -> list[Route]:
    return [route for one in rows for route in one.routes(pages, cursors, settings.body_bytes_max)]


def tracing_of(settings: Settings) -> ModuleType | None:
    """Return what sends traces if a setting asks for it. Raises Refusal if its packages are not installed."""
    if settings.traces_url is None:
        return None
    try:
        return import_module("saleroom.runtime.tracing")
    except ImportError as error:
        raise Refusal("traces_url: traces need more packages; `make traces` installs them") from error


def _heralds(
    settings: Settings,
    database: Database,
    published: Iterable[Publications],
    parts: Sequence[AreaParts],
    relay: Relay | None,
) -> Mapping[str, Task]:
    """Let the relay and the other processes hear of all that is committed to the logs; return the task that tells them.

    Behind a pooler a process cannot listen for the notices of others.
    """
    found: dict[str, Task] = {}
    heralds: list[Callable[[], None]] = [] if relay is None else [relay.wake]
    if database.kind == "postgresql" and settings.database_pooler == "none":
        notices = Notices(database, partial(_each, [*heralds, *(part.look for part in parts)]))
        heralds.append(notices.announce)
        found["notices"] = notices.run
    for each in published:
        database.after_commit(each.log.appended, lambda _: _each(heralds))
    return found


def _each(acts: Iterable[Callable[[], None]]) -> None:
    for act in acts:
        act()


async def _nothing_owed(database: Database) -> int:
    await database.check()
    return 0


def _platform(
    settings: Settings, areas: Sequence[Area[Settings]], secret: HouseSecret, broker: MqttSettings | None, **parts: Any
) -> Platform:
    parts |= {"mails": {kind.name: kind for area in areas for kind in area.mails}, "origin": origin(settings)}
    archive = partial(person_export.write, settings)
    parts["published"] = published = tuple(each for area in areas for each in area.published)
    parts["database"].provide(PUBLISHED, tuple(each.log for each in published))
    return Platform(**parts, archive=archive, forget=forget, secret=secret, broker=broker, cursors=Cursors(secret))


def _pages(settings: Settings, areas: Sequence[AreaPages], database: Database, api_paths: Iterable[str]) -> Pages:
    site = Site(
        areas[::-1],  # the menu begins with the last area, so that the user comes at its end
        database,
        partial(authenticate, right=Right.READ),
        LOGIN,
        currency=settings.currency,
        https=settings.is_https,
        public_url=settings.public_url,
        profile=house_profile.read(settings.house_name, settings.house_folder),
    )
    return Pages(site, api_paths)


def _guard(settings: Settings, secret: HouseSecret, pages: Pages, proven: frozenset[str]) -> Guard:
    return Guard(
        secret=secret,
        form_bytes_max=settings.body_bytes_max,
        shows_again=pages.shows_again,
        proven=pages.proven | proven,
        https=settings.is_https,
    )


def origin(settings: Settings) -> str:
    """Return the address by which people reach the house, as far as the settings tell."""
    return settings.public_url or f"http://{reached_at(settings.host, settings.port)}"


def _connections(settings: Settings, folder: Path | None) -> Connections:
    return Connections(
        settings.connections_max,
        settings.connections_per_address_max,
        settings.trusted_proxies,
        places=None if folder is None else SharedPlaces(folder),
        most_here=serving.room_for_connections(),
    )


def _messages_document(settings: Settings, areas: Sequence[Area[Settings]], broker: MqttSettings | None) -> bytes:
    """Return the AsyncAPI document, with the addresses of the house and of its broker."""
    embedded = settings.mqtt == "embedded"
    brokers = asyncapi.Brokers(
        house=origin(settings),
        broker=broker,
        embedded=embedded,
        websocket_port=settings.mqtt_websocket_port if embedded else None,
    )
    documents = tuple(declare for area in areas for declare in area.messages)
    return asyncapi.document(settings.mqtt_prefix, brokers, documents)
