"""The services behind the API and the pages of notices, made in `area.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from saleroom.http.cursors import Cursors
from saleroom.notices.service.shown import ShownMails
from saleroom.outbox.kinds import Sign
from saleroom.outbox.web_push import HouseKey
from saleroom.storage.database import Database
from saleroom.storage.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class PushService:
    """How browsers subscribe: the key of the house, and whether push services may be in private networks."""

    key: Callable[[], HouseKey]
    private: bool


@dataclass(frozen=True, kw_only=True)
class NoticeServices:
    """The services behind the API and the pages of notices."""

    database: Database
    tokens: Tokens
    cursors: Cursors
    sign: Sign
    languages: tuple[str, ...]
    """The tags of the languages that mails are written in."""
    zone: str
    """The time zone of the house."""
    shown: ShownMails | None
    """The mails that are shown instead of sent; None if they are sent, or if there are none."""
    mails: bool
    """Whether mails go out at all."""
    push: PushService | None
    """How browsers subscribe; None if none gets messages."""
    webhook_key: Callable[[], bytes]
    """What the secrets of webhooks follow from."""
    webhooks: str
    """Where events are posted to: `off`, `public` or `anywhere`."""
