"""The tables of the outbox."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, String, Table, Text, UniqueConstraint, text

from saleroom.kernel.errors import Fault
from saleroom.outbox.message import PUSH, WEBHOOK, State, facts_of
from saleroom.storage.areas import AreaTables
from saleroom.storage.schema import Instant, Number, metadata

WAITING = text("state = 'waiting'")
"""Which words wait; a statement with exactly these words uses the index."""

TO_WEBHOOKS = text("channel = 'webhook'")
"""Which words go to webhooks, likewise."""


outbox = Table(
    "outbox",
    metadata,
    Column("id", Number, primary_key=True),
    Column("kind", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("key", String, nullable=False),
    Column("receiver", BigInteger),
    Column("address", String),
    Column("about", String),
    Column("facts", Text, nullable=False),
    Column("language", String),
    Column("alone", Boolean, nullable=False),
    Column("state", String, nullable=False),
    Column("posted_at", Instant, nullable=False),
    Column("due_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("letter", BigInteger),
    Column("last_error", Text),
    Column("settled_at", Instant),
    UniqueConstraint("channel", "key"),
    Index("ix_outbox_due_at", "due_at", sqlite_where=WAITING, postgresql_where=WAITING),
    Index("ix_outbox_receiver", "receiver", sqlite_where=WAITING, postgresql_where=WAITING),
    Index("ix_outbox_settled_at", "settled_at"),
    Index("ix_outbox_webhook", "address", "id", sqlite_where=TO_WEBHOOKS, postgresql_where=TO_WEBHOOKS),
)
"""Words to people (`outbox/message.py`). `receiver` is a user's number; the platform knows no users, so nothing refers to
their table. `due_at` is the next try, `settled_at` when the word was sent, given up or dropped."""


log_places = Table(
    "log_places",
    metadata,
    Column("name", String, primary_key=True),
    Column("number", BigInteger, nullable=False),
)
"""How far the readers of logs have come that must read each event once, by name: the number of the last event."""

_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


def _facts_fault(value: str) -> Fault | None:
    return None if facts_of(value) is not None else Fault("facts", "must be a JSON object")


def _state_fault(value: str) -> Fault | None:
    return None if value in [*State] else Fault("state", f"must be one of {', '.join(State)}")


def _row_fault(row: Mapping[str, Any]) -> str | None:
    """Return the fault of a word to a browser or a webhook: its address is a number."""
    numbered = row["channel"] in (PUSH, WEBHOOK) and row["address"] is not None
    return "the address of a word must be a number" if numbered and _NUMBER.fullmatch(row["address"]) is None else None


TABLES = AreaTables(
    tables=(outbox, log_places),
    text_rules={
        outbox.c.key: lambda _: None,  # of our own making, and shown to nobody
        outbox.c.facts: _facts_fault,  # with any text of a user's, which pages and mails escape
        outbox.c.state: _state_fault,
    },
    row_rules={outbox: _row_fault},
)
