"""The audit log, read page by page and exported, by those with the right."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from saleroom.accounts.domain.audit import Entry
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import audit
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.kernel.instants import instant
from saleroom.kernel.page import Page, page_of
from saleroom.storage.database import Database, Transaction
from saleroom.storage.patience import read_patiently

PAGE = 500
"""The most entries that are read in one transaction of an export."""


def entries(tx: Transaction, token: str | None, which: EntryFilter, limit: int, before: int | None) -> Page[Entry, int]:
    """Return a page of the log, the latest entry first, and the number before which the next page begins.

    Raises Unauthenticated or MissingRight.
    """
    authenticate(tx, token, Right.READ_AUDIT)
    return page_of(audit.newest(tx, which, limit + 1, before), limit, lambda one: one.id)


def last(tx: Transaction, token: str | None) -> int:
    """Return the number of the latest entry, at which an export ends. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ_AUDIT)
    return audit.last_id(tx)


async def lines(database: Database, until: int) -> AsyncIterator[bytes]:
    """Yield the log up to the entry `until` as NDJSON, the earliest first, some lines at a time. Raises DatabaseUnavailable.

    The caller may read the log: `last` has returned `until`.
    """
    after = 0
    while after < until:
        found = await read_patiently(database, audit.oldest, after, until, PAGE)
        yield b"".join(line(one) for one in found)
        after = found[-1].id if found else until


def line(entry: Entry) -> bytes:
    """Return an entry as a line of JSON, with the members that the API shows."""
    shown: dict[str, Any] = msgspec.structs.asdict(entry) | {"at": instant(entry.at)}
    return _encode(shown) + b"\n"


_encode = msgspec.json.Encoder().encode
