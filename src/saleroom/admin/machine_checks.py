"""Checks of `saleroom doctor` on this machine: ports, disk, files with secrets, backups."""

from __future__ import annotations

import socket
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import aiohttp

from saleroom.admin.findings import Finding, failed, fine, off, warned
from saleroom.broker.embedded import reached_at
from saleroom.settings import Settings, listeners
from saleroom.storage.database import parse_url
from saleroom.storage.room import Enough, folder_of, room_at

ANSWER_SECONDS_MAX = 5
BACKUP_HOURS_MAX = 26
"""A daily backup, and two hours for it to take."""


async def ports(settings: Settings, _: str | None) -> Sequence[Finding]:
    """Each listener's port is free, or a house serves there."""
    is_served = await serves(settings)
    found = []
    for name, (host, port) in listeners(settings).items():
        where = f"{host} port {port} ({name})"
        try:
            with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
                found.append(fine("ports", f"{where} is free"))
        except OSError as error:
            if is_served:
                found.append(fine("ports", f"{where} is taken, and a house serves"))
            else:
                remedy = f"end what listens there, or choose another with {name}"
                found.append(failed("ports", f"{where}: {error.strerror or error}", remedy))
    return found


async def serves(settings: Settings) -> bool:
    """Return whether a house answers at the address of the settings."""
    url = f"http://{reached_at(settings.host, settings.port)}/healthz"
    with suppress(aiohttp.ClientError, TimeoutError, ValueError):
        limit = aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX)
        async with aiohttp.ClientSession(timeout=limit) as client, client.get(url, allow_redirects=False) as answer:
            found: object = await answer.json()
            return found == {"status": "ok"}
    return False


def disk(settings: Settings, _: str | None) -> Sequence[Finding]:
    """There is room where the house writes."""
    url = parse_url(settings.database)
    folder = folder_of(url)
    try:
        room = room_at(folder)
    except OSError as error:
        return [failed("disk", f"{folder}: {error.strerror}", "make the folder, or correct the setting database")]
    what = f"{room.free / 2**30:.1f} GiB are free at {folder}"
    is_file = url.get_backend_name() == "sqlite"
    remedy = "make room: a full disk refuses every bid" if is_file else "make room for logs and uploads"
    if room.enough is Enough.NO:
        return [failed("disk", what, remedy)]
    return [warned("disk", what, remedy) if room.enough is Enough.LOW else fine("disk", what)]


def files(settings: Settings, config: str | None) -> Sequence[Finding]:
    """Nobody else on this machine reads files that hold secrets."""
    named = {"config": config, "signing_key_file": settings.signing_key_file}
    url = parse_url(settings.database)
    if url.get_backend_name() == "sqlite":
        named["database"] = url.database
    found = []
    for name, file in named.items():
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(Path(file).stat().st_mode) if file else 0
            if mode & stat.S_IROTH:
                remedy = f"chmod o= {file}: it holds secrets, or what people wrote in private"
                found.append(warned("files", f"everybody on this machine may read {file} ({name})", remedy))
            elif file:
                found.append(fine("files", f"{file} ({name}) is not for everybody"))
    return found or [off("files", "no file with secrets")]


def backups(_: Settings, folder: str | None) -> Sequence[Finding]:
    """The newest backup is not older than a day."""
    if folder is None:
        return [off("backups", "not checked; --backups names their folder")]
    remedy = "make one with saleroom backup (docs/backup.md), and let a timer make one each day"
    try:
        made = [entry.stat() for entry in Path(folder).iterdir() if entry.is_file()]
    except OSError as error:
        return [failed("backups", f"{folder}: {error.strerror}", "correct --backups, or make the folder readable")]
    if not any(one.st_size for one in made):
        return [failed("backups", f"there is no backup in {folder}", remedy)]
    hours = (time.time() - max(one.st_mtime for one in made if one.st_size)) / 3600
    what = f"the newest file in {folder} is {hours:.0f} hours old"
    return [fine("backups", what) if hours <= BACKUP_HOURS_MAX else failed("backups", what, remedy)]
