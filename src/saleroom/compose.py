"""The only wiring: settings become parts, parts become the application, the application is served."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from pydantic import SecretStr
from starlette.routing import Route
from starlette.types import ASGIApp

from saleroom import logs, opening, serving
from saleroom.accounts import api as accounts_api
from saleroom.accounts.api.test_users import ENDPOINTS as TEST_USERS
from saleroom.accounts.api.vocabulary import VOCABULARY as ACCOUNTS
from saleroom.accounts.service.accounts import Accounts, authenticate
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.throttle import FailedLogins, Registrations
from saleroom.accounts.service.tokens import Tokens
from saleroom.accounts.services import AccountServices
from saleroom.accounts.web import operations as account_operations
from saleroom.accounts.web import pages as account_pages
from saleroom.bidding import api as bidding_api
from saleroom.bidding.api import asyncapi
from saleroom.bidding.api.devices import PUBLICATIONS, CommandHandler
from saleroom.bidding.api.preconditions import EXPLANATIONS
from saleroom.bidding.api.vocabulary import VOCABULARY as BIDDING
from saleroom.bidding.service import reading, signing
from saleroom.bidding.service.closing import Closer
from saleroom.bidding.service.desk import Desk
from saleroom.bidding.service.photos import Photos
from saleroom.bidding.service.signing import SigningKey
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage.auctions import CHANGED
from saleroom.bidding.storage.event_log import LOG
from saleroom.bidding.web import operations as bidding_operations
from saleroom.bidding.web import pages as bidding_pages
from saleroom.broker.embedded import BrokerAddress, EmbeddedBroker, reached_at
from saleroom.feed.feed import Feed
from saleroom.http import endpoints, front, openapi, schemas
from saleroom.http.connections import CONNECTIONS, Connections
from saleroom.http.cors import with_cors
from saleroom.http.cursors import Cursors
from saleroom.http.endpoints import Endpoint
from saleroom.http.guard import SecurityHeaders
from saleroom.http.health import HEALTH, HealthServices
from saleroom.http.protocol import Http
from saleroom.http.secret import HouseSecret
from saleroom.kernel.errors import Refusal
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import MqttSettings, Version
from saleroom.settings import Settings
from saleroom.site import house_profile
from saleroom.site import operations as site_operations
from saleroom.site.pages import Pages
from saleroom.site.site import AreaPages, Site
from saleroom.storage.batching import SharedRead, SharedReads
from saleroom.storage.database import Database, parse_url, shown_url
from saleroom.storage.notices import Notices

log = structlog.get_logger()

ENDPOINTS: tuple[Endpoint[Any], ...] = (
    *accounts_api.ENDPOINTS,
    *bidding_api.ENDPOINTS,
    *bidding_api.STREAMS,
    *HEALTH,
    *TEST_USERS,
)
"""The table of routes: every endpoint of the API."""
VOCABULARY = ACCOUNTS | BIDDING | schemas.VOCABULARY
RESTART_SECONDS = 1.0
_WORKER_SETTINGS = "SALEROOM_INTERNAL_SETTINGS"


def offered(*, test_users: bool) -> tuple[Endpoint[Any], ...]:
    """Return the endpoints of a house. Without `test_users` the address that makes test users is unknown."""
    return ENDPOINTS if test_users else tuple(one for one in ENDPOINTS if one not in TEST_USERS)


def api_document(*, test_users: bool) -> bytes:
    """Return the OpenAPI document of a house, with or without the endpoint that makes test users."""
    pages = {**bidding_operations.OPERATIONS, **account_operations.OPERATIONS, **site_operations.OPERATIONS}
    return openapi.document(offered(test_users=test_users), VOCABULARY, pages)


def application(settings: Settings, broker: MqttSettings | None = None, database: Database | None = None) -> ASGIApp:
    """Return the ASGI application of one process: the house, its doors, its closer and its relay.

    `broker` None leaves MQTT off. Tests may pass a `database` with a clock that they set.
    """
    database = database or opening.database(settings)
    passwords = Passwords()
    registrations = Registrations(settings.registrations_per_hour) if settings.registration == "open" else None
    https = (settings.public_url or "").startswith("https://")
    closer = Closer(database, reopens=settings.outage_reopens)
    load_key = _secret(settings.load_key)
    secret, key, tokens = HouseSecret(), SigningKey(), Tokens(database)
    of_accounts = AccountServices(
        database=database,
        accounts=Accounts(database, passwords, registrations, FailedLogins(settings.failed_logins_per_hour)),
        tokens=tokens,
        load_key=load_key,
    )
    bidding = _bidding(settings, database, key, tokens, Cursors(secret))
    relay = None if broker is None else Relay(database, PUBLICATIONS, broker, CommandHandler(bidding, broker.prefix))
    owed = SharedRead(database, LOG.owed_counts)
    health = HealthServices(
        broker=lambda: "off" if relay is None else relay.status,
        owed=lambda: owed.ask("owed"),
        openapi=api_document(test_users=load_key is not None),
        asyncapi=asyncapi.document(settings.mqtt_prefix, _brokers(settings, broker)),
    )

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[dict[str, Connections]]:
        parts = _parts(settings, database, closer, bidding.feed, relay) | {"secret": partial(secret.run, database)}
        # Auctions that fell due while no process served are settled before the first request, and an outage is noticed.
        await _take_key(database, settings.signing_key_file, key)
        await secret.begin(database)
        await closer.begin()
        try:
            async with _running(parts, relay):
                yield {CONNECTIONS: _connections(settings)}
        finally:
            passwords.close()
            bidding.photos.close()
            await database.close()

    areas = page_areas(of_accounts, bidding, registration_open=registrations is not None)
    public_url, currency = settings.public_url, settings.currency
    profile = house_profile.read(settings.house_name, settings.house_folder)
    site = Site(areas, database, authenticate, currency=currency, https=https, public_url=public_url, profile=profile)
    pages = Pages(site, (endpoint.path for endpoint in ENDPOINTS))
    app = front.build(
        pages.routes(),
        _resources(settings, of_accounts, bidding, health),
        page_answer=pages.answer,
        shows_again=pages.shows_again,
        whose=tokens.owner,
        lifespan=lifespan,
        form_bytes_max=settings.body_bytes_max,
        secret=secret,
        https=https,
    )
    return SecurityHeaders(with_cors(app, settings.cors_origins), https=https)


def _bidding(
    settings: Settings, database: Database, key: SigningKey, tokens: Tokens, cursors: Cursors
) -> BiddingServices:
    return BiddingServices(
        database=database,
        tokens=tokens,
        desk=Desk(database, key),
        signing_key=key,
        auction_views=SharedRead(database, reading.shown),
        shared_reads=SharedReads(database),
        photos=Photos(database, settings.photo_bytes_max),
        feed=Feed(database, LOG, settings.followers_max),
        cursors=cursors,
        auctions_per_user_max=settings.auctions_per_user_max,
    )


def page_areas(
    accounts: AccountServices, bidding: BiddingServices, *, registration_open: bool = True
) -> list[AreaPages]:
    """Return the pages of each area, in the order of the menu."""
    return [bidding_pages.area_pages(bidding), account_pages.area_pages(accounts, registration_open=registration_open)]


def _resources(
    settings: Settings, accounts: AccountServices, bidding: BiddingServices, health: HealthServices
) -> list[Route]:
    """Return the routes of the API, each with the services of its area."""
    routes = partial(endpoints.routes, cursors=bidding.cursors, body_bytes_max=settings.body_bytes_max)
    return [
        *routes(accounts, accounts_api.ENDPOINTS),
        *routes(accounts, () if accounts.load_key is None else TEST_USERS),
        *routes(bidding, bidding_api.ENDPOINTS, explanations=EXPLANATIONS),
        *routes(bidding.feed, bidding_api.STREAMS),
        *routes(health, HEALTH),
    ]


def _connections(settings: Settings) -> Connections:
    return Connections(
        min(settings.connections_max, serving.room_for_connections()),
        settings.connections_per_address_max,
        settings.trusted_proxies,
    )


async def _prepare(database: Database, key_file: Path | None) -> None:
    """Bring the tables up to date, and make the key if its file is missing, before several processes read it."""
    await opening.with_tables(database)
    await _take_key(database, key_file, SigningKey())


async def _take_key(database: Database, file: Path | None, key: SigningKey) -> None:
    """Sign receipts with the key in `file`, if the setting names one."""
    if file is None:
        return
    signer = signing.from_file(file)
    key.use(signer)
    # Most starts find the key stored already and write nothing, as the database may be read-only for now.
    if not await database.read(signing.is_alone, signer):
        await database.write(signing.make_alone, signer)


def _parts(
    settings: Settings, database: Database, closer: Closer, feed: Feed, relay: Relay | None
) -> dict[str, Callable[[], Awaitable[None]]]:
    """Return the parts that run beside the requests, by name; each hears of commits from here on."""
    parts: dict[str, Callable[[], Awaitable[None]]] = {"closer": closer.run, "feed": feed.run}
    if relay is not None:
        parts["relay"] = relay.run

    def look() -> None:
        """Let the feed and the relay look at the log."""
        feed.wake()
        if relay is not None:
            relay.wake()

    database.after_commit(CHANGED, closer.expect)
    database.after_commit(LOG.appended, lambda _: look())
    if relay is not None:
        feed.after_rewind.append(relay.begin_again)
    if database.kind == "postgresql" and settings.database_pooler == "none":
        notices = Notices(database, look)
        database.after_commit(LOG.appended, lambda _: notices.announce())
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
    """Bring the tables up to date, serve until SIGTERM or SIGINT, finish the requests under way; return the exit code.

    Raises Refusal or OSError, with a message for people, if the house cannot start.
    """
    logs.configure(settings.log_level, settings.log_format)
    house_profile.read(settings.house_name, settings.house_folder)
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
        settings.mqtt_port,
        settings.mqtt_websocket_port,
        falls_back=not chosen,
    )


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
        house=settings.public_url or f"http://{reached_at(settings.host, settings.port)}",
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
    ]


def _plain(settings: Settings) -> dict[str, Any]:
    """Return the settings for this program's own processes, secrets included."""
    plain: dict[str, Any] = settings.model_dump(mode="json")
    return plain | {name: _secret(getattr(settings, name)) for name in ("mqtt_password", "load_key")}


def _secret(value: SecretStr | None) -> str | None:
    return None if value is None else value.get_secret_value()


@asynccontextmanager
async def _running(parts: dict[str, Callable[[], Awaitable[None]]], relay: Relay | None) -> AsyncIterator[None]:
    """Run the parts beside the requests; at the end the relay sends the owed events, and the others stop at once."""
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
    """Run a part as long as the house serves. If it fails, log the bug and start it again."""
    while True:
        try:
            await run()
            return
        except Exception:
            log.exception("a part failed and is started again", part=name)
            await asyncio.sleep(RESTART_SECONDS)
