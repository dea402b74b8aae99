"""The auctions that the examples of messages come from: the rules themselves decide them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache

from saleroom.bidding.domain import bidding, calling, closing, moderation, pausing, selling, voiding
from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.block import FLOOR
from saleroom.bidding.domain.events import Channel, Event, ShownFile, ShownPhoto
from saleroom.bidding.domain.ledger import enter
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.service.recording import Step, steps
from saleroom.kernel.chain import PSEUDONYMS
from saleroom.kernel.parties import Party

GID = "k3X9mQ2vTa1_"
"""The gid in all examples."""
OPENS = datetime(2026, 11, 21, 12, tzinfo=UTC)
ADA, BEN, CYD = Party(1, "ada"), Party(2, "ben"), Party(3, "cyd")
_SEED = PSEUDONYMS + "5a1e" * 16


@cache
def happenings() -> tuple[Step, ...]:
    """Return the events of a timed auction, of a cancelled one, and of a lot on the block, each with the auction after it."""
    return (*_timed(), *_night())


def _timed() -> tuple[Step, ...]:
    opens, hour, minute, moment = OPENS, timedelta(hours=1), timedelta(minutes=1), timedelta(milliseconds=3)
    terms = Draft(
        name="Longcase clock",
        starting_price=Decimal("100.000"),
        reserve_price=Decimal("150.000"),
        starts_at=opens,
        ends_at=opens + hour,
    )
    created = selling.create(GID, ADA, terms, opens - hour, _SEED)
    first, entry = enter(begin(1, created), created)
    story: list[Step] = [(first, created, entry)]

    def happens(events: Iterable[Event]) -> Auction:
        story.extend(steps(story[-1][0], events))
        return story[-1][0]

    def bids(auction: Auction, bidder: Party, amount: str | None, maximum: str | None, at: datetime) -> Auction:
        request = BidRequest(
            *(None if text is None else Decimal(text) for text in (amount, maximum)), received_at=at - moment
        )
        return happens(bidding.place_bid(auction, bidder, request, at))

    auction = happens(selling.amend(first, ADA, {"description": "Walnut, about 1740"}, opens - 30 * minute))
    photo = ShownPhoto("d8Zk2QmP0aV3xT1y", (ShownFile(400, "5a" * 32), ShownFile(800, "1e" * 32)))
    auction = happens(selling.arrange(auction, ADA, [photo], opens - 20 * minute))
    auction = bids(auction, BEN, None, "120.000", opens + minute)
    auction = bids(auction, BEN, None, "200.000", opens + 2 * minute)
    auction = bids(auction, CYD, "160.000", None, opens + hour - minute)
    auction = bids(auction, CYD, "999.000", None, opens + hour)
    book = BidBook(event for _, event, _ in story)
    slip = "The bidder asked for it: a slip of the hand."
    auction = happens(voiding.void(auction, book, auction.version - 1, slip, opens + hour + moment))
    auction = happens(moderation.hide(auction, "It may be stolen.", opens + hour + 2 * moment))
    auction = happens(moderation.show(auction, opens + hour + 3 * moment))
    auction = happens(pausing.pause(auction, opens + hour + 4 * moment))
    auction = happens(pausing.resume(auction, opens + hour + minute))
    happens(closing.settle(auction, opens + 2 * hour))
    cancelled = moderation.cancel(first, "The seller has withdrawn the clock.", opens - 30 * minute)
    return (*story, *steps(first, cancelled))


def _night() -> tuple[Step, ...]:
    """A lot that the floor and a bidder online bid on; its hammer is undone, falls below the reserve, and is taken back."""
    reserve = Decimal("500.000")
    terms = Draft(name="Hall chair", starting_price=Decimal("100.000"), reserve_price=reserve)
    created = selling.create(GID, ADA, terms, OPENS, _SEED)
    first, entry = enter(begin(2, created), created)
    story: list[Step] = [(first, created, entry)]
    floor, paddle = Party(4, FLOOR), Party(5, "#12")

    def now() -> datetime:
        return OPENS + timedelta(seconds=len(story))

    def happens(events: Iterable[Event]) -> Auction:
        story.extend(steps(story[-1][0], events))
        return story[-1][0]

    def log() -> list[Event]:
        return [event for _, event, _ in story]

    def bids(auction: Auction, bidder: Party, channel: Channel | None) -> Auction:
        return happens(bidding.place_bid(auction, bidder, BidRequest(auction.ask, None, channel=channel), now()))

    auction = happens(calling.call(first, now()))
    auction = happens(calling.skip(auction, now()))
    auction = happens(calling.call(auction, now()))
    auction = happens(calling.ask(auction, Decimal("200.000"), now()))
    auction = bids(auction, floor, Channel.FLOOR)
    auction = happens(calling.name_bidder(auction, BidBook(log()), paddle, now()))
    auction = bids(auction, BEN, None)
    auction = happens(calling.retract(auction, BidBook(log()), BEN, now()))
    auction = happens(calling.undo(auction, log(), now()))
    auction = happens(calling.warn(auction, now()))
    auction = happens(calling.sell_conditionally(auction, now()))
    auction = happens(calling.reopen(auction, "The bidder in the hall was not seen.", now()))
    auction = happens(calling.call(auction, now()))
    auction = happens(calling.sell_conditionally(auction, now()))
    happens(calling.decide(auction, now(), accepted=True))
    return tuple(story)
