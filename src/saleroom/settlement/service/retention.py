"""Retention: names and addresses of old papers are taken away beside the requests, once the law lets them go."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import structlog
from sqlalchemy import Row

from saleroom.settlement.domain.documents.content import decoded, digest_of, encoded
from saleroom.settlement.domain.documents.retention import cutoff, without_party
from saleroom.settlement.storage import documents
from saleroom.settlement.storage import retention as rows
from saleroom.settlement.storage.documents import Owner
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable

log = structlog.get_logger()

LOOK_SECONDS = 6 * 3600.0
AT_ONCE = 100
"""The most rows of a kind that one transaction changes."""


def forget(tx: Transaction, years: int) -> int:
    """Take the names from some papers that are older than so many years; return from how many."""
    now = tx.now()
    before = cutoff(now, years)
    old = rows.old_documents(tx, before, AT_ONCE)
    for row in old:
        content = encoded(without_party(decoded(row.content)))
        rows.keep_without_party(tx, row.id, content, rest_digest(row, content), now)
    others = (
        *(rows.forget_payers, rows.forget_unpaid, rows.forget_participants, rows.forget_consignors),
        *(rows.forget_accounts, rows.forget_payment_files),
    )
    return len(old) + sum(one(tx, before, AT_ONCE) for one in others)


def rest_digest(row: Row[Any], content: str) -> str:
    """Return the digest of what is left of a document: it covers the document's own, which nobody can compute any more."""
    owner = Owner(sale_id=row.sale_id, user_id=row.user_id, consignor_id=row.consignor_id)
    return digest_of(content, documents.facts_of(row.gid, owner, row.credits_id, row.issued_at), row.digest)


async def run(database: Database, years: int) -> None:
    """Look now and every six hours until cancelled. Without the database, the next time comes."""
    while True:
        with suppress(DatabaseUnavailable):
            # A few at a time, as bids wait for each transaction.
            taken = changed = await database.write(forget, years)
            while changed >= AT_ONCE:
                changed = await database.write(forget, years)
                taken += changed
            if taken:
                log.info("names and addresses of old papers are gone", papers=taken, years=years)
        await asyncio.sleep(LOOK_SECONDS)
