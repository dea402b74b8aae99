"""A lot of a live sale and the acts on it, for tests of the block."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from saleroom.bidding.domain import bidding, calling, voiding
from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.block import FLOOR
from saleroom.bidding.domain.events import Channel, Event
from saleroom.bidding.domain.selling import Draft, create
from saleroom.bidding.domain.voiding import BidBook
from saleroom.kernel.parties import Party
from tests.bidding.domain.examples import ADA, after, eur
from tests.bidding.domain.playing import T0

HALL = Party(99, FLOOR)


class Night:
    """A lot of a live sale, its whole log, and the acts on it, a second apart."""

    def __init__(self, **terms: Any) -> None:
        money = {name: eur(value) for name, value in terms.items() if name.endswith("_price")}
        draft = Draft(**{"name": "Clock", "starting_price": eur("100"), "soft_close": None, **terms, **money})
        created = create("gid", ADA, draft, T0)
        self.log: list[Event] = [created]
        self.auction = begin(7, created)

    @property
    def now(self) -> datetime:
        """The instant of the next act."""
        return after(len(self.log))

    def add(self, made: list[Event]) -> Auction:
        """Let `made` happen."""
        self.log += made
        self.auction = self.auction.after_all(made)
        return self.auction

    def do(self, act: Callable[..., list[Event]], *said: Any, **more: Any) -> Auction:
        """Do an act that needs the auction alone."""
        return self.add(act(self.auction, *said, self.now, **more))

    def call(self) -> Auction:
        """Put the lot on the block."""
        return self.do(calling.call)

    def bid(self, bidder: Party, amount: str | None = None, maximum: str | None = None) -> Auction:
        """Bid online, at the ask unless an amount or a maximum says otherwise."""
        shown = self.auction.ask if amount is None and maximum is None else None if amount is None else eur(amount)
        request = BidRequest(shown, None if maximum is None else eur(maximum))
        return self.add(bidding.place_bid(self.auction, bidder, request, self.now))

    def take(self, bidder: Party = HALL) -> Auction:
        """Take the ask for somebody in the hall."""
        request = BidRequest(self.auction.ask, None, channel=Channel.FLOOR)
        return self.add(bidding.place_bid(self.auction, bidder, request, self.now))

    def name(self, bidder: Party) -> Auction:
        """Name the bidder of the floor's bid."""
        return self.add(calling.name_bidder(self.auction, BidBook(self.log), bidder, self.now))

    def retract(self, bidder: Party) -> Auction:
        """Take the bid of a bidder back."""
        return self.add(calling.retract(self.auction, BidBook(self.log), bidder, self.now))

    def undo(self) -> Auction:
        """Undo the last act."""
        return self.add(calling.undo(self.auction, self.log, self.now))

    def void(self, version: int) -> Auction:
        """Void the bid at a version, as staff do."""
        return self.add(voiding.void(self.auction, BidBook(self.log), version, "A slip.", self.now))


def standing(auction: Auction) -> tuple[Any, ...]:
    """All that acts change and undoing restores."""
    return (
        auction.status,
        auction.outcome,
        auction.stage,
        auction.ask,
        auction.leader,
        auction.current_bid,
        auction.current_bid_at,
        auction.maximum,
    )


def told(auction: Auction) -> tuple[str | None, Decimal | None, Decimal | None]:
    """The leader's name, the price and the ask."""
    return None if auction.leader is None else auction.leader.name, auction.current_bid, auction.ask
