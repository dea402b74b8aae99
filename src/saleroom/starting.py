"""The start of a house: settings become a listener, a broker and processes, and lines that tell people where it serves."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import SecretStr
from starlette.types import ASGIApp

from saleroom import logs, opening
from saleroom.accounts.domain.owner_link import PATH as OWNER
from saleroom.admin import users
from saleroom.areas import AREAS
from saleroom.broker.embedded import BrokerAddress, EmbeddedBroker, reached_at
from saleroom.compose import application, origin, tracing_of
from saleroom.http.metrics import Board
from saleroom.http.places import SharedPlaces
from saleroom.http.protocol import Http
from saleroom.kernel.errors import Refusal
from saleroom.kernel.server_urls import authority
from saleroom.mqtt.topics import MqttSettings, Version
from saleroom.outbox.smtp import where_mails_go
from saleroom.runtime import cycles, metering, serving
from saleroom.settings import Settings
from saleroom.site import house_profile
from saleroom.storage.database import Database, parse_url, shown_url

_WORKER_SETTINGS = "SALEROOM_INTERNAL_SETTINGS"
_WORKER_FOLDER = "SALEROOM_INTERNAL_FOLDER"


def serve(settings: Settings) -> int:
    """Bring the tables up to date, serve until SIGTERM or SIGINT, finish the requests under way; return the exit code.

    Raises Refusal or OSError, with a message for people, if the house cannot start.
    """
    logs.configure(settings.log_level, settings.log_format)
    house_profile.read(settings.house_name, settings.house_folder)
    tracing_of(settings)
    opening.run(settings, partial(_prepare, settings=settings), makes=True)
    listener = serving.listen(settings.host, settings.port)
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    embedded = _embedded(settings) if settings.mqtt == "embedded" else None
    try:
        address = None if embedded is None else embedded.start()
        if address is not None:
            settings = _with_embedded(settings, address)
        broker = broker_of(settings)
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
            app_of = "saleroom.starting:worker"
            return serving.serve_several(app_of, Http, settings.workers, listener, [*lines, *shown])
    finally:
        if embedded is not None:
            embedded.stop()
        listener.close()


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
    app = application(settings, broker_of(settings), folder=folder, board=board)
    cycles.keep_present_objects()
    return app


def _show_figures(settings: Settings, folder: Path | None) -> tuple[Board | None, list[str]]:
    """Show the figures of the house if a setting asks for it; return where they are published, and a line for people."""
    shown = metering.shown(settings, folder)
    return (None, []) if shown is None else (shown[0], [f"  metrics   http://{reached_at(*shown[1])}/metrics"])


def broker_of(settings: Settings) -> MqttSettings | None:
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
        origins=origins_of(settings),
    )


def origins_of(settings: Settings) -> tuple[str, ...]:
    """Return the origins of the house's own pages, and of those that may use its API."""
    if settings.public_url is not None:
        own: tuple[str, ...] = (settings.public_url,)
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


def _start_lines(
    settings: Settings, listener: socket.socket, broker: MqttSettings | None, embedded: BrokerAddress | None
) -> list[str]:
    """Return the lines for people at the start: the address, the database and the broker."""
    host, port = listener.getsockname()[:2]
    processes = "" if settings.workers == 1 else f" with {settings.workers} processes"
    mqtt = "off"
    if embedded is not None:
        mqtt = f"{embedded.shown} (embedded)"
    elif broker is not None:
        mqtt = broker.url
    return [
        f"saleroom serves on http://{authority(host, port)}{processes}; the API is described at /docs",
        f"  database  {shown_url(parse_url(settings.database))}",
        f"  mqtt      {mqtt}",
        f"  mails     {where_mails_go(settings.smtp_url, origin(settings))}",
    ]


def _owner_lines(settings: Settings) -> list[str]:
    """Return the owner link of a house without an owner. It is for a terminal alone: other outputs may be kept and shipped."""
    code = opening.run(settings, lambda database: database.write(users.new_owner_code))
    if code is None:
        return []
    if not sys.stdout.isatty():
        return ["  owner     none yet; saleroom users owner-link prints a link for the first one"]
    return [f"  owner     none yet; within 24 hours, open {origin(settings)}{OWNER}#{code}"]


def _plain(settings: Settings) -> dict[str, Any]:
    """Return the settings for this program's own processes, secrets included."""
    plain: dict[str, Any] = settings.model_dump(mode="json")
    return plain | {name: value.get_secret_value() for name, value in settings if isinstance(value, SecretStr)}


def _secret(value: SecretStr | None) -> str | None:
    return None if value is None else value.get_secret_value()
