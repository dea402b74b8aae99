"""Checks of `saleroom doctor` on word to people: webhooks and messages to browsers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar

from saleroom import opening
from saleroom.admin.findings import Finding, fine, off, warned
from saleroom.admin.service_checks import CONNECT_SECONDS_MAX, is_missing
from saleroom.kernel.errors import Refusal
from saleroom.notices.area import push_contact
from saleroom.notices.storage import webhooks as stored
from saleroom.outbox import store
from saleroom.outbox.message import PUSH, WEBHOOK
from saleroom.settings import Settings
from saleroom.storage.database import Transaction, parse_url
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.migrations import current_revision, newest_revision

FAILS_FOR = timedelta(hours=1)
LOOKS_BACK = timedelta(days=7)
T = TypeVar("T")
_UNKNOWN = "the outbox cannot be read; see database and tables"


async def webhooks(settings: Settings, _: str | None) -> Sequence[Finding]:
    """No webhook has failed for an hour, and none was switched off in the last week."""
    if settings.webhooks == "off":
        return [off("webhooks", "webhooks is off: none is posted to")]
    found = await read(settings, _webhooks)
    if found is None:
        return [off("webhooks", _UNKNOWN)]
    failing, ended = found
    if failing or ended:
        what = f"{failing} fail for more than an hour, and {ended} were switched off in the last seven days"
        remedy = "if it is most of them, look at this machine's way out, its names and webhooks_ca_file; else tell the owners"
        return [warned("webhooks", what, remedy)]
    return [fine("webhooks", "none fails for long")]


async def push(settings: Settings, _: str | None) -> Sequence[Finding]:
    """Messages to browsers can go out, and none has waited for another try for an hour."""
    if settings.web_push == "off":
        return [off("push", "web_push is off: browsers get no messages")]
    if push_contact(settings) is None:
        what = "no message goes out: push services want to know whom to write to"
        return [warned("push", what, "set mail_sender, or public_url with https; or set web_push to off")]
    failing = await read(settings, _failing)
    if failing is None:
        return [off("push", _UNKNOWN)]
    if failing:
        what = f"messages to {failing} browsers have failed for more than an hour"
        return [
            warned("push", what, "look at this machine's way out; /admin/outbox says what the push services answered")
        ]
    return [fine("push", "no message fails for long")]


def _webhooks(tx: Transaction) -> tuple[int, int]:
    now = tx.now()
    return store.failing(tx, WEBHOOK, now - FAILS_FOR), stored.ended_since(tx, now - LOOKS_BACK)


def _failing(tx: Transaction) -> int:
    return store.failing(tx, PUSH, tx.now() - FAILS_FOR)


async def read(settings: Settings, look: Callable[[Transaction], T]) -> T | None:
    """Return what is found; None if the database cannot tell, which is a finding of its own."""
    if is_missing(parse_url(settings.database)):
        return None
    opened = None
    try:
        opened = opening.database(settings)
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            if await opened.read(current_revision) != newest_revision():
                return None
            return await opened.read(look)
    except (Refusal, DatabaseUnavailable, TimeoutError):
        return None
    finally:
        if opened is not None:
            await opened.close()
