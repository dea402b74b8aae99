"""Mails about accounts: their links, how long each is good for, and how many mails somebody can cause."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from saleroom.kernel.mail import folded_address

Sign = Callable[[str], str]
"""Returns what only the house can compute of a text (`outbox/kinds.py`)."""

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TYPED_MAX = 254
"""Characters of a name or address that somebody typed; longer ones cannot exist."""
_CODE = re.compile(r"([1-9][0-9]{0,17})\.([A-Za-z0-9_-]{22})")


class Purpose(StrEnum):
    """What a link in a mail is for."""

    VERIFICATION = "verification"
    RESET = "reset"


LIFETIMES = {Purpose.VERIFICATION: timedelta(hours=24), Purpose.RESET: timedelta(minutes=30)}
"""How long a link is good for, from the request that caused it."""


class MailLimit(Struct, frozen=True):
    """At most so many mails within a time."""

    most: int
    within: timedelta


ACCOUNT_LIMITS = (MailLimit(3, HOUR), MailLimit(10, DAY))
"""How many mails with a link one account can cause, for each purpose.

Requests for a forgotten password need no login. So those from networks where the account has logged in do not count here:
each of these networks has this share for itself, which strangers elsewhere cannot use up.
"""
NETWORK_LIMITS = (MailLimit(3, DAY),)
"""How many mails for a forgotten password one network can cause for an account that has never logged in from there."""
MAILBOX_LIMITS = (MailLimit(5, HOUR), MailLimit(20, DAY))
"""How many mails with a link one mailbox gets for each purpose, whatever the accounts: nobody can flood a stranger.

Links for a forgotten password to networks where the account has logged in do not count here either.
"""


class MailLink(Struct, frozen=True, kw_only=True):
    """A link that goes to `address` by mail. It is good until `expires_at`, unless it is used or replaced before."""

    id: int
    user_id: int
    purpose: Purpose
    address: str
    made_at: datetime
    expires_at: datetime
    used_at: datetime | None = None

    def is_good(self, now: datetime) -> bool:
        """Return whether the link still opens something."""
        return self.used_at is None and now < self.expires_at

    def code(self, digest: str | None, sign: Sign) -> str:
        """Return the secret of the link. It is stored nowhere, and differs once the password's `digest` does."""
        parts = (self.purpose, str(self.id), str(self.user_id), self.address, self.expires_at.isoformat(), digest or "")
        return f"{self.id}.{sign(' '.join(('link', *parts)))}"

    def has_code(self, code: str, digest: str | None, sign: Sign) -> bool:
        """Return whether `code` is the secret of the link. The time it takes does not depend on the difference."""
        return hmac.compare_digest(self.code(digest, sign).encode(), code.strip().encode())


def link_number(code: str) -> int | None:
    """Return the number of the link that has this code, if it has the form of one."""
    found = _CODE.fullmatch(code.strip())
    return None if found is None else int(found[1])


def mailbox(address: str) -> str:
    """Return what addresses have in common whose mails reach the same person, as far as the house can know.

    Most mail servers ignore the case of letters, and all from a `+` on in the name.
    """
    name, _, host = folded_address(address).rpartition("@")
    return f"{name.partition('+')[0]}@{host}"
