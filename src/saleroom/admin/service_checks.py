"""Checks of `saleroom doctor` on what a house talks to: database, broker, mail server, certificate."""

from __future__ import annotations

import asyncio
import os
import secrets
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import aiomqtt
from sqlalchemy import URL, func, select

from saleroom import opening
from saleroom.admin import machine_checks
from saleroom.admin.findings import Finding, failed, fine, off, warned
from saleroom.bidding.storage.tables import events
from saleroom.kernel.errors import Refusal
from saleroom.kernel.instants import instant
from saleroom.mqtt.topics import MqttSettings
from saleroom.outbox.smtp import SHOW, MailFault, SmtpServer
from saleroom.sales.storage.tables import sale_events
from saleroom.settings import Settings
from saleroom.storage import heartbeats, leases
from saleroom.storage.database import Database, Transaction, parse_url, shown_url
from saleroom.storage.faults import DatabaseDamaged, DatabaseUnavailable
from saleroom.storage.litestream import Litestream
from saleroom.storage.migrations import current_revision, newest_revision
from saleroom.tools.connection_errors import UNHEARD, leave_unheard

CLOCK_SECONDS_MAX = 2.0
CERTIFICATE_DAYS_MIN = 21
CONNECT_SECONDS_MAX = 10.0
_LEASE = "doctor"
_NEWEST_EVENTS = 100
"""Of each log, whose instants are looked at: they are not in order after the clock was set back."""
_TOO_MANY_CONNECTIONS = "53300"


async def database(settings: Settings, _: str | None) -> Sequence[Finding]:
    """It can be reached and written, its tables are the newest, and its clock is this machine's."""
    url = parse_url(settings.database)
    shown = shown_url(url)
    if is_missing(url):
        with suppress(FileNotFoundError):
            # A folder that this account may not look into is a finding.
            await asyncio.to_thread(Path(url.database or "").stat)
        if await machine_checks.serves(settings):
            remedy = "bring it back, or end the house and restore a backup; or correct the setting database"
            return [failed("database", f"{shown} is not there, and a house serves", remedy)]
        return [
            warned("database", f"{shown} is not there yet", "saleroom serve makes it; or correct the setting database")
        ]
    opened = None
    try:
        opened = opening.database(settings.model_copy(update={"litestream_socket": None}))  # `copies` looks at it
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            await opened.check()
            before = time.time()
            revision, there, served = await opened.read(_look)
            after = time.time()
            written = await _written(opened, shown) if revision == newest_revision() else []
    except DatabaseDamaged:
        raise
    except (Refusal, DatabaseUnavailable, TimeoutError) as error:
        reason = str(error) or "no answer"
        is_file = url.get_backend_name() == "sqlite"
        remedy = "look at its disk and at the rights of its folder" if is_file else "start it"
        if _is_crowded(error):
            remedy = "raise max_connections of the server, lower database_pool_size, or end other programs that use it"
        return [failed("database", f"{shown}: {reason}", f"{remedy}, or correct the setting database")]
    finally:
        if opened is not None:
            await opened.close()
    return [
        fine("database", f"{shown} can be reached"),
        _tables(revision),
        *written,
        _clock(before, there, after, served),
    ]


async def copies(settings: Settings, _: str | None) -> Sequence[Finding]:
    """Litestream has copied all that is in the database, if the house waits for it."""
    url = parse_url(settings.database)
    if settings.litestream_socket is None:
        return [off("copies", "no litestream_socket: answers wait for no copy")]
    if is_missing(url):
        return [off("copies", "there is no database yet")]
    litestream = Litestream(settings.litestream_socket, url.database or "")
    try:
        fault = await litestream.look()
    finally:
        await litestream.close()
    if fault is None:
        return [fine("copies", "Litestream has copied all that is in the database")]
    remedy = "start it, or correct its configuration or the setting litestream_socket; until then nothing is accepted"
    return [failed("copies", f"Litestream: {fault.why}", remedy)]


def is_missing(url: URL) -> bool:
    """Return whether the URL names a file of SQLite that is not there, or that nobody may look at. Opening it would make it."""
    return url.get_backend_name() == "sqlite" and not os.path.exists(url.database or "")  # noqa: PTH110  # Path's raises


def _is_crowded(error: Exception) -> bool:
    """Return whether the server of PostgreSQL has no connection left."""
    return getattr(getattr(error.__cause__, "orig", None), "sqlstate", None) == _TOO_MANY_CONNECTIONS


def _look(tx: Transaction) -> tuple[str | None, datetime, datetime | None]:
    """Return the revision of the tables, the database's clock, and the last instant at which the house was seen serving."""
    revision = current_revision(tx)
    return revision, tx.now(), _last_sign(tx) if revision == newest_revision() else None


def _last_sign(tx: Transaction) -> datetime | None:
    """Return the latest instant of the heartbeat, which follows a clock that is set back, and of the newest events."""
    found = [heartbeats.last(tx)]
    for log in (events, sale_events):
        newest = select(log.c.at).order_by(log.c.id.desc()).limit(_NEWEST_EVENTS).subquery()
        found.append(tx.execute(select(func.max(newest.c.at))).scalar_one())
    return max((at for at in found if at is not None), default=None)


def _tables(revision: str | None) -> Finding:
    newest = newest_revision()
    if revision == newest:
        return fine("tables", f"at revision {newest}, the newest")
    if revision is not None and revision > newest:
        return failed(
            "tables", f"at revision {revision}, newer than this program", "install the version that made them"
        )
    return warned(
        "tables", f"at revision {revision or 'none'}; the newest is {newest}", "run saleroom migrate, or serve"
    )


async def _written(opened: Database, shown: str) -> list[Finding]:
    holder = secrets.token_hex(8)
    try:
        await opened.write(leases.hold, _LEASE, holder, 1)
        await opened.write(leases.release, _LEASE, holder)
    except DatabaseDamaged:
        raise
    except DatabaseUnavailable as error:
        remedy = "give this account the right to write, and look at the disk; a standby takes no bids"
        return [failed("database", f"{shown} cannot be written: {error}", remedy)]
    return [fine("database", "can be written")]


def _clock(before: float, there: datetime, after: float, served: datetime | None) -> Finding:
    """Compare the database's clock with this machine's, and with when the house served last.

    The answer was on its way for some time.
    """
    if served is not None and (ahead := (served - there).total_seconds()) > CLOCK_SECONDS_MAX:
        what = f"the clock is {ahead:.0f} s behind the last sign of the house, which is of {instant(served)}"
        return warned(
            "clock", what, "set the clock right, by NTP, before the house serves: it decides when auctions end"
        )
    away = max(before - there.timestamp(), there.timestamp() - after, 0.0)
    what = f"this machine's clock is {away:.1f} s from the database's"
    if away > CLOCK_SECONDS_MAX:
        return warned(
            "clock", what, "let both machines set their clocks by NTP; the database's decides when auctions end"
        )
    return fine("clock", what)


async def broker(settings: Settings, _: str | None) -> Sequence[Finding]:
    """The MQTT broker takes this house's account. It is asked under another name: the house may be connected."""
    if settings.mqtt in ("embedded", "off"):
        return [off("broker", f"mqtt is {settings.mqtt}")]
    password = settings.mqtt_password
    server = MqttSettings.from_url(
        settings.mqtt,
        user=settings.mqtt_user,
        password=None if password is None else password.get_secret_value(),
        ca_file=settings.mqtt_ca_file,
    )
    leave_unheard(asyncio.get_running_loop())
    name = f"{settings.mqtt_client_id}-doctor-{secrets.token_hex(4)}"
    try:
        async with aiomqtt.Client(
            server.host, server.port, username=server.user, password=server.password, identifier=name,
            tls_context=server.tls_context(), timeout=CONNECT_SECONDS_MAX, logger=UNHEARD,
        ):  # fmt: skip
            return [fine("broker", f"{server.url} takes the account")]
    except (aiomqtt.MqttError, OSError, ValueError) as error:
        remedy = "start it, or correct mqtt, mqtt_user, mqtt_password or mqtt_ca_file; bids go on without it"
        return [failed("broker", f"{server.url}: {error}", remedy)]


async def mail(settings: Settings, _: str | None) -> Sequence[Finding]:
    """The mail server takes this house's account."""
    if settings.smtp_url is None:
        return [off("mail", "no smtp_url: no mails go out")]
    if settings.smtp_url == SHOW:
        return [off("mail", "smtp_url is show: mails are shown at /mails, and none go out")]
    server = SmtpServer.from_url(settings.smtp_url, ca_file=settings.smtp_ca_file)
    try:
        async with server.connected():
            return [fine("mail", f"{server.url} can be used")]
    except MailFault as error:
        return [
            failed("mail", str(error), "correct smtp_url or smtp_ca_file, or start the server; mails wait until then")
        ]


async def certificate(settings: Settings, _: str | None) -> Sequence[Finding]:
    """The certificate of public_url is valid, and for a while yet."""
    url = urlsplit(settings.public_url or "")
    if url.scheme != "https":
        return [off("certificate", "no public_url with https")]
    where = f"{url.hostname}:{url.port or 443}"
    try:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            _reader, writer = await asyncio.open_connection(
                url.hostname, url.port or 443, ssl=ssl.create_default_context()
            )
    except ssl.SSLCertVerificationError as error:
        return [failed("certificate", f"{where}: {error.verify_message}", "renew it, as docs/operating.md says")]
    except (OSError, TimeoutError) as error:
        what = f"{where} cannot be reached from here: {str(error) or 'no answer'}"
        return [warned("certificate", what, "start the proxy, or correct public_url; look from outside")]
    ends = ssl.cert_time_to_seconds(writer.get_extra_info("peercert")["notAfter"])
    writer.transport.abort()
    days = (ends - time.time()) / 86_400
    what = f"the certificate of {where} ends on {datetime.fromtimestamp(ends, UTC):%Y-%m-%d}, in {days:.0f} days"
    if days < CERTIFICATE_DAYS_MIN:
        return [warned("certificate", what, "look why it was not renewed: docs/operating.md")]
    return [fine("certificate", what)]
