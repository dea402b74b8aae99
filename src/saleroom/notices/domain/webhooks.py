"""Webhooks: addresses that words and events are posted to, as https://www.standardwebhooks.com has it."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import urlsplit

from msgspec import Struct

from saleroom.bidding.domain.event_types import EVENTS
from saleroom.kernel.addresses import PRIVATE, is_private_name
from saleroom.kernel.errors import Fault
from saleroom.notices.domain.kinds import KINDS

WEBHOOKS_MAX = 10
"""Of one user."""
WAITING_MAX = 5000
"""With more events that wait, a webhook is switched off."""
URL_MAX = 500
NO_URL = Fault(
    "webhook_url",
    f"must be an https:// address of at most {URL_MAX} characters of ASCII: "
    "other letters in a host as xn--…, elsewhere by percent signs",
)
LASTS = timedelta(days=4)
"""How long an event waits at most; its tries end before."""
OLD_SECRET_LASTS = timedelta(hours=24)
"""How long the secret before the last rotation signs too."""
SENT_AGAIN = timedelta(minutes=1)
"""A form of a page that is sent again within this time was not meant twice."""
TEST_SECONDS = 10
"""In so many seconds there is one test."""
EVERYTHING = "*"
"""In place of kinds: all of them, those of later versions too."""
NOTICE = "notice."
"""Begins the kinds of words to the webhook's owner."""
TEST = "webhook.test"
FANNED = "all"
"""Stands in the keys of words that came to all webhooks of their owner."""
NOTICES = tuple(f"{NOTICE}{kind}" for kind in KINDS)
PUBLIC = tuple(kind.TYPE for kind in EVENTS.values() if kind.PUBLIC)
CHOICES = (*NOTICES, *PUBLIC)
"""All kinds that a webhook may be for."""
NAMING = frozenset({"auction.created", "auction.amended"})
"""Events with the name of a lot, which nobody gets while the lot is hidden."""
SECRET_PREFIX = "whsec_"  # how each begins, by the standard
_SECRET_ABOUT = "webhook"  # what the key is derived for


class Scope(StrEnum):
    """Whose events a webhook is for."""

    OWN = "own"
    """Words to its owner, and the public events of lots that they sell, watch or bid on."""
    HOUSE = "house"
    """Words to its owner, and the public events of all lots: for staff."""


class Off(StrEnum):
    """Why a webhook is switched off."""

    OWNER = "owner"
    """Its owner has done so."""
    GONE = "gone"
    """Its server answered 410."""
    FAILING = "failing"
    """The tries of an event have ended."""
    FULL = "full"
    """Too many events wait."""


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook of a user. `salt` leads to its secret, `old_salt` to the one that signs too until `old_until`."""

    id: int
    user_id: int
    url: str
    kinds: tuple[str, ...]
    scope: Scope
    created_at: datetime
    salt: str
    old_salt: str | None = None
    old_until: datetime | None = None
    off: Off | None = None
    off_at: datetime | None = None

    def wants(self, kind: str) -> bool:
        """Return whether the webhook is on and for this kind."""
        return self.off is None and (EVERYTHING in self.kinds or kind in self.kinds)

    def salts(self, now: datetime) -> list[str]:
        """Return the salts of all secrets that sign now, the newest first."""
        old = self.old_salt is not None and self.old_until is not None and now < self.old_until
        return [self.salt, self.old_salt] if old and self.old_salt is not None else [self.salt]


def secret(key: bytes, salt: str) -> bytes:
    """Return the bytes of the secret with this salt, which only the house with this `key` can compute."""
    return hmac.digest(key, f"{_SECRET_ABOUT} {salt}".encode(), hashlib.sha256)


def shown_secret(value: bytes) -> str:
    """Return a secret as its owner gets it."""
    return SECRET_PREFIX + base64.b64encode(value).decode()


def signature(secrets: Iterable[bytes], identifier: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature`: one signature for each secret."""
    signed = f"{identifier}.{timestamp}.".encode() + body
    return " ".join("v1," + base64.b64encode(hmac.digest(value, signed, hashlib.sha256)).decode() for value in secrets)


def parse_url(text: str, *, private: bool) -> str | Fault:
    """Return the address of a webhook, or its fault. `private` allows http, and names and addresses of private networks."""
    url = text.strip()
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url or len(url) > URL_MAX:
        return NO_URL
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return NO_URL
    if not host or port == 0 or parts.scheme not in (("https", "http") if private else ("https",)):
        return NO_URL
    if parts.username is not None or parts.password is not None or parts.fragment:
        return Fault("webhook_url", "must have no user, no password and no fragment")
    if not private and is_private_name(host):
        return Fault("webhook_private", PRIVATE)
    return url


def parse_kinds(sent: Collection[str]) -> tuple[str, ...] | Fault:
    """Return kinds in their order, each once, or their fault. EVERYTHING stands alone."""
    if EVERYTHING in sent:
        return (EVERYTHING,)
    if not sent or not {*sent} <= {*CHOICES}:
        return Fault("not_a_choice", f"must be {EVERYTHING} alone, or one or more of: {', '.join(CHOICES)}")
    return tuple(kind for kind in CHOICES if kind in sent)
