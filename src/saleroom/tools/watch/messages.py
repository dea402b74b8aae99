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
LABEL_LENGTH_MAX = 64
"""Far longer than the longest name of a house."""


Gid = Annotated[str, Meta(max_length=64)]
Label = Annotated[str, Meta(max_length=LABEL_LENGTH_MAX)]


class LotState(Struct, frozen=True, rename="camel"):
    """An auction as the house shows it (docs/api.md). Money is text; `version` is the number of the last event.

    `stage` is how far it has come on the block of a live sale. `label` is its number in the sale that is watched.
    """

    gid: Gid
    name: Annotated[str, Meta(max_length=TEXT_LENGTH_MAX)]
    status: str
    version: int
    current_bid: str | None = None
    current_bidder: str | None = None
    minimum_bid: str | None = None
    bid_count: int = 0
    outcome: str | None = None
    stage: str | None = None
    label: Label = ""
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
        """The gid of the auction or the sale."""
        return self.source.rpartition("/")[2]

    @property
    def ends(self) -> bool:
        """Whether it is the last event of its auction or sale."""
        return self.type in ("auction.closed", "auction.cancelled", "sale.closed", "sale.cancelled")

    @property
    def of_sale(self) -> bool:
        """Whether it is an event of a sale of many lots itself."""
        return self.source.startswith("/sales/")


class SaleState(Struct, frozen=True):
    """A sale of many lots as the house shows it. `version` is the number of the last event, `called` the lot called last."""

    gid: Gid
    title: Annotated[str, Meta(max_length=TEXT_LENGTH_MAX)]
    status: str
    version: int
    called: Gid | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more can happen in the sale."""
        return self.status in ("closed", "cancelled")

    def after(self, event: LotEvent) -> SaleState:
        """Return the sale after its next event."""
        title = str(event.data.get("title", self.title))[:TEXT_LENGTH_MAX]
        return replace(self, version=event.sequence, title=title, status=_STATUS.get(event.type, self.status))


_STATUS = {
    "sale.running": "running",
    "sale.paused": "paused",
    "sale.resumed": "running",
    "sale.closed": "closed",
    "sale.cancelled": "cancelled",
}
"""The status of a sale after an event that changes it."""


class LotOfSale(Struct, frozen=True):
    """A lot of a sale of many; `auction` is None for one that nobody can bid on."""

    gid: Gid
    label: Label
    auction: LotState | None = None


class LotsPage(Struct, frozen=True):
    """A page of `GET /sales/{gid}/lots`."""

    lots: list[LotOfSale]
    next: str | None


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
read_sale = _reader(SaleState)
read_lots = _reader(LotsPage)
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
                **({} if lot.stage is None else {"stage": "called"}),
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
            changes = {"status": "closed", "outcome": _text(data.get("outcome")), "minimum_bid": None, "stage": None}
        case "auction.cancelled":
            changes = {"status": "cancelled", "minimum_bid": None}
        case _:
            changes = _on_the_block(event)
    return changes


def _on_the_block(event: LotEvent) -> dict[str, Any]:
    """Return what an act of the clerk changes; nothing for an event of an unknown type."""
    data = event.data
    asked = {"minimum_bid": _text(data.get("minimumBid"))}
    stands = {"current_bid": _text(data.get("currentBid")), "current_bidder": _text(data.get("currentBidder"))}
    stage = {"stage": _text(data.get("stage"))}
    changes: dict[str, dict[str, Any]] = {
        "auction.called": {**asked, "stage": "called"},
        "ask.set": asked,
        "auction.warned": stage,
        "bidder.named": {"current_bidder": _text(data.get("bidder"))},
        "bid.retracted": {**asked, "current_bid": None, "current_bidder": None, "stage": "called"},
        "auction.skipped": {"stage": None},
        "act.undone": {**asked, **stands, **stage, "status": "open", "outcome": None},
        "auction.reopened": {"status": "open", "outcome": None, "stage": None},
        "auction.decided": {"outcome": _text(data.get("outcome"))},
    }
    return changes.get(event.type, {})


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _instant(value: object) -> datetime | None:
    try:
        return None if value is None else msgspec.convert(value, Instant)
    except msgspec.ValidationError:
        return None
