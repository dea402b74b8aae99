"""Messages to browsers: subscriptions as browsers give them, and how long a push service keeps a message."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from msgspec import Struct

from saleroom.kernel.addresses import is_private_name
from saleroom.kernel.errors import Fault

SUBSCRIPTIONS_MAX = 10
"""The most browsers of one user; one more takes the place of the oldest."""
ENDPOINT_MAX = 1000
KEY = re.compile(r"[A-Za-z0-9_-]{87}")
"""A point of the curve P-256 in base64url: 65 bytes."""
AUTH = re.compile(r"[A-Za-z0-9_-]{22}")
"""A secret of 16 bytes in base64url."""
KEPT_MAX = timedelta(days=1)
"""How long a push service keeps a message at most: what happened yesterday is read on the page."""
TOPIC_CHARACTERS = 32
URGENT = frozenset({"outbid", "ending", "leading", "near", "called"})
"""Kinds that are of use for a short time only; a device that saves power is woken for them."""
_ENDPOINT = re.compile(r"https://[!-~]+")
ENDPOINT_FAULT = Fault("push_endpoint", "must be the https address of a push service, as a browser gives it")
PRIVATE_FAULT = Fault("push_private", "must be a public address: this house sends nothing into private networks")
KEYS_FAULT = Fault("push_keys", "must be the keys p256dh and auth of a subscription, as a browser gives them")


class Subscription(Struct, frozen=True, kw_only=True):
    """Where a browser gets messages: the address at its push service, and the keys that only this browser can read with."""

    endpoint: str
    p256dh: str
    auth: str
    language: str | None = None


class NumberedSubscription(Struct, frozen=True, kw_only=True):
    """A subscription of a user by its number. `agent` is the name of the device, if known."""

    id: int
    user_id: int
    token: str
    """The digest of the token of the login in this browser."""
    agent: str | None
    created_at: datetime
    subscription: Subscription


def parse_endpoint(text: str, *, private: bool) -> str | Fault:
    """Return the address of a subscription, or its fault. `private` allows names and addresses of private networks."""
    if len(text) > ENDPOINT_MAX or _ENDPOINT.fullmatch(text) is None:
        return ENDPOINT_FAULT
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ENDPOINT_FAULT
    if not host or port == 0 or parts.username is not None or parts.fragment:
        return ENDPOINT_FAULT
    return PRIVATE_FAULT if not private and is_private_name(host) else text


def kept(kind: str, ends: Collection[datetime], expires_at: datetime, now: datetime) -> int:
    """Return for how many seconds a push service keeps a message (`TTL`) for a browser that is away.

    `ends` are those of the lots that it is about: what is of use for a short time ends with them.
    """
    until = min(expires_at, now + KEPT_MAX)
    if kind in URGENT and ends:
        until = min(until, max(ends))
    return max(0, int((until - now).total_seconds()))


def topic(about: str) -> str:
    """Return what a message is about, as push services know it: a later message about the same takes its place."""
    return hashlib.sha256(about.encode()).hexdigest()[:TOPIC_CHARACTERS]
