"""Words to people as values: as they are posted, and as they wait; and when a failed one is tried again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

MAIL = "mail"
"""The channel of mail."""
PUSH = "push"
"""The channel of messages to browsers: `address` is the number of a subscription, as text. Without it, the word is for all of
the receiver's."""
WEBHOOK = "webhook"
"""The channel of webhooks: `address` is the number of one, as text. Without it, the word is for all of the receiver's."""
CHANNELS = (MAIL, PUSH, WEBHOOK)
LASTS = timedelta(days=3)
"""How long a word waits at most, unless its message says otherwise."""
TRIES_MAX = 14
"""How often a mail or a message to a browser is tried. With the pauses between, the last try comes after some eight hours."""
PAUSE_MIN = timedelta(minutes=1)
PAUSE_MAX = timedelta(hours=1)
WEBHOOK_PAUSES = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
)
"""The pauses between the tries of a webhook, as the specification of Standard Webhooks has them: up to 75 hours together."""


class State(StrEnum):
    """What has become of a word."""

    WAITING = "waiting"
    SENT = "sent"
    GIVEN_UP = "given_up"
    DROPPED = "dropped"
    """It was not sent because it was not wanted, no longer true or no longer of use."""


class Message(Struct, frozen=True, kw_only=True):
    """A word to one person, for `store.post`.

    `kind` names the words (`kinds.MailKind`), `key` the cause: a second message with the same key and channel is not posted.
    `receiver` is a user's number, `address` a mail address; one of them is given. `about` is the gid of what it is about,
    `facts` is JSON. `language` is the tag of the language to use if the receiver has chosen none. It falls due `after` it was
    posted, and is dropped if it still waits when it `lasts` no longer. A word that stands `alone` is a mail of its own; others
    share one.
    """

    kind: str
    key: str
    receiver: int | None = None
    address: str | None = None
    about: str | None = None
    facts: Mapping[str, Any] = {}
    language: str | None = None
    channel: str = MAIL
    alone: bool = True
    after: timedelta = timedelta()
    lasts: timedelta = LASTS


class Word(Struct, frozen=True, kw_only=True):
    """A word of the outbox. `tries` are those begun; `letter` is the number of the first word of the letter that has it."""

    id: int
    kind: str
    receiver: int | None
    address: str | None
    about: str | None
    facts: Mapping[str, Any]
    language: str | None
    alone: bool
    channel: str
    state: State
    posted_at: datetime
    due_at: datetime
    expires_at: datetime
    tries: int
    letter: int | None
    last_error: str | None
    settled_at: datetime | None


def facts_of(text: str) -> dict[str, Any] | None:
    """Return the facts that a text holds, which is an object of JSON; None for any other."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def number_of(facts: Mapping[str, Any], name: str) -> int | None:
    """Return the number of a row that facts name; None if they name none that there could be."""
    value = facts.get(name)
    return value if type(value) is int and 0 < value < 2**63 else None


def tries_max(channel: str) -> int:
    """Return how often a word is tried."""
    return len(WEBHOOK_PAUSES) + 1 if channel == WEBHOOK else TRIES_MAX


def pause(tries: int, chance: float, channel: str = MAIL) -> timedelta:
    """Return how long to wait after so many tries: longer each time. `chance` from 0 to 1 spreads it by a quarter."""
    if channel == WEBHOOK:
        longest = WEBHOOK_PAUSES[min(tries, len(WEBHOOK_PAUSES)) - 1]
    else:
        longest = min(PAUSE_MAX, PAUSE_MIN * (1 << min(tries - 1, 20)))
    return longest * (0.75 + chance / 4)
