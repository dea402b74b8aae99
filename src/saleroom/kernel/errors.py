"""What can be refused, and why.

    Refused                        every refusal: a stable code, a sentence, facts to act on
    ├── Invalid                    what was sent cannot be read: every fault of every field
    ├── Unauthenticated            no live token
    ├── InvalidAuthentication      login: unknown user, no digest or wrong password
    ├── WrongPassword              the right token, and not the password that goes with it
    ├── UsernameTaken, RegistrationClosed
    ├── UnknownAuction, UnknownEvent, UnknownUser, UnknownPhoto, UnknownSession
    ├── OwnAuction, NotAuthor      the right person for the wrong thing
    ├── BidTooLow, AlreadyLeading, AuctionClosed, AuctionNotStarted, AuctionStarted,
    │   HasBids, BuyNowUnavailable, EndsByItself
    ├── Changed                    the auction is not what the request rests on
    │   ├── TermsChanged           something else is offered
    │   └── PreconditionFailed     anything at all has happened
    ├── IdempotencyMismatch, TooManyPhotos, TooManyAuctions, TooManyWatched
    └── TooManyRequests, Busy      come again later

A refusal is a domain value and never knows an HTTP status: `http/problems.py` holds that map.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from msgspec import Struct

Value = str | int | bool | Decimal | datetime | None


class Change(Struct, frozen=True):
    """A `member` of an auction that has changed: what it `was` and is `now`; both None where that is long or secret."""

    member: str
    was: Value = None
    now: Value = None


Fact = Value | tuple[Change, ...]


class Refused(Exception):
    """The request was refused."""

    code: ClassVar[str] = "refused"

    def __init__(self, message: str | None = None, **facts: Fact) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.facts = facts
        super().__init__(self.message)


class Fault:
    """One thing wrong with one field: a stable code, a sentence that says what would be right, and its numbers as facts."""

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


class Invalid(Refused):
    """The request cannot be read."""

    code = "validation"

    def __init__(self, faults: Mapping[str, list[Fault]]) -> None:
        """Keep `faults`: field name (`body` for the whole) to its faults."""
        self.faults = dict(faults)
        super().__init__("; ".join(f"{field}: {f.message}" for field, fs in self.faults.items() for f in fs))

    @classmethod
    def one(cls, field: str, code: str, message: str) -> Invalid:
        """Return the refusal for a single fault."""
        return cls({field: [Fault(code, message)]})


class Unauthenticated(Refused):
    """This needs a valid token: log in with POST /login and send 'Authorization: Bearer TOKEN'."""

    code = "unauthenticated"


class InvalidAuthentication(Refused):
    """Invalid authentication"""

    code = "invalid_authentication"


class WrongPassword(Refused):
    """This is not your current password; nothing was changed."""

    code = "wrong_password"


class UsernameTaken(Refused):
    """This username is taken; choose another."""

    code = "username_taken"


class RegistrationClosed(Refused):
    """Registration is closed in this house; ask those who run it for an account."""

    code = "registration_closed"


class UnknownAuction(Refused):
    """There is no auction with this gid."""

    code = "unknown_auction"


class UnknownEvent(Refused):
    """This event is not in the log; follow again without an id, and read what is followed anew."""

    code = "unknown_event"


class UnknownUser(Refused):
    """There is no user with this name."""

    code = "unknown_user"


class UnknownPhoto(Refused):
    """There is no such photo, or not in this width."""

    code = "unknown_photo"


class UnknownSession(Refused):
    """You have no session with this id; it may have ended."""

    code = "unknown_session"


class OwnAuction(Refused):
    """Nobody may bid in their own auction."""

    code = "own_auction"


class NotAuthor(Refused):
    """Only the author of an auction may do this."""

    code = "not_author"


class BidTooLow(Refused):
    """The bid is too low; bid at least the minimum bid."""

    code = "bid_too_low"


class AlreadyLeading(Refused):
    """You lead already; to raise your limit send a 'maximum' above your present one, without 'amount'."""

    code = "already_leading"


class AuctionClosed(Refused):
    """The auction is over."""

    code = "auction_closed"


class AuctionNotStarted(Refused):
    """The auction has not started yet; try again from its start."""

    code = "auction_not_started"


class AuctionStarted(Refused):
    """The auction has started, so its start cannot be moved any more."""

    code = "auction_started"


class HasBids(Refused):
    """The auction has bids, so it can be neither changed nor cancelled any more."""

    code = "has_bids"


class BuyNowUnavailable(Refused):
    """The auction cannot be bought now: it has no buy-now price, or a bid has been placed; bid instead."""

    code = "buy_now_unavailable"


class EndsByItself(Refused):
    """The auction has an end and closes by itself then."""

    code = "ends_by_itself"


class Changed(Refused):
    """The auction is not what your request rests on."""

    code = "changed"

    def __init__(
        self, message: str | None = None, *, seen: int | None = None, changes: tuple[Change, ...] = (), **facts: Fact
    ) -> None:
        """Take in `seen` the version that the request rests on, where it says one, and all `changes` that are known."""
        super().__init__(message, changes=changes, **facts)
        self.seen = seen


class TermsChanged(Changed):
    """What is offered has changed since you saw it; nothing was done; look at it again, then decide."""

    code = "terms_changed"


class PreconditionFailed(Changed):
    """The auction is not at the version that If-Match names; nothing was done; read it again, then decide."""

    code = "precondition_failed"


class IdempotencyMismatch(Refused):
    """This Idempotency-Key was used for another request; use a new key for a new request."""

    code = "idempotency_mismatch"


class TooManyPhotos(Refused):
    """Too many of your photos are on no lot; put some on a lot, or wait a day: then those left over are gone."""

    code = "too_many_photos"


class TooManyAuctions(Refused):
    """You have as many auctions as one user may run at a time, or create in a day; wait until some are over."""

    code = "too_many_auctions"


class TooManyWatched(Refused):
    """You watch as many auctions as one user may; take some off your list."""

    code = "too_many_watched"


class TooManyRequests(Refused):
    """Too many tries; wait as long as Retry-After says."""

    code = "too_many_requests"


class Busy(Refused):
    """The service is busy; nothing was changed; try again in a moment."""

    code = "busy"
