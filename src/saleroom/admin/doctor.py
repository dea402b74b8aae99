"""`saleroom doctor`: what stops a house or soon will, each with its remedy."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from saleroom.admin import (
    address_check,
    card_checks,
    keys,
    machine_checks,
    notice_checks,
    process_checks,
    service_checks,
    store_checks,
)
from saleroom.admin.findings import Finding, Level, failed, fine
from saleroom.kernel.terminal import plain
from saleroom.settings import Settings, SettingsError, load
from saleroom.storage.database import parse_url, shown_url
from saleroom.storage.faults import DatabaseDamaged
from saleroom.tools.progress import Progress

FAULTS_CODE = 1
CHECK_SECONDS_MAX = 40.0
_WIDTH = 12
Check = Callable[[Settings, str | None], Awaitable[Sequence[Finding]]]


def _threaded(check: Callable[[Settings, str | None], Sequence[Finding]]) -> Check:
    """Return a check that a slow disk does not hold up."""

    async def checked(settings: Settings, place: str | None) -> Sequence[Finding]:
        return await asyncio.to_thread(check, settings, place)

    return checked


CHECKS: dict[str, Check] = {
    "database": service_checks.database,
    "copies": service_checks.copies,
    "broker": service_checks.broker,
    "processes": process_checks.serving,
    "mail": service_checks.mail,
    "webhooks": notice_checks.webhooks,
    "push": notice_checks.push,
    "cards": card_checks.cards,
    "photos": store_checks.photos,
    "keys": keys.check,
    "address": address_check.address,
    "certificate": service_checks.certificate,
    "ports": machine_checks.ports,
    "disk": _threaded(machine_checks.disk),
    "files": _threaded(machine_checks.files),
    "backups": _threaded(machine_checks.backups),
}
"""The checks by name, in their order. Each gets the settings, and the folder of backups if one was named."""


def examine(
    config: str | None, flags: Mapping[str, object], backups: str | None, *, json: bool, say: Callable[[str], None]
) -> int:
    """Say what was found; return the exit code."""
    try:
        settings = load(flags, os.environ, config)
    except SettingsError as error:
        found = [
            failed("settings", fault, "correct it; docs/settings.md explains each setting") for fault in error.faults
        ]
    else:
        found = [fine("settings", "can be used"), *asyncio.run(_examined(settings, config, backups))]
    if json:
        say(msgspec.json.encode({"ok": _is_ok(found), "findings": found}).decode())
    else:
        for one in found:
            say(f"{one.level:<5} {one.check:<{_WIDTH}} {plain(one.what)}")
            if one.remedy:
                say(f"{'':<{_WIDTH + 6}} -> {plain(one.remedy)}")
    return 0 if _is_ok(found) else FAULTS_CODE


def _is_ok(found: Sequence[Finding]) -> bool:
    return all(one.level is not Level.FAULT for one in found)


async def _examined(settings: Settings, config: str | None, backups: str | None) -> list[Finding]:
    found: list[Finding] = []
    place = {"backups": backups, "files": config or os.environ.get("SALEROOM_CONFIG")}
    with Progress() as progress:
        for number, (name, check) in enumerate(CHECKS.items()):
            checking = asyncio.create_task(_within_time(name, check, settings, place.get(name)))
            while not checking.done():
                progress.report(f"Checking: {name}", number, len(CHECKS))
                await asyncio.wait([checking], timeout=0.2)
            found += checking.result()
    return found


async def _within_time(name: str, check: Check, settings: Settings, place: str | None) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS_MAX):
            return await check(settings, place)
    except TimeoutError:
        return [failed(name, f"no answer within {CHECK_SECONDS_MAX:.0f} seconds", "look whether it can be reached")]
    except DatabaseDamaged as error:
        shown = shown_url(parse_url(settings.database))
        return [failed(name, f"cannot be read from {shown}: {error.reason}", error.remedy)]
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return [failed(name, what, "let this account read it, or correct the setting that names it")]
