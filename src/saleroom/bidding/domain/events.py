"""The events of an auction: frozen, in the past tense, complete enough to rebuild it (docs/events.md).

Every decision of the domain is a list of events, and only `Auction.after` says what each of them changes.
The fields named in `PRIVATE` are not public: limits, the reserve and users' numbers are for the replay only.
The ledger commits to those also named in `SEALED`, and shows them once the auction is over (docs/ledger.md).
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from saleroom.bidding.domain.increments import Tier


class Outcome(StrEnum):
    """How a closed auction ended. `conditional`: the hammer fell below the reserve, and the seller is to decide."""

    SOLD = "sold"
    NO_BIDS = "no_bids"
    RESERVE_NOT_MET = "reserve_not_met"
    CONDITIONAL = "conditional"


class Channel(StrEnum):
    """How somebody bids in a sale: by themselves online, in the hall, by telephone, or absent, by what they have left."""

    ONLINE = "online"
    FLOOR = "floor"
    PHONE = "phone"
    ABSENTEE = "absentee"


class Reason(StrEnum):
    """The reason for which an end moved."""

    SOFT_CLOSE = "soft_close"
    OUTAGE = "outage"
    FOLLOWS = "follows"


SOFT_CLOSE_SECONDS_MAX = 86_400
"""A day: the longest window and the longest extension that an author can choose."""


class SoftClose(Struct, frozen=True):
    """A bid within `window` seconds before the end moves it to `extension` seconds from the bid, never past `cap`."""

    window: int
    extension: int
    cap: datetime | None = None


class Event(Struct, frozen=True, kw_only=True, rename="camel"):
    """The member of every event: the instant of the decision (UTC), `time` in JSON."""

    TYPE: ClassVar[str]
    PRIVATE: ClassVar[frozenset[str]] = frozenset()
    SEALED: ClassVar[frozenset[str]] = frozenset()
    PUBLIC: ClassVar[bool] = True
    """False if only the replay may know of it."""
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()
    """Members in JSON that are left out if they are None, as in the events of before."""

    at: datetime


class Terms(Event, frozen=True, kw_only=True):
    """All terms that the author of an auction sets; `minimum_bid` and `reserve_met` follow from them.

    The `category` is in no ledger: it decides no bid, and every program that verifies a ledger knows only the members of its
    time. `AuctionAmended` therefore never stands for a change of the category alone; see `PhotosArranged`.
    """

    PRIVATE: ClassVar[frozenset[str]] = frozenset({"reserve_price", "category"})
    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"category"})
    SEALED: ClassVar[frozenset[str]] = frozenset({"reserve_price"})

    name: str
    description: str
    starting_price: Decimal
    buy_now_price: Decimal | None
    soft_close: SoftClose | None
    starts_at: datetime | None
    ends_at: datetime | None
    minimum_bid: Decimal | None
    reserve_met: bool | None
    reserve_price: Decimal | None
    category: str | None = None


class AuctionCreated(Terms, frozen=True, kw_only=True):
    """An auction was created by `author`; it is `scheduled` or `open` at once. `seed` is for the salts of its ledger."""

    TYPE: ClassVar[str] = "auction.created"
    PRIVATE: ClassVar[frozenset[str]] = Terms.PRIVATE | {"author_id", "seed"}

    gid: str
    author: str
    author_id: int
    increment: tuple[Tier, ...]
    status: str
    seed: str = ""


class AuctionAmended(Terms, frozen=True, kw_only=True):
    """The author changed the terms or announced the end; all terms are given, changed or not."""

    TYPE: ClassVar[str] = "auction.amended"


class ShownFile(Struct, frozen=True):
    """A file of a photo: how many pixels it is wide, and the SHA-256 of its bytes in hexadecimal digits."""

    width: int
    sha256: str


class ShownPhoto(Struct, frozen=True):
    """A photo that a lot shows, with its files, the narrowest first."""

    id: str
    files: tuple[ShownFile, ...]


class PhotosArranged(Event, frozen=True, kw_only=True):
    """The author chose the photos that the lot shows; all are given, in their order.

    It also stands for a change of the `category` alone, with the photos as they are.
    """

    TYPE: ClassVar[str] = "photos.arranged"
    PRIVATE: ClassVar[frozenset[str]] = frozenset({"category"})
    OPTIONAL: ClassVar[frozenset[str]] = PRIVATE

    photos: tuple[ShownPhoto, ...]
    category: str | None = None


class AuctionOpened(Event, frozen=True, kw_only=True):
    """A scheduled auction reached its start."""

    TYPE: ClassVar[str] = "auction.opened"


class BidPrices(Struct, frozen=True):
    """The prices that a bidder named; see `bidding.BidRequest`."""

    amount: Decimal | None
    maximum: Decimal | None


class BidPlaced(Event, frozen=True, kw_only=True):
    """A bid of `amount` was recorded.

    `leading`: whether `bidder` leads afterwards; then `amount` is the price. `automatic`: the house bid on behalf of an earlier
    maximum. `minimum_bid`: the least next bid. `maximum`: the limit behind the bid. `received_at`: when the house received the
    request. `asked` and `received_at` are None on an automatic bid; `asked` also on a purchase. `channel` is there if a clerk
    took the bid in the hall or by telephone.
    """

    TYPE: ClassVar[str] = "bid.placed"
    PRIVATE: ClassVar[frozenset[str]] = frozenset({"bidder_id", "maximum", "asked"})
    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"channel"})
    SEALED: ClassVar[frozenset[str]] = frozenset({"maximum", "asked"})

    amount: Decimal
    bidder: str
    bidder_id: int
    automatic: bool
    leading: bool
    minimum_bid: Decimal | None
    reserve_met: bool | None
    ends_at: datetime | None
    maximum: Decimal
    asked: BidPrices | None = None
    received_at: datetime | None = None
    channel: Channel | None = None


class MaximumRaised(Event, frozen=True, kw_only=True):
    """The leader raised their own limit. Nobody else may learn of it, so it has no public number."""

    TYPE: ClassVar[str] = "maximum.raised"
    PUBLIC: ClassVar[bool] = False
    PRIVATE: ClassVar[frozenset[str]] = frozenset({"maximum", "received_at"})
    SEALED: ClassVar[frozenset[str]] = PRIVATE

    maximum: Decimal
    received_at: datetime | None = None


class ReserveMet(Event, frozen=True, kw_only=True):
    """The leader's raised limit reached the reserve, so the price rose to it (docs/rules.md, rule 5) without a new bid."""

    TYPE: ClassVar[str] = "reserve.met"

    amount: Decimal
    bidder: str
    minimum_bid: Decimal | None


class BidVoided(Event, frozen=True, kw_only=True):
    """Staff voided the bid at version `voided`, with its raises: the standing was decided again without it.

    `amount` and `bidder` are those of the voided bid. `current_bid`, `current_bidder`, `current_bid_at`, `minimum_bid` and
    `reserve_met` are the standing afterwards, with `maximum` and `leader_id` (docs/rules.md, "Voiding a bid").
    """

    TYPE: ClassVar[str] = "bid.voided"
    PRIVATE: ClassVar[frozenset[str]] = frozenset({"leader_id", "maximum"})
    SEALED: ClassVar[frozenset[str]] = frozenset({"maximum"})

    voided: int
    bidder: str
    amount: Decimal
    reason: str
    current_bid: Decimal | None
    current_bidder: str | None
    current_bid_at: datetime | None
    minimum_bid: Decimal | None
    reserve_met: bool | None
    leader_id: int | None
    maximum: Decimal | None


class AuctionExtended(Event, frozen=True, kw_only=True):
    """The end moved to `ends_at`, later than before, for this `reason`; `down_since` is when an outage began."""

    TYPE: ClassVar[str] = "auction.extended"

    ends_at: datetime
    reason: Reason
    down_since: datetime | None = None


class AuctionPaused(Event, frozen=True, kw_only=True):
    """The clock stopped: the auction takes no bids, and neither opens nor ends until it goes on."""

    TYPE: ClassVar[str] = "auction.paused"


class AuctionResumed(Event, frozen=True, kw_only=True):
    """The clock goes on; start, end and the soft close's cap (None without) are later by the time that it stood still."""

    TYPE: ClassVar[str] = "auction.resumed"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"cap"})

    starts_at: datetime | None
    ends_at: datetime | None
    cap: datetime | None = None


class AuctionClosed(Event, frozen=True, kw_only=True):
    """The auction is over; `winner` and `price` (the hammer price) are set if it was sold, also if it is `conditional`."""

    TYPE: ClassVar[str] = "auction.closed"

    outcome: Outcome
    winner: str | None
    price: Decimal | None


class AuctionHidden(Event, frozen=True, kw_only=True):
    """Staff took the lot down: nobody finds it or bids on it. The reason, `hidden_for`, is for its author and for staff."""

    TYPE: ClassVar[str] = "auction.hidden"
    PRIVATE: ClassVar[frozenset[str]] = frozenset({"hidden_for"})

    hidden_for: str = ""


class AuctionShown(Event, frozen=True, kw_only=True):
    """Staff put the lot back."""

    TYPE: ClassVar[str] = "auction.shown"


class AuctionCancelled(Event, frozen=True, kw_only=True):
    """The author cancelled the auction before any bid, or staff at any time, with a `reason`."""

    TYPE: ClassVar[str] = "auction.cancelled"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"reason"})

    reason: str | None = None
