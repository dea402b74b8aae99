"""The messages of a house: lots, events, and the change that each event makes to a lot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from saleroom.tools.clock import Instant

T = TypeVar("T")
TEXT_LENGTH_MAX = 1000
"""Far longer than the longest name of a house."""


class LotState(Struct, frozen=True, rename="camel"):
    """An auction as the house shows it (docs/api.md). Money is text; `version` is the number of the last event."""

    gid: Annotated[str, Meta(max_length=64)]
    name: Annotated[str, Meta(max_length=TEXT_LENGTH_MAX)]
    status: str
    version: int
    current_bid: str | None = None
    current_bidder: str | None = None
    minimum_bid: str | None = None
    bid_count: int = 0
    outcome: str | None = None
    starts_at: Instant | None = None
    ends_at: Instant | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more can happen to the lot."""
        return self.status in ("closed", "cancelled")

    def after(self, event: LotEvent) -> LotState:
        """Return the lot after its next event. Events of unknown types change nothing."""
        return replace(self, version=event.sequence, **_changes(event, self))


class LotEvent(Struct, frozen=True):
    """An event (docs/events.md): a CloudEvent."""

    id: str
    source: str
    type: str
    time: Instant
    sequence: int
    data: dict[str, Any]

    @property
    def gid(self) -> str:
        """The gid of the auction."""
        return self.source.rpartition("/")[2]

    @property
    def ends(self) -> bool:
        """Whether it is the last event of its auction."""
        return self.type in ("auction.closed", "auction.cancelled")


class LotPage(Struct, frozen=True):
    """A page of `GET /auctions`."""

    auctions: list[LotState]
    next: str | None


def _reader(kind: type[T]) -> Callable[[bytes | str], T]:
    """Return a function that decodes a `kind`, and raises msgspec.DecodeError for anything else."""
    decode = msgspec.json.Decoder(kind).decode

    def read(message: bytes | str) -> T:
        try:
            return decode(message)
        except (UnicodeDecodeError, RecursionError) as error:
            raise msgspec.DecodeError(type(error).__name__) from None

    return read


read_lot = _reader(LotState)
read_page = _reader(LotPage)
read_event = _reader(LotEvent)


def first_lot(event: LotEvent) -> LotState | None:
    """Return the lot that an event creates; None for any other event."""
    return LotState(event.gid, "", "open", 0).after(event) if event.type == "auction.created" else None


def _changes(event: LotEvent, lot: LotState) -> Mapping[str, Any]:
    data = event.data
    changes: dict[str, Any]
    match event.type:
        case "auction.created" | "auction.amended":
            changes = {
                "name": str(data.get("name", lot.name))[:TEXT_LENGTH_MAX],
                "status": str(data.get("status", lot.status)),
                "minimum_bid": _text(data.get("minimumBid")),
                "starts_at": _instant(data.get("startsAt")),
                "ends_at": _instant(data.get("endsAt")),
            }
        case "auction.opened":
            changes = {"status": "open"}
        case "bid.placed":
            price = {"current_bid": _text(data.get("amount")), "current_bidder": _text(data.get("bidder"))}
            changes = {
                "bid_count": lot.bid_count + 1,
                "minimum_bid": _text(data.get("minimumBid")),
                "ends_at": _instant(data.get("endsAt")),
                **(price if data.get("leading") else {}),
            }
        case "reserve.met":
            changes = {"current_bid": _text(data.get("amount")), "minimum_bid": _text(data.get("minimumBid"))}
        case "bid.voided":
            changes = {
                "current_bid": _text(data.get("currentBid")),
                "current_bidder": _text(data.get("currentBidder")),
                "minimum_bid": _text(data.get("minimumBid")),
            }
        case "auction.extended":
            changes = {"ends_at": _instant(data.get("endsAt"))}
        case "auction.paused":
            changes = {"starts_at": None, "ends_at": None}  # nobody knows them until it goes on
        case "auction.resumed":
            changes = {"starts_at": _instant(data.get("startsAt")), "ends_at": _instant(data.get("endsAt"))}
        case "auction.closed":
            changes = {"status": "closed", "outcome": _text(data.get("outcome")), "minimum_bid": None}
        case "auction.cancelled":
            changes = {"status": "cancelled", "minimum_bid": None}
        case _:
            changes = {}
    return changes


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _instant(value: object) -> datetime | None:
    try:
        return None if value is None else msgspec.convert(value, Instant)
    except msgspec.ValidationError:
        return None
