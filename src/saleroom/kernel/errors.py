"""Refusals: why something is not done.

    Refusal                  every refusal: a stable code, a sentence, facts to act on
    ├── Unauthenticated      no live token
    └── Declined             every other refusal, which a form shows: to log in again would not change it
        ├── Unreadable           the request cannot be read
        │   └── Invalid              with every fault of every field of the request
        │       └── Contradiction        the fields by their names in the domain
        ├── Forbidden            the user may not do this
        │   ├── MissingRight         the user's role or token lacks the right, which it names
        │   └── Barred               staff has suspended or banned the user: why, and until when
        ├── Unknown              there is no such thing
        ├── Gone                 there was such a thing, and it is not shown any more
        ├── Conflict             the state of things does not allow this now
        ├── ConditionFailed      a condition that the request names does not hold
        ├── Mismatch             the request can be read, but contradicts what the house knows
        └── TooManyRequests, Busy      try again later

Each area derives its refusals from these kinds, in its `domain/errors.py`. A refusal is a value of the domain: it knows no
HTTP status, header or JSON member. `http/problems.py` maps the kinds to statuses, and says how to act on them over HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from msgspec import Struct

Value = str | int | bool | Decimal | datetime | None


class Change(Struct, frozen=True):
    """A `member` of an auction that has changed, with its old and new value; both are None if they are long or secret."""

    member: str
    was: Value = None
    now: Value = None


Fact = Value | tuple[Change, ...]


class Refusal(Exception):
    """The request was refused."""

    code: ClassVar[str] = "refused"
    bare: ClassVar[bool] = False
    """Whether an answer shows the message alone, as the specification asks for."""

    def __init__(self, message: str | None = None, **facts: Fact) -> None:
        self.message = message or self.sentence()
        self.facts = facts
        super().__init__(self.message)

    @classmethod
    def sentence(cls) -> str:
        """Return the message of a refusal without an explicit one: the first line of its docstring."""
        return (cls.__doc__ or "").strip().splitlines()[0]


class Unauthenticated(Refusal):
    """This needs a valid token: log in, and send the token along."""

    code = "unauthenticated"


class Declined(Refusal):
    """The request was declined; to log in again would not change that."""


class Fault:
    """A fault of one field: a stable code, a sentence that says what would be right, and its numbers as facts."""

    __slots__ = ("code", "facts", "message")

    def __init__(self, code: str, message: str, **facts: Fact) -> None:
        self.code = code
        self.message = message
        self.facts = facts

    def __repr__(self) -> str:
        return f"Fault({self.code!r}, {self.message!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fault) and (self.code, self.message) == (other.code, other.message)

    def __hash__(self) -> int:
        return hash((self.code, self.message))


class Unreadable(Declined):
    """The request cannot be read."""


class Invalid(Unreadable):
    """The request cannot be read."""

    code = "validation"

    def __init__(self, faults: Mapping[str, list[Fault]]) -> None:
        """`faults` are by the name of the field, or `body` for the whole request."""
        self.faults = dict(faults)
        super().__init__("; ".join(f"{field}: {f.message}" for field, fs in self.faults.items() for f in fs))

    @classmethod
    def one(cls, field: str, code: str, message: str) -> Invalid:
        """Return the refusal for a single fault."""
        return cls({field: [Fault(code, message)]})


class Contradiction(Invalid):
    """The request contradicts itself or the state of things; its fields have their names in the domain, as facts have."""


class Forbidden(Declined):
    """The user may not do this."""


class MissingRight(Forbidden):
    """You do not have the right to do this here; ask those who run the house."""

    code = "missing_right"


class Barred(Forbidden):
    """You are suspended or banned here; `reason` says why, and `until` when it ends."""

    code = "barred"


class Unknown(Declined):
    """There is no such thing."""


class Gone(Declined):
    """There was such a thing, and it is not shown any more."""


class Conflict(Declined):
    """The state of things does not allow this now."""


class ConditionFailed(Declined):
    """A condition that the request names does not hold."""


class Mismatch(Declined):
    """The request can be read, but it contradicts what the house knows."""


class UnknownEvent(Unreadable):
    """This event is not in the log; read again what you follow, and follow it without an id."""

    code = "unknown_event"


class TooManyRequests(Declined):
    """Too many tries; wait a while, then try again."""

    code = "too_many_requests"


class Busy(Declined):
    """The service is busy; nothing was changed; try again in a moment."""

    code = "busy"
