"""The tables of notices."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, String, Table, Text

from saleroom.accounts.storage.tables import auth_tokens, users
from saleroom.kernel.errors import Fault
from saleroom.notices.domain.pushes import AUTH, KEY, KEYS_FAULT, parse_endpoint
from saleroom.notices.domain.webhooks import Off, Scope, parse_kinds, parse_url
from saleroom.storage.areas import AreaTables
from saleroom.storage.schema import Instant, Number, metadata

notice_choices = Table(
    "notice_choices",
    metadata,
    Column("user_id", BigInteger, ForeignKey(users.c.id), primary_key=True, autoincrement=False),
    Column("channel", String, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("wanted", Boolean, nullable=False),
)
"""The words that users chose to get by a channel, or not to; without a row they get them."""


quiet_hours = Table(
    "quiet_hours",
    metadata,
    Column("user_id", BigInteger, ForeignKey(users.c.id), primary_key=True, autoincrement=False),
    Column("begins", String, nullable=False),
    Column("ends", String, nullable=False),
    Column("zone", String, nullable=False),
)
"""The hours in which users get nothing, as `22:30`, by the clock of a time zone."""


push_subscriptions = Table(
    "push_subscriptions",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey(users.c.id), nullable=False, index=True),
    Column("token_id", BigInteger, ForeignKey(auth_tokens.c.id, ondelete="CASCADE"), nullable=False, index=True),
    Column("endpoint", Text, nullable=False, unique=True),
    Column("p256dh", String, nullable=False),
    Column("auth", String, nullable=False),
    Column("language", String),
    Column("created_at", Instant, nullable=False),
)
"""Browsers that get messages (`domain/pushes.py`). A login that ends takes the subscription of its browser with it."""


def _endpoint_fault(value: str) -> Fault | None:
    found = parse_endpoint(value, private=True)
    return found if isinstance(found, Fault) else None


webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey(users.c.id), nullable=False, index=True),
    Column("url", Text, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("scope", String, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("salt", String, nullable=False),
    Column("old_salt", String),
    Column("old_until", Instant),
    Column("off", String),
    Column("off_at", Instant),
)
"""The webhooks of users (`domain/webhooks.py`). `kinds` are parted by spaces."""


def _url_fault(value: str) -> Fault | None:
    found = parse_url(value, private=True)
    return found if isinstance(found, Fault) else None


def _kinds_fault(value: str) -> Fault | None:
    found = parse_kinds(value.split(" "))
    return found if isinstance(found, Fault) else None


def _scope_fault(value: str) -> Fault | None:
    return None if value in [*Scope] else Fault("scope", f"must be one of {', '.join(Scope)}")


def _off_fault(value: str) -> Fault | None:
    return None if value in [*Off] else Fault("off", f"must be one of {', '.join(Off)}")


TABLES = AreaTables(
    tables=(notice_choices, quiet_hours, push_subscriptions, webhooks),
    text_rules={
        push_subscriptions.c.endpoint: _endpoint_fault,
        webhooks.c.url: _url_fault,
        webhooks.c.kinds: _kinds_fault,
        webhooks.c.scope: _scope_fault,
        webhooks.c.off: _off_fault,
        push_subscriptions.c.p256dh: lambda value: None if KEY.fullmatch(value) else KEYS_FAULT,
        push_subscriptions.c.auth: lambda value: None if AUTH.fullmatch(value) else KEYS_FAULT,
    },
)
