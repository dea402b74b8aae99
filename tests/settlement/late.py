"""Invoices that are overdue in a house whose clock is the real one."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from saleroom.settings import Settings
from saleroom.settlement.domain.documents.content import DocumentKind, Letterhead, Party
from saleroom.settlement.service import issuing
from saleroom.settlement.service.issuing import Order
from saleroom.settlement.settings import bank_of, calendar_of, house_of
from saleroom.storage.database import Database


def issue_late(settings: Settings, token: str, sale: str, paddle: int, *, days: int, **said: Any) -> Any:
    """Issue an invoice as on the day so many days ago, and return it; `said` are language, `party`, or what an order has."""
    then = datetime.now(UTC) - timedelta(days=days)
    head = Letterhead(
        house=house_of(settings), bank=bank_of(settings), currency=settings.currency, calendar=calendar_of(settings)
    )
    order = Order(**{"kind": DocumentKind.INVOICE, "language": "en", "party": Party(name=""), "paddle": paddle, **said})

    async def issue() -> bytes:
        database = Database(settings.database, clock=lambda: then)
        try:
            return await database.write(issuing.issue, token, sale, order, head)
        finally:
            await database.close()

    with ThreadPoolExecutor(1) as thread:  # the caller may drive a browser, whose event loop runs in its own thread
        return msgspec.json.decode(thread.submit(lambda: asyncio.run(issue())).result())
