"""What the house says, read: lots and events; and what each event makes of a lot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

T = TypeVar("T")
Instant = Annotated[datetime, Meta(tz=True)]
"""An instant that says its offset, as all of a house's do; others cannot be held against a clock."""


TEXT_LENGTH_MAX = 1000
"""Far more than the longest name of a house."""


class Lot(Struct, frozen=True, rename="camel"):
    """An auction as the house shows it (docs/api.md); money stays as it was written. `version` is its last event's number."""

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
        """Whether nothing more can happen to it."""
        return self.status in ("closed", "cancelled")

    def after(self, event: Happening) -> Lot:
        """Return the lot as it is after its next event. What an event does not say stays; unknown types change nothing."""
        return replace(self, version=event.sequence, **_changes(event, self))


class Happening(Struct, frozen=True):
    """An event (docs/events.md): a CloudEvent."""

    id: str
    source: str
    type: str
    time: Instant
    sequence: int
    data: dict[str, Any]

    @property
    def gid(self) -> str:
        """The auction that it happened to."""
        return self.source.rpartition("/")[2]

    @property
    def ends(self) -> bool:
        """Whether it is the last one of its auction."""
        return self.type in ("auction.closed", "auction.cancelled")


class LotPage(Struct, frozen=True):
    """A page of `GET /auctions`."""

    auctions: list[Lot]
    next: str | None


def _reader(kind: type[T]) -> Callable[[bytes | str], T]:
    """Return what reads a `kind`, and raises msgspec.DecodeError for anything else."""
    decode = msgspec.json.Decoder(kind).decode

    def read(said: bytes | str) -> T:
        try:
            return decode(said)
        except (UnicodeDecodeError, RecursionError) as error:
            raise msgspec.DecodeError(type(error).__name__) from None

    return read


read_lot = _reader(Lot)
read_page = _reader(LotPage)
read_event = _reader(Happening)


def first_lot(event: Happening) -> Lot | None:
    """Return a lot from its own first event; None from any other."""
    return Lot(event.gid, "", "open", 0).after(event) if event.type == "auction.created" else None


def _changes(event: Happening, lot: Lot) -> Mapping[str, Any]:
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
        case "auction.extended":
            changes = {"ends_at": _instant(data.get("endsAt"))}
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
