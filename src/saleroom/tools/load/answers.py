"""The answers of the API that a load test decodes.

A price in another form than the API promises is recorded as malformed, and read if possible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
from msgspec import Struct

from saleroom.tools.load.record import BidRecord, LotView

_MONEY = re.compile(r"(?:0|[1-9][0-9]{0,16})\.[0-9]{3}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class AuctionAnswer(Struct, rename="camel"):
    """An auction; money of any form."""

    gid: str
    current_bid: Any
    current_bidder: str | None
    minimum_bid: Any
    bid_count: int
    status: str
    outcome: str | None
    ends_at: datetime | None
    created_at: datetime
    version: int


class HistoryBid(Struct, rename="camel"):
    """A bid."""

    amount: Any
    bidder: str
    placed_at: datetime
    automatic: bool


class PlacedAnswer(Struct):
    """The answer to an accepted bid."""

    bid: HistoryBid | None
    auction: AuctionAnswer
    leading: bool


class RefusalAnswer(Struct, rename="camel"):
    """An error."""

    message: Any = ""
    code: str = ""
    minimum_bid: Any = None
    ends_at: datetime | None = None


class HistoryAnswer(Struct):
    """A page of a history, newest first."""

    bids: list[HistoryBid]
    next: str | None


class StandingAnswer(Struct):
    """An auction in which the asker has bid, and whether the asker leads or has won."""

    auction: AuctionAnswer
    standing: str


class StandingsAnswer(Struct):
    """A page of the asker's bids."""

    bids: list[StandingAnswer]
    next: str | None


class UserAnswer(Struct):
    """A test user."""

    username: str
    token: str


class UsersAnswer(Struct):
    """Test users."""

    users: list[UserAnswer]


class MeAnswer(Struct, rename="camel"):
    """The asker's own account."""

    created_at: datetime


ANSWERS: Mapping[Any, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind)
    for kind in (AuctionAnswer, PlacedAnswer, RefusalAnswer, HistoryAnswer, StandingsAnswer, UsersAnswer, MeAnswer)
}


def view(answer: AuctionAnswer, malformed: list[str]) -> LotView:
    """Return the state of a lot in an answer."""
    where = answer.gid
    return LotView(
        price=amount(answer.current_bid, f"{where}: currentBid", malformed),
        bidder=answer.current_bidder,
        minimum=amount(answer.minimum_bid, f"{where}: minimumBid", malformed),
        count=answer.bid_count,
        status=answer.status,
        outcome=answer.outcome,
        ends=None if answer.ends_at is None else microseconds(answer.ends_at),
        version=answer.version,
    )


def bid(answer: HistoryBid, where: str, malformed: list[str]) -> BidRecord:
    """Return a bid in an answer; its amount is -1 if it cannot be read."""
    read = amount(answer.amount, f"{where}: amount", malformed)
    return BidRecord(-1 if read is None else read, answer.bidder, microseconds(answer.placed_at), answer.automatic)


def amount(value: object, where: str, malformed: list[str]) -> int | None:
    """Return money in thousandths; None for null and for anything that is no number."""
    if value is None:
        return None
    if isinstance(value, str) and _MONEY.fullmatch(value):
        return int(value.replace(".", ""))
    malformed.append(f"{where} is {value!r}")
    try:
        return int(Decimal(str(value)).scaleb(3))
    except (InvalidOperation, ValueError, OverflowError):
        return None


def microseconds(at: datetime) -> int:
    """Return an instant in microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND
