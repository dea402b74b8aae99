"""Auctions and bids for examples, with bids in plain words: `bob 100`, `bob up to 150`, `bob 120 up to 150`."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.bidding import BidRequest, place_bid
from saleroom.bidding.domain.events import BidPlaced, Event, SoftClose
from saleroom.bidding.domain.increments import DEFAULT_LADDER
from saleroom.bidding.domain.selling import Draft
from saleroom.kernel.errors import Refusal
from saleroom.kernel.parties import Party
from tests.bidding.domain.playing import T0, party
from tests.histories import PEOPLE

ADA, BOB, CY, DEE, EVE = (party(who) for who in range(len(PEOPLE)))
BY_NAME = dict(zip(PEOPLE, (ADA, BOB, CY, DEE, EVE), strict=True))

NEW_AUCTION = {
    "gid": "gid",
    "name": "Longcase clock",
    "description": "",
    "category": None,
    "author": "ada",
    "startingPrice": "100.000",
    "currentBid": None,
    "currentBidder": None,
    "currentBidAt": None,
    "minimumBid": "100.000",
    "bidCount": 0,
    "reserveMet": None,
    "buyNowPrice": None,
    "increment": [{"from": str(tier.start), "step": str(tier.step)} for tier in DEFAULT_LADDER.tiers],
    "softClose": {"window": 120, "extension": 120, "cap": None},
    "status": "open",
    "outcome": None,
    "startsAt": None,
    "endsAt": None,
    "closedAt": None,
    "createdAt": "2026-11-21T12:00:00.000000Z",
    "version": 1,
    "head": "0" * 64,
}
"""An auction of `an_auction()` as everyone sees it: as in docs/api.md, in its order."""


def eur(text: str) -> Decimal:
    """An amount with three decimals."""
    return Decimal(text).quantize(Decimal("0.001"))


def after(seconds: float = 0, **more: float) -> datetime:
    """The instant that is so long after the auction's creation."""
    return T0 + timedelta(seconds=seconds, **more)


def window(extension: int, cap: float | None = None) -> SoftClose:
    """A soft close with a window of 120 seconds; its cap is in seconds after the auction's creation."""
    return SoftClose(120, extension, None if cap is None else after(cap))


def an_auction(**terms: Any) -> Auction:
    """An auction by ada that starts at 100 with the default ladder, unless `terms` say otherwise; money as text."""
    money = {name: eur(value) for name, value in terms.items() if name.endswith("_price")}
    draft = Draft(**{"name": "Longcase clock", "starting_price": eur("100"), **terms, **money})
    return begin(7, selling.create("gid", ADA, draft, T0))


def said(bid: str) -> tuple[Party, BidRequest]:
    """The bidder and the request of a bid in words."""
    name, _, limits = bid.partition(" ")
    amount, _, maximum = limits.partition("up to ")
    return BY_NAME[name], BidRequest(eur(amount) if amount else None, eur(maximum) if maximum else None)


def place(auction: Auction, *bids: str, now: datetime = T0) -> tuple[Auction, list[Event]]:
    """Place all `bids` at `now`; return the auction afterwards and its new events. Raises Refusal."""
    log: list[Event] = []
    for bid in bids:
        events = place_bid(auction, *said(bid), now)
        auction = auction.after_all(events)
        log += events
    return auction, log


def shown(event: Event) -> str:
    """A recorded bid as one line: `bob 110`, `bob 110 automatic`."""
    assert isinstance(event, BidPlaced)
    return f"{event.bidder} {event.amount:f}".replace(".000", "") + (" automatic" if event.automatic else "")


def refusal(action: Any, *arguments: Any) -> Refusal | None:
    """The refusal that a call raises, or None."""
    try:
        action(*arguments)
    except Refusal as refused:
        return refused
    return None
