"""The wiring: areas and settings become parts, parts become the application, the application is served."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial, reduce
from operator import or_
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import structlog
from pydantic import SecretStr
from starlette.routing import Router
from starlette.types import ASGIApp

from saleroom import logs, metering, opening, serving
from saleroom.accounts.domain.owner_link import PATH as OWNER
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate, token_owners
from saleroom.accounts.web.pages import LOGIN
from saleroom.admin import person_export, users
from saleroom.area import Area, Platform, Task
from saleroom.areas import AREAS
from saleroom.broker.embedded import BrokerAddress, EmbeddedBroker, reached_at
from saleroom.http import front, openapi, schemas
from saleroom.http.connections import CONNECTIONS, Connections
from saleroom.http.cursors import Cursors
from saleroom.http.endpoints import Endpoint, Rows
from saleroom.http.exchange import APPLICATION
from saleroom.http.guard import Guard
from saleroom.http.health import HEALTH, HealthServices
from saleroom.http.metrics import Board
from saleroom.http.outcomes import Outcomes
from saleroom.http.places import SharedPlaces
from saleroom.http.protocol import Http
from saleroom.http.schemas import Vocabulary
from saleroom.http.secret import HouseSecret
from saleroom.kernel.errors import Refusal
from saleroom.metering import Meter
from saleroom.mqtt import asyncapi
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import MqttSettings, Version
from saleroom.outbox.smtp import where_mails_go
from saleroom.settings import Settings
from saleroom.site import house_profile
from saleroom.site import operations as site_operations
from saleroom.site.pages import Pages
from saleroom.site.site import AreaPages, Site
from saleroom.storage.database import Database, parse_url, shown_url
from saleroom.storage.tokens import Tokens

log = structlog.get_logger()

ENDPOINTS: tuple[Endpoint[Any], ...] = (*(row for area in AREAS for row in area.endpoints), *HEALTH)
"""The table of routes: every endpoint of the API."""
RESTART_SECONDS = 1.0
_WORKER_SETTINGS = "SALEROOM_INTERNAL_SETTINGS"
_WORKER_FOLDER = "SALEROOM_INTERNAL_FOLDER"


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

    ASGI is for its start and its end only: the protocol finds what answers requests in the state of the lifespan.
    `broker` None leaves MQTT off. Tests may pass a `database` with a clock that they set. `folder` is what several processes
    share; None if there is one process. On the `board` the process publishes its figures; without one it shows none.
    """
    database = database or opening.database(settings)
    connections, outcomes = _connections(settings, folder), Outcomes()
    secret, tokens = HouseSecret(), Tokens(database, token_owners)
    platform = _platform(settings, areas, secret, broker, database=database, tokens=tokens)
    parts = [area.open(settings, platform) for area in areas]
    rows: list[Rows[Any]] = [one for part in parts for one in part.rows]
    relay = next((part.relay for part in parts if part.relay is not None), None)
    documents = tuple(declare for area in areas for declare in area.messages)
    endpoints = (*(row for one in rows for row in one.endpoints), *HEALTH)
    health = HealthServices(
        broker=lambda: "off" if relay is None else relay.status,
        owed=next((part.owed for part in parts if part.owed is not None), partial(_nothing_owed, database)),
        openapi=api_document(endpoints, areas),
        asyncapi=asyncapi.document(
            settings.mqtt_prefix, _brokers(settings, None if relay is None else broker), documents
        ),
    )

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[dict[str, Any]]:
        await secret.begin(database)
        tasks: dict[str, Task] = {"secret": partial(secret.run, database)}
        for part in parts:
            tasks |= await part.begin()
        if board is not None:
            counted, asked = [part.figures for part in parts], [ask for part in parts for ask in part.asked]
            tasks["figures"] = Meter(board, database, outcomes, connections, counted, asked).run
        try:
            async with _running(tasks, relay):
                yield {APPLICATION: answers, CONNECTIONS: connections}
        finally:
            for part in parts:
                part.close()
            await database.close()

    pages = _pages(settings, [part.pages for part in parts], database, (row.path for row in endpoints))
    routes = pages.routes()
    answers = front.build(
        routes,
        [
            route
            for one in (*rows, Rows(health, HEALTH))
            for route in one.routes(routes, platform.cursors, settings.body_bytes_max)
        ],
        _guard(settings, secret, pages),
        page_answer=pages.answer,
        whose=tokens.owner,
        urgent=tuple(path for area in areas for path in area.urgent),
        cors_origins=settings.cors_origins,
        trusted_proxies=settings.trusted_proxies,
        https=_is_https(settings),
        outcomes=outcomes,
    )
    return Router(lifespan=lifespan)


async def _nothing_owed(database: Database) -> int:
    await database.check()
    return 0


def _platform(
    settings: Settings, areas: Sequence[Area[Settings]], secret: HouseSecret, broker: MqttSettings | None, **parts: Any
) -> Platform:
    parts |= {"mails": {kind.name: kind for area in areas for kind in area.mails}, "origin": _origin(settings)}
    archive = partial(person_export.write, settings)
    return Platform(**parts, archive=archive, secret=secret, broker=broker, cursors=Cursors(secret))


def _pages(settings: Settings, areas: Sequence[AreaPages], database: Database, api_paths: Iterable[str]) -> Pages:
    site = Site(
        areas[::-1],  # the menu begins with the last area, so that the user comes at its end
        database,
        partial(authenticate, right=Right.READ),
        LOGIN,
        currency=settings.currency,
        https=_is_https(settings),
        public_url=settings.public_url,
        profile=house_profile.read(settings.house_name, settings.house_folder),
    )
    return Pages(site, api_paths)


def _guard(settings: Settings, secret: HouseSecret, pages: Pages) -> Guard:
    return Guard(
        secret=secret,
        form_bytes_max=settings.body_bytes_max,
        shows_again=pages.shows_again,
        proven=pages.proven,
        https=_is_https(settings),
    )


def _is_https(settings: Settings) -> bool:
    """Return whether people reach the house by https."""
    return (settings.public_url or "").startswith("https://")


def _origin(settings: Settings) -> str:
    """Return the address by which people reach the house, as far as the settings tell."""
    return (settings.public_url or f"http://{reached_at(settings.host, settings.port)}").rstrip("/")


def _connections(settings: Settings, folder: Path | None) -> Connections:
    return Connections(
        settings.connections_max,
        settings.connections_per_address_max,
        settings.trusted_proxies,
        places=None if folder is None else SharedPlaces(folder),
        most_here=serving.room_for_connections(),
    )


async def _prepare(database: Database, settings: Settings) -> None:
    """Bring the tables up to date, and do what each area wants done before several processes begin."""
    await opening.with_tables(database)
    for area in AREAS:
        await area.prepare(settings, database)


def worker() -> ASGIApp:
    """Return the application of one of several processes; its parent has left the settings in the environment."""
    settings = Settings.model_validate_json(os.environ[_WORKER_SETTINGS])
    logs.configure(settings.log_level, settings.log_format)
    serving.end_with_parent()
    folder = Path(os.environ[_WORKER_FOLDER])
    board = None if settings.metrics_port is None else Board(folder, f"{os.getpid()}-{time.monotonic_ns()}")
    app = application(settings, _broker(settings), folder=folder, board=board)
    serving.rarely_collect()
    return app


def serve(settings: Settings) -> int:
    """Bring the tables up to date, serve until SIGTERM or SIGINT, finish the requests under way; return the exit code.

    Raises Refusal or OSError, with a message for people, if the house cannot start.
    """
    logs.configure(settings.log_level, settings.log_format)
    house_profile.read(settings.house_name, settings.house_folder)
    opening.run(settings, partial(_prepare, settings=settings))
    listener = serving.listen(settings.host, settings.port)
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    embedded = _embedded(settings) if settings.mqtt == "embedded" else None
    try:
        address = None if embedded is None else embedded.start()
        if address is not None:
            settings = _with_embedded(settings, address)
        broker = _broker(settings)
        lines = [*_start_lines(settings, listener, broker, address), *_owner_lines(settings)]
        if settings.workers == 1:
            board, shown = _show_figures(settings, None)
            app = application(settings, broker, board=board)
            return serving.serve_one(app, Http, listener, [*lines, *shown])
        os.environ[_WORKER_SETTINGS] = json.dumps(_plain(settings))
        with TemporaryDirectory(prefix="saleroom-") as folder:
            os.environ[_WORKER_FOLDER] = folder
            SharedPlaces.prepare(Path(folder), settings.workers)
            _, shown = _show_figures(settings, Path(folder))
            app_of = "saleroom.compose:worker"
            return serving.serve_several(app_of, Http, settings.workers, listener, [*lines, *shown])
    finally:
        if embedded is not None:
            embedded.stop()
        listener.close()


def _show_figures(settings: Settings, folder: Path | None) -> tuple[Board | None, list[str]]:
    """Show the figures of the house if a setting asks for it; return where they are published, and a line for people."""
    if settings.metrics_port is None:
        return None, []
    listener = serving.listen(settings.metrics_host, settings.metrics_port, "the settings metrics_host or metrics_port")
    board = Board(folder)
    metering.serve_beside(board, listener, _secret(settings.metrics_token))
    return board, [f"  metrics   http://{reached_at(*listener.getsockname()[:2])}/metrics"]


def _broker(settings: Settings) -> MqttSettings | None:
    """Return how to reach the broker, or None if MQTT is off. Raises Refusal for a setting that cannot be used."""
    if settings.mqtt == "off":
        return None
    url = settings.mqtt
    if url == "embedded":
        url = BrokerAddress(settings.mqtt_host, settings.mqtt_port, "", "").url
    try:
        return MqttSettings.from_url(
            url,
            user=settings.mqtt_user,
            password=_secret(settings.mqtt_password),
            client_id=settings.mqtt_client_id,
            prefix=settings.mqtt_prefix,
            ca_file=settings.mqtt_ca_file,
            version=Version(settings.mqtt_version),
        )
    except ValueError as error:
        raise Refusal(f"mqtt: {error}") from error


def _embedded(settings: Settings) -> EmbeddedBroker:
    """Return the embedded broker. It may take a free port only if its port is not set."""
    chosen = "mqtt_port" in settings.model_fields_set
    return EmbeddedBroker(
        settings.mqtt_prefix,
        settings.mqtt_host,
        # The port of the house is bound, but nobody listens on it yet: the system would let the broker have it too.
        0 if settings.mqtt_port == settings.port and not chosen else settings.mqtt_port,
        settings.mqtt_websocket_port,
        falls_back=not chosen,
        origins=_origins(settings),
    )


def _origins(settings: Settings) -> tuple[str, ...]:
    """Return the origins of the house's own pages, and of those that may use its API."""
    if settings.public_url is not None:
        url = urlsplit(settings.public_url)
        usual = {"http": ":80", "https": ":443"}[url.scheme]
        own: tuple[str, ...] = (f"{url.scheme}://{url.netloc.rpartition('@')[2].removesuffix(usual)}".lower(),)
    else:
        own = (f"http://{reached_at(settings.host, settings.port)}", f"http://localhost:{settings.port}")
    return (*own, *settings.cors_origins)


def _with_embedded(settings: Settings, address: BrokerAddress) -> Settings:
    """Return the settings with the ports and the account of the embedded broker; the account is new at each start."""
    return settings.model_copy(
        update={
            "mqtt_port": address.port,
            "mqtt_websocket_port": address.websocket_port,
            "mqtt_user": address.user,
            "mqtt_password": SecretStr(address.password),
            "mqtt_client_id": address.user,
            "mqtt_version": Version.V311.value,
        }
    )


def _brokers(settings: Settings, broker: MqttSettings | None) -> asyncapi.Brokers:
    """Return the addresses of the house and of its broker, for the AsyncAPI document."""
    embedded = settings.mqtt == "embedded"
    return asyncapi.Brokers(
        house=_origin(settings),
        broker=broker,
        embedded=embedded,
        websocket_port=settings.mqtt_websocket_port if embedded else None,
    )


def _start_lines(
    settings: Settings, listener: socket.socket, broker: MqttSettings | None, embedded: BrokerAddress | None
) -> list[str]:
    """Return the lines for people at the start: the address, the database and the broker."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    processes = "" if settings.workers == 1 else f" with {settings.workers} processes"
    mqtt = "off" if broker is None else broker.url if embedded is None else f"{embedded.shown} (embedded)"
    return [
        f"saleroom serves on http://{shown}:{port}{processes}; the API is described at /docs",
        f"  database  {shown_url(parse_url(settings.database))}",
        f"  mqtt      {mqtt}",
        f"  mails     {where_mails_go(settings.smtp_url, _origin(settings))}",
    ]


def _owner_lines(settings: Settings) -> list[str]:
    """Return the owner link of a house without an owner. It is for a terminal alone: other outputs may be kept and shipped."""
    code = opening.run(settings, lambda database: database.write(users.new_owner_code))
    if code is None:
        return []
    if not sys.stdout.isatty():
        return ["  owner     none yet; saleroom users owner-link prints a link for the first one"]
    return [f"  owner     none yet; within 24 hours, log in and open {_origin(settings)}{OWNER}#{code}"]


def _plain(settings: Settings) -> dict[str, Any]:
    """Return the settings for this program's own processes, secrets included."""
    plain: dict[str, Any] = settings.model_dump(mode="json")
    return plain | {name: _secret(getattr(settings, name)) for name in ("mqtt_password", "load_key", "metrics_token")}


def _secret(value: SecretStr | None) -> str | None:
    return None if value is None else value.get_secret_value()


@asynccontextmanager
async def _running(tasks: Mapping[str, Task], relay: Relay | None) -> AsyncIterator[None]:
    """Run the tasks beside the requests; at the end the relay sends the owed events, and the others stop at once."""
    running = [asyncio.create_task(_kept_running(name, run)) for name, run in tasks.items()]
    try:
        yield
    finally:
        if relay is not None:
            await relay.stop()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _kept_running(name: str, run: Task) -> None:
    """Run a part as long as the house serves. If it fails, log the bug and start it again."""
    while True:
        try:
            await run()
            return
        except Exception:
            log.exception("a part failed and is started again", part=name)
            await asyncio.sleep(RESTART_SECONDS)
