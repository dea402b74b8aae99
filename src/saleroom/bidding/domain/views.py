"""Views: the JSON shapes of auctions, bids and events, the same on every channel.

Money is a string with three decimals; instants are RFC 3339 in UTC with microseconds and `Z`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, inspect, structs

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.events import Event, SoftClose
from saleroom.bidding.domain.increments import TierView
from saleroom.kernel.instants import instant, maybe_instant


class SoftCloseView(Struct, frozen=True):
    """A bid within `window` seconds before the end moves it to `extension` seconds from the bid, never past `cap`."""

    window: int
    extension: int
    cap: str | None


class AuctionView(Struct, frozen=True, kw_only=True, rename="camel"):
    """An auction for the API and the retained MQTT state; `reserve_price` is for its author only.

    `closed_at` is when it was closed, bought or cancelled, None while it runs. `increment` is one step, or the ladder.
    `head` is the hash of the last event of its ledger. `hidden` is there, and true, only while the house hides it: then name
    and description are empty for all but its author and staff, who also see `hidden_for`, the reason. `cancelled_for` is
    the reason for which the house cancelled it, there only if it did. `paused_at` is when its clock stopped, there only while
    it stands still: until it goes on, the auction takes no bids and does not end, and `ends_at` is then later. `stage` is there
    while the auctioneer of a live sale sells it: then `minimum_bid` is the ask, and the only amount that a bid can name.
    """

    gid: str
    name: str
    description: str
    category: str | None
    author: str
    starting_price: str
    current_bid: str | None
    current_bidder: str | None
    current_bid_at: str | None
    minimum_bid: str | None
    bid_count: int
    reserve_met: bool | None
    buy_now_price: str | None
    increment: str | list[TierView]
    soft_close: SoftCloseView | None
    status: str
    outcome: str | None
    starts_at: str | None
    ends_at: str | None
    closed_at: str | None
    created_at: str
    version: int
    head: str
    reserve_price: str | UnsetType = UNSET
    hidden: bool | UnsetType = UNSET
    hidden_for: str | UnsetType = UNSET
    cancelled_for: str | UnsetType = UNSET
    paused_at: str | UnsetType = UNSET
    stage: str | UnsetType = UNSET


class BidView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A bid of the history; `maximum` is for its bidder only.

    `received_at` is when the house received the request (None for an automatic bid), `placed_at` when it was decided.
    `sequence` is that of its event; pages leave it out, and it is missing while the files of an archived lot are.
    `voided` is there only if staff voided the bid: the reason.
    """

    amount: str
    bidder: str
    received_at: str | None
    placed_at: str
    automatic: bool
    sequence: int | UnsetType = UNSET
    maximum: str | UnsetType = UNSET
    voided: str | UnsetType = UNSET


class BidAnswer(Struct, frozen=True, kw_only=True):
    """The answer to an accepted bid; `bid` is None if only the bidder's own maximum rose. `receipt` is signed by the house."""

    bid: BidView | None
    auction: AuctionView
    leading: bool
    receipt: str


def auction_view(auction: Auction, *, own: bool = False, staff: bool = False) -> AuctionView:
    """Return `auction` as anyone may see it, with the reserve price for its author (`own`), or for `staff`."""
    reserve, hidden = auction.reserve_price, auction.is_hidden
    whole = own or staff or not hidden
    return AuctionView(
        gid=auction.gid,
        name=auction.name if whole else "",
        description=auction.description if whole else "",
        category=auction.category,
        author=auction.author.name,
        starting_price=str(auction.starting_price),
        current_bid=_money(auction.current_bid),
        current_bidder=None if auction.leader is None else auction.leader.name,
        current_bid_at=maybe_instant(auction.current_bid_at),
        minimum_bid=_money(auction.minimum_bid),
        bid_count=auction.bid_count,
        reserve_met=auction.reserve_met,
        buy_now_price=_money(auction.buy_now_price),
        increment=auction.ladder.as_json,
        soft_close=None if auction.soft_close is None else _soft_close(auction.soft_close),
        status=auction.status,
        outcome=auction.outcome,
        starts_at=maybe_instant(auction.starts_at),
        ends_at=maybe_instant(auction.ends_at),
        closed_at=maybe_instant(auction.closed_at),
        created_at=instant(auction.created_at),
        version=auction.version,
        head=auction.chain.head,
        reserve_price=str(reserve) if own and reserve is not None else UNSET,
        hidden=True if hidden else UNSET,
        hidden_for=auction.taken_down if auction.taken_down is not None and whole else UNSET,
        cancelled_for=UNSET if auction.cancelled_for is None else auction.cancelled_for,
        paused_at=UNSET if auction.paused_at is None else instant(auction.paused_at),
        stage=UNSET if auction.stage is None else auction.stage,
    )


def view_after_bid(view: AuctionView, auction: Auction) -> AuctionView:
    """Return `auction_view` of an auction whose last event was a bid, from the `view` of the auction before it.

    A batch of bids on one lot thus makes once what no bid changes.
    """
    return structs.replace(
        view,
        current_bid=_money(auction.current_bid),
        current_bidder=None if auction.leader is None else auction.leader.name,
        current_bid_at=maybe_instant(auction.current_bid_at),
        minimum_bid=_money(auction.minimum_bid),
        bid_count=auction.bid_count,
        reserve_met=auction.reserve_met,
        version=auction.version,
        head=auction.chain.head,
        stage=UNSET if auction.stage is None else auction.stage,
    )


def leader_first(bids: Sequence[BidView]) -> list[BidView]:
    """Return bids from the highest to the lowest, of equal ones the earlier first: it leads (docs/rules.md, rule 4c).

    `bids` come newest first, as in the history, where the later of two equal bids stands above the one that leads.
    """
    oldest_first = bids[::-1]  # and equal ones stay so, as sorting is stable
    return sorted(oldest_first, key=lambda bid: -Decimal(bid.amount))


def with_whole_ties(bids: Sequence[BidView], count: int) -> list[BidView]:
    """Return the first `count` of bids that come newest first, one less if its equal bid would be missing."""
    torn = 1 < count < len(bids) and bids[count - 1].amount == bids[count].amount
    return list(bids[: count - torn])


def is_tied(auction: AuctionView, bidder: str, amount: str | None) -> bool:
    """Whether another bidder leads with a bid equal to this bidder's last one, which came later (docs/rules.md, rule 4c).

    `amount` is that of the last bid, None if there is none.
    """
    return bidder != auction.current_bidder and amount is not None and amount == auction.current_bid


def last_amount(bids: Sequence[BidView], bidder: str) -> str | None:
    """Return the amount of this bidder's newest bid that stands among `bids`, which come newest first; None if none does."""
    return next((bid.amount for bid in bids if bid.bidder == bidder and not bid.voided), None)


def event_parts(event: Event) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the public and the private members of an event, ready for JSON."""
    public: dict[str, Any] = msgspec.to_builtins(event, builtin_types=(datetime,))
    del public["at"]
    for wire in _composed(type(event)):
        public[wire] = _plain(public[wire])
    for wire in event.OPTIONAL:
        if public[wire] is None:
            del public[wire]
    private = {wire: public.pop(wire) for wire in _private(type(event)) if wire in public}
    return public, private


def _plain(value: Any) -> Any:
    """Return a value with its instants as text, and lists for tuples."""
    if type(value) is datetime:
        return instant(value)
    if type(value) is dict:
        return {wire: _plain(each) for wire, each in value.items()}
    return [_plain(each) for each in value] if type(value) is tuple else value


@cache
def _composed(kind: type[Event]) -> tuple[str, ...]:
    """Return the names in JSON of the members of a kind of event that `_plain` may change, as their types say."""
    members = (member for member in cast("inspect.StructType", inspect.type_info(kind)).fields if member.name != "at")
    return tuple(member.encode_name for member in members if _may_change(member.type))


def _may_change(kind: inspect.Type) -> bool:
    match kind:
        case inspect.UnionType():
            return any(map(_may_change, kind.types))
        case inspect.StructType():
            return any(_may_change(member.type) for member in kind.fields)
    return isinstance(kind, inspect.DateTimeType | inspect.VarTupleType)


@cache
def _private(kind: type[Event]) -> tuple[str, ...]:
    """Return the names in JSON of the private members of a kind of event."""
    return tuple(wire for name, wire in _names(kind) if name in kind.PRIVATE)


def _names(kind: type[Event]) -> Iterable[tuple[str, str]]:
    """Return the members of a kind of event, each with its name in JSON."""
    return zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)


def sealed_part(kind: type[Event], private: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an event's private part that the ledger commits to: all but users' numbers and seeds."""
    return {wire: private[wire] for wire in _sealed(kind) if wire in private}


@cache
def _sealed(kind: type[Event]) -> list[str]:
    return [wire for name, wire in _names(kind) if name in kind.SEALED]


class CloudEvent(Struct, frozen=True, kw_only=True):
    """A public event as a CloudEvents 1.0 object (docs/events.md); `commitment` and `hash` are the ledger's.

    The members stand in the order of canonical JSON, so that each bid is written without sorting them.
    """

    commitment: str | UnsetType = UNSET
    data: Mapping[str, Any] | Raw
    datacontenttype: str = "application/json"
    hash: str | UnsetType = UNSET
    id: str
    sequence: int
    source: str
    specversion: str = "1.0"
    time: str
    type: str


def cloud_event(
    gid: str, version: int, event: Event, data: Mapping[str, Any] | Raw, commitment: str | UnsetType = UNSET
) -> CloudEvent:
    """Return a public event with this `data`, without its hash."""
    return CloudEvent(
        commitment=commitment,
        data=data,
        id=f"{gid}/{version}",
        sequence=version,
        source=f"/auctions/{gid}",
        time=instant(event.at),
        type=event.TYPE,
    )


def event_from_parts(kind: str, at: datetime, public: Mapping[str, Any], private: Mapping[str, Any]) -> Event:
    """Return the event with these parts, as `event_parts` gives them. Raises KeyError or msgspec.ValidationError."""
    event: Event = msgspec.convert({"at": at, **public, **private}, EVENTS[kind])
    return event


def _money(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


def _soft_close(rule: SoftClose) -> SoftCloseView:
    return SoftCloseView(rule.window, rule.extension, maybe_instant(rule.cap))
