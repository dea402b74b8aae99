"""The only wiring: settings become parts, parts become the application, the application is served."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from pydantic import SecretStr
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saleroom import logs, opening, serving
from saleroom.accounts.service import accounts
from saleroom.accounts.service.accounts import Accounts
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.throttle import FailedLogins, Registrations
from saleroom.bidding.api.devices import Commands
from saleroom.bidding.api.endpoints import offered
from saleroom.bidding.service import reading, signing
from saleroom.bidding.service.closing import Closer
from saleroom.bidding.service.desk import Desk
from saleroom.bidding.service.photos import Photos
from saleroom.bidding.service.signing import SigningKey
from saleroom.bidding.storage.auctions import CHANGED
from saleroom.broker.embedded import BrokerAddress, EmbeddedBroker, reached_at
from saleroom.feed.feed import Feed
from saleroom.http import asyncapi, endpoints, front, openapi
from saleroom.http.connections import CONNECTIONS, Connections
from saleroom.http.cursors import Cursors
from saleroom.http.guard import SecurityHeaders
from saleroom.http.protocol import Http
from saleroom.http.secret import HouseSecret
from saleroom.http.services import House
from saleroom.kernel.errors import Refused
from saleroom.log import store as log_rows
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import MqttSettings, Version
from saleroom.settings import Settings
from saleroom.site.assets import Assets
from saleroom.site.pages import Pages
from saleroom.storage.batching import Shared
from saleroom.storage.database import Database
from saleroom.storage.notices import Notices

log = structlog.get_logger()

PUBLIC_FOLDER = Path(__file__).parent / "site" / "static"
RESTART_SECONDS = 1.0
_WORKER_SETTINGS = "SALEROOM_INTERNAL_SETTINGS"
_CORS_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_CORS_HEADERS = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-None-Match",
    "Last-Event-ID",
    "X-Requested-With",
)
_CORS_EXPOSED = ("ETag", "Link", "Location", "Retry-After")


def application(settings: Settings, broker: MqttSettings | None = None, database: Database | None = None) -> ASGIApp:
    """Return the ASGI application of one process: the house, its doors, its closer and its relay.

    `broker` None leaves MQTT off. Tests may bring their own `database`, with a clock they can turn.
    """
    database = database or opening.database(settings)
    passwords = Passwords()
    registrations = Registrations(settings.registrations_per_hour) if settings.registration == "open" else None
    closer = Closer(database, reopens=settings.outage_reopens)
    rows = offered(test_users=settings.load_key is not None)
    secret, key = HouseSecret(), SigningKey()
    house = House(
        database=database,
        desk=Desk(database, key),
        signing_key=key,
        showing=Shared(database, reading.shown),
        looking=Shared(database, reading.several),
        knowing=Shared(database, accounts.token_owners),
        owing=Shared(database, log_rows.owed_counts),
        accounts=Accounts(database, passwords, registrations, FailedLogins(settings.failed_logins_per_hour)),
        photos=Photos(database, settings.photo_bytes_max),
        feed=Feed(database, settings.followers_max),
        cursors=Cursors(secret),
        auctions_per_user_max=settings.auctions_per_user_max,
        https=(settings.public_url or "").startswith("https://"),
        broker=lambda: "off" if relay is None else relay.status,
        openapi=openapi.document(rows),
        asyncapi=asyncapi.document(settings.mqtt_prefix, _brokers(settings, broker)),
        load_key=_secret(settings.load_key),
    )
    relay = None if broker is None else Relay(database, broker, Commands(house, broker.prefix))

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[dict[str, Connections]]:
        parts = _parts(settings, database, closer, house.feed, relay) | {"secret": partial(secret.run, database)}
        # What fell due while nobody served is settled before the first request, and an outage noticed.
        await _take_key(database, settings.signing_key_file, key)
        await secret.begin(database)
        await closer.begin()
        try:
            async with _running(parts, relay):
                yield {CONNECTIONS: _connections(settings)}
        finally:
            passwords.close()
            house.photos.close()
            await database.close()

    pages = Pages(
        house,
        Assets(PUBLIC_FOLDER),
        registration_open=registrations is not None,
        public_url=settings.public_url,
        currency=settings.currency,
    )
    app = front.build(
        pages.routes(),
        endpoints.routes(house, rows, settings.body_bytes_max),
        page_answer=pages.answer,
        shows_again=pages.shows_again,
        whose=house.knowing.ask,
        lifespan=lifespan,
        form_bytes_max=settings.body_bytes_max,
        secret=secret,
        https=house.https,
    )
    return SecurityHeaders(_with_cors(app, settings.cors_origins), https=house.https)


def _connections(settings: Settings) -> Connections:
    return Connections(
        min(settings.connections_max, serving.room_for_connections()),
        settings.connections_per_address_max,
        settings.trusted_proxies,
    )


async def _prepare(database: Database, key_file: Path | None) -> None:
    """Bring the tables up to date, and make the key where its file is missing, before several processes read it."""
    await opening.with_tables(database)
    await _take_key(database, key_file, SigningKey())


async def _take_key(database: Database, file: Path | None, key: SigningKey) -> None:
    """Sign receipts with the key in `file`, if the setting names one."""
    if file is None:
        return
    signer = signing.from_file(file)
    key.use(signer)
    # Most starts find it noted already, and then nothing need be written: the database may be read-only for now.
    if not await database.read(signing.is_alone, signer):
        await database.write(signing.make_alone, signer)


def _parts(
    settings: Settings, database: Database, closer: Closer, feed: Feed, relay: Relay | None
) -> dict[str, Callable[[], Awaitable[None]]]:
    """Return what is to run beside the requests, by name; each part is told of commits from here on."""
    parts: dict[str, Callable[[], Awaitable[None]]] = {"closer": closer.run, "feed": feed.run}
    if relay is not None:
        parts["relay"] = relay.run

    def look() -> None:
        """Have those who tell the world look at the log."""
        feed.wake()
        if relay is not None:
            relay.wake()

    database.after_commit(CHANGED, closer.expect)
    database.after_commit(CHANGED, lambda _: look())
    if relay is not None:
        feed.after_rewind.append(relay.begin_again)
    if database.kind == "postgresql" and settings.database_pooler == "none":
        notices = Notices(database, look)
        database.after_commit(CHANGED, lambda _: notices.announce())
        parts["notices"] = notices.run
    return parts


def worker() -> ASGIApp:
    """Return the application of one of several processes; its parent has left the settings in the environment."""
    settings = Settings.model_validate_json(os.environ[_WORKER_SETTINGS])
    logs.configure(settings.log_level, settings.log_format)
    serving.end_with_parent()
    app = application(settings, _broker(settings))
    serving.rarely_collect()
    return app


def serve(settings: Settings) -> int:
    """Bring the tables up to date, serve until SIGTERM or SIGINT, finish what is in flight; return the exit code.

    Raises Refused or OSError, with a message for people, where the start is impossible.
    """
    logs.configure(settings.log_level, settings.log_format)
    opening.run(settings, partial(_prepare, key_file=settings.signing_key_file))
    listener = serving.listen(settings.host, settings.port)
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    embedded = _embedded(settings) if settings.mqtt == "embedded" else None
    try:
        address = None if embedded is None else embedded.start()
        if address is not None:
            settings = _with_embedded(settings, address)
        broker = _broker(settings)
        lines = _start_lines(settings, listener, broker, address)
        if settings.workers == 1:
            return serving.serve_one(application(settings, broker), Http, listener, lines, settings.trusted_proxies)
        os.environ[_WORKER_SETTINGS] = json.dumps(_plain(settings))
        app = "saleroom.compose:worker"
        return serving.serve_several(app, Http, settings.workers, listener, lines, settings.trusted_proxies)
    finally:
        if embedded is not None:
            embedded.stop()
        listener.close()


def _broker(settings: Settings) -> MqttSettings | None:
    """Return how to reach the broker, or None where MQTT is off. Raises Refused for a setting that cannot be used."""
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
        raise Refused(f"mqtt: {error}") from error


def _embedded(settings: Settings) -> EmbeddedBroker:
    """Return the embedded broker; only where nobody chose its port, a free one will do."""
    chosen = "mqtt_port" in settings.model_fields_set
    return EmbeddedBroker(
        settings.mqtt_prefix,
        settings.mqtt_host,
        settings.mqtt_port,
        settings.mqtt_websocket_port,
        falls_back=not chosen,
    )


def _with_embedded(settings: Settings, address: BrokerAddress) -> Settings:
    """Return the settings with the ports that the embedded broker has, and with its account, which is new at each start."""
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
    """Return where the house and its broker are reached, for the document that says so."""
    embedded = settings.mqtt == "embedded"
    return asyncapi.Brokers(
        house=settings.public_url or f"http://{reached_at(settings.host, settings.port)}",
        broker=broker,
        embedded=embedded,
        websocket_port=settings.mqtt_websocket_port if embedded else None,
    )


def _start_lines(
    settings: Settings, listener: socket.socket, broker: MqttSettings | None, embedded: BrokerAddress | None
) -> list[str]:
    """What a person wants to know at the start: where it serves, on which database, with which broker."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    processes = "" if settings.workers == 1 else f" with {settings.workers} processes"
    mqtt = "off" if broker is None else broker.url if embedded is None else f"{embedded.shown} (embedded)"
    return [
        f"saleroom serves on http://{shown}:{port}{processes}; the API is described at /docs",
        f"  database  {opening.database(settings).shown}",
        f"  mqtt      {mqtt}",
    ]


def _plain(settings: Settings) -> dict[str, Any]:
    """Return the settings for this program's own processes, secrets included."""
    plain: dict[str, Any] = settings.model_dump(mode="json")
    return plain | {name: _secret(getattr(settings, name)) for name in ("mqtt_password", "load_key")}


def _secret(value: SecretStr | None) -> str | None:
    return None if value is None else value.get_secret_value()


@asynccontextmanager
async def _running(parts: dict[str, Callable[[], Awaitable[None]]], relay: Relay | None) -> AsyncIterator[None]:
    """Run the parts beside the requests; at the end the relay sends what is owed, and the others stop at once."""
    tasks = [asyncio.create_task(_kept_running(name, run)) for name, run in parts.items()]
    try:
        yield
    finally:
        if relay is not None:
            await relay.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _kept_running(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """Run a part for as long as the service serves: a bug in it is logged, and must not stop it for good."""
    while True:
        try:
            await run()
            return
        except Exception:
            log.exception("a part failed and is started again", part=name)
            await asyncio.sleep(RESTART_SECONDS)


def _with_cors(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Let pages of `origins` use the API; every other origin gets no CORS header at all."""
    if not origins:
        return app
    allowed = frozenset(origins)
    cors = CORSMiddleware(
        app,
        allow_origins=sorted(allowed),
        allow_methods=_CORS_METHODS,
        allow_headers=_CORS_HEADERS,
        expose_headers=_CORS_EXPOSED,
    )

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and Headers(scope=scope).get("origin") in allowed:
            await cors(scope, receive, send)
        else:
            await app(scope, receive, varied(send))

    def varied(send: Send) -> Send:
        """Have caches keep this answer apart from the one that a named origin gets."""

        async def send_varied(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).add_vary_header("Origin")
            await send(message)

        return send_varied

    return choose
