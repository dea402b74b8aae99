"""Mails of their own, as an area declares them, such as a link to verify an address; and words about money by every channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saleroom.outbox.message import Word
from saleroom.storage.database import Transaction

Sign = Callable[[str], str]
"""Returns what only the house can compute of a text, fit for an address: for links that are secret, so that none is stored."""


@dataclass(frozen=True, kw_only=True)
class MailKind:
    """A kind of word that is a mail of its own (`Message.alone`).

    Its receiver gets it whatever they have chosen, unless it is one of the kinds among which people choose.

    `template` is a file in `folder/templates/`, which extends `mail/base.html` with a `subject` and a `content`. It has the
    names `language`, `house`, `origin` (the address of the house), those that `context` returns, and `when_here`, which writes
    an instant of JSON by the clock of the house. `context` reads the present state when the mail is made; None means that the
    mail is no longer of use.

    A kind among which people choose goes to browsers and webhooks as well: `path` of the context is the page that it leads to,
    and `data` is the JSON for webhooks.
    """

    name: str
    folder: Path
    template: str
    context: Callable[[Transaction, Word, Sign], Mapping[str, Any] | None]
