"""The sweeper: expired tokens, old keys and old counts are deleted beside the requests."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from saleroom.accounts.storage import accounts, idempotency, invitations, mail_links, passkeys, rate_limits
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable

SWEEP_SECONDS = 3600.0
SWEPT_AT_ONCE = 1000
"""The most expired tokens, and as many idempotency keys and counts, that one transaction deletes."""


def sweep(tx: Transaction) -> int:
    """Delete some expired tokens, idempotency keys, challenges and counts that are of no use any more; return how many."""
    now = tx.now()
    people = (accounts.sweep_tokens, invitations.sweep, mail_links.sweep, passkeys.sweep)
    sweeps = (*people, idempotency.sweep, rate_limits.sweep)
    return sum(one(tx, now, SWEPT_AT_ONCE) for one in sweeps)


async def run(database: Database) -> None:
    """Sweep now and every hour until cancelled. Without the database, the next hour comes."""
    while True:
        with suppress(DatabaseUnavailable):
            # A few at a time, as bids wait for each transaction.
            while await database.write(sweep) >= SWEPT_AT_ONCE:
                pass
            until = await database.read(rate_limits.overflow)
            while until is not None and await database.write(rate_limits.sweep, until, SWEPT_AT_ONCE) >= SWEPT_AT_ONCE:
                pass
        await asyncio.sleep(SWEEP_SECONDS)
