"""Placing a bid: the rules of docs/rules.md, "Placing a bid", number by number."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from msgspec import Struct

from saleroom.bidding.domain.auction import Auction, Status, refuse_if_over, refuse_if_taken_down
from saleroom.bidding.domain.block import FLOOR
from saleroom.bidding.domain.closing import close, open_if_due
from saleroom.bidding.domain.errors import (
    AlreadyLeading,
    AskChanged,
    AuctionNotStarted,
    BidTooLow,
    BuyNowUnavailable,
    OwnAuction,
)
from saleroom.bidding.domain.events import (
    AuctionExtended,
    BidPlaced,
    BidPrices,
    Channel,
    Event,
    MaximumRaised,
    Reason,
    ReserveMet,
)
from saleroom.bidding.domain.pausing import refuse_if_paused
from saleroom.bidding.domain.preconditions import Precondition, refuse_if_changed
from saleroom.kernel.money import LIMIT
from saleroom.kernel.parties import Party


class _Circumstances(Struct, frozen=True, kw_only=True):
    received_at: datetime | None = None
    seen: Precondition | None = None
    channel: Channel | None = None


class BidRequest(_Circumstances, frozen=True):
    """A bidder's request: an `amount` to be shown, a `maximum` to bid up to, or both with amount <= maximum.

    `received_at` is when the house received it: evidence, which decides nothing. `seen` is the state that the bidder has seen.
    `channel` is there if a clerk takes the bid in the hall or by telephone.
    """

    amount: Decimal | None
    maximum: Decimal | None

    @property
    def limit(self) -> Decimal:
        """The most the bidder would pay: m of docs/rules.md."""
        limit = self.maximum if self.maximum is not None else self.amount
        assert limit is not None, "a request has at least one of the two; the door has checked it"
        return limit

    @property
    def asked(self) -> BidPrices | None:
        """The prices as the log keeps them; None for a purchase, which names no price."""
        return None if self.amount is self.maximum is None else BidPrices(self.amount, self.maximum)


PURCHASE = BidRequest(None, None)
"""A request to buy now without a precondition."""


def place_bid(auction: Auction, bidder: Party, request: BidRequest, now: datetime) -> list[Event]:
    """Return what happens when `bidder` asks for `request` at `now`.

    Raises AuctionOver, TakenDown, Paused, AuctionNotStarted, OwnAuction, PreconditionFailed, TermsChanged, AlreadyLeading,
    AskChanged or BidTooLow.
    """
    now = auction.not_before(now)
    stored = auction
    opening, auction = _admit(stored, bidder, now, request.received_at)
    refuse_if_changed(stored, request.seen)
    if _leads(auction, bidder):
        return opening + _raise_own(auction, request, now)
    limit = request.limit
    least = auction.minimum_bid
    if auction.block is not None and request.amount != least:
        raise AskChanged(minimum_bid=least)
    if least is None or limit < least or (request.amount is not None and request.amount < least):
        raise BidTooLow(minimum_bid=least)
    return opening + _record_bids(auction, bidder, request, now) + soft_close(auction, now)


def buy_now(auction: Auction, buyer: Party, now: datetime, request: BidRequest = PURCHASE) -> list[Event]:
    """Return what happens when `buyer` buys at the buy-now price: a bid at that price, and the close.

    `request` names no price to bid; its `seen` may name the one to pay. Raises AuctionOver, TakenDown, Paused,
    AuctionNotStarted, OwnAuction, BuyNowUnavailable, PreconditionFailed or TermsChanged.
    """
    now = auction.not_before(now)
    stored = auction
    opening, auction = _admit(stored, buyer, now, request.received_at)
    price = auction.buy_now_price
    if price is None or auction.leader is not None or auction.block is not None:
        raise BuyNowUnavailable(minimum_bid=auction.minimum_bid)
    refuse_if_changed(stored, request.seen)
    bid = _bid(auction, buyer, price, price, now, request)
    return [*opening, bid, close(auction.after(bid), now)]


def decide_again(auction: Auction, bidder: Party, request: BidRequest, now: datetime) -> list[Event]:
    """Decide an accepted request once more, after others were voided: rules 2, 4 and 5, which refuse nothing here.

    A request of the one who leads by then places no bid: it only raises their maximum, if it is higher.
    """
    if not _leads(auction, bidder):
        return _record_bids(auction, bidder, request, now)
    if auction.maximum is None or request.limit <= auction.maximum:
        return []
    return _raise_own(auction, BidRequest(None, request.limit), now)


def _admit(auction: Auction, bidder: Party, now: datetime, received_at: datetime | None) -> tuple[list[Event], Auction]:
    """Rule 1, in its order. A scheduled auction whose start has come opens here if the closer has not opened it yet."""
    refuse_if_over(auction, now, received_at)
    refuse_if_taken_down(auction)
    refuse_if_paused(auction)
    opening = open_if_due(auction, now)
    auction = auction.after_all(opening)
    if auction.status == Status.SCHEDULED:
        raise AuctionNotStarted(starts_at=auction.starts_at)
    if bidder.id == auction.author.id:
        raise OwnAuction
    return opening, auction


def _leads(auction: Auction, bidder: Party) -> bool:
    """Return whether a bid of `bidder` would be one against themselves. The floor is many people."""
    return auction.leader is not None and auction.leader.id == bidder.id and bidder.name != FLOOR


def _raise_own(auction: Auction, request: BidRequest, now: datetime) -> list[Event]:
    """Rule 2: nobody bids against themselves by accident, and a maximum is never lowered.

    An `amount` counts only if it stands alone; beside a higher `maximum` only the limit rises.
    """
    leader, maximum, price = auction.leader, auction.maximum, auction.current_bid
    assert leader is not None and maximum is not None and price is not None, "there is a leader"
    if request.maximum is None or request.maximum <= maximum:
        raise AlreadyLeading(minimum_bid=auction.minimum_bid)
    raised = MaximumRaised(at=now, maximum=request.maximum, received_at=request.received_at)
    lifted = _lift(auction, price, request.maximum)
    if lifted == price:
        return [raised]
    met = ReserveMet(at=now, amount=lifted, bidder=leader.name, minimum_bid=auction.least_at(lifted))
    return [raised, met]


def _record_bids(auction: Auction, bidder: Party, request: BidRequest, now: datetime) -> list[Event]:
    """Rule 4."""
    limit = request.limit
    if auction.leader is None or auction.maximum is None or auction.current_bid is None:
        price = auction.starting_price if request.amount is None else request.amount
        return [_bid(auction, bidder, price, limit, now, request)]
    if limit > auction.maximum:
        return _outbid(auction, bidder, request, now)
    return _held_off(auction, bidder, request, now)


def _outbid(auction: Auction, bidder: Party, request: BidRequest, now: datetime) -> list[Event]:
    """Rule 4b: m > M. If m < M + inc(M), the leader is outbid by less than a step."""
    leader, maximum, limit = auction.leader, auction.maximum, request.limit
    assert leader is not None and maximum is not None and auction.current_bid is not None, "there is a leader"
    bids: list[Event] = []
    if maximum > auction.current_bid:
        bids.append(_record(auction, leader, maximum, maximum, now))
    price = min(limit, auction.ladder.next_above(maximum) or LIMIT)
    if request.amount is not None:
        price = max(request.amount, price)
    bids.append(_bid(auction, bidder, price, limit, now, request))
    return bids


def _held_off(auction: Auction, bidder: Party, request: BidRequest, now: datetime) -> list[Event]:
    """Rule 4c: m <= M, the leader stays; at m = M the earlier bidder keeps the lead at that price."""
    leader, maximum, limit = auction.leader, auction.maximum, request.limit
    assert leader is not None and maximum is not None and auction.current_bid is not None, "there is a leader"
    # A bid that is decided again may be below the price, if the steps of a ladder get smaller.
    price = max(auction.current_bid, min(maximum, auction.ladder.next_above(limit) or LIMIT))
    answer = _bid(auction, leader, price, maximum, now)
    challenge = _record(auction, bidder, limit, limit, now, request, leading=False, standing=answer.amount)
    return [answer, challenge] if limit == maximum else [challenge, answer]


def _bid(
    auction: Auction,
    bidder: Party,
    price: Decimal,
    limit: Decimal,
    now: datetime,
    request: BidRequest | None = None,
) -> BidPlaced:
    """Return the new leading bid, lifted to the reserve if the limit reaches it (rule 5)."""
    return _record(auction, bidder, _lift(auction, price, limit), limit, now, request)


def _record(
    auction: Auction,
    bidder: Party,
    amount: Decimal,
    limit: Decimal,
    now: datetime,
    request: BidRequest | None = None,
    *,
    leading: bool = True,
    standing: Decimal | None = None,
) -> BidPlaced:
    """Return a bid for the log; it is automatic without a `request`. `standing` is the price if this bid does not lead."""
    price = amount if leading else standing
    return BidPlaced(
        at=now,
        amount=amount,
        bidder=bidder.name,
        bidder_id=bidder.id,
        automatic=request is None,
        leading=leading,
        minimum_bid=auction.least_above(price),
        reserve_met=auction.met_at(price),
        ends_at=auction.ends_at,
        maximum=limit,
        asked=None if request is None else request.asked,
        received_at=None if request is None else request.received_at,
        channel=None if request is None else request.channel,
    )


def _lift(auction: Auction, price: Decimal, limit: Decimal) -> Decimal:
    """Rule 5: if M >= R and P < R, P rises to R at once."""
    reserve = auction.reserve_price
    return reserve if reserve is not None and price < reserve <= limit else price


def soft_close(auction: Auction, now: datetime) -> list[Event]:
    """Rule 6. It applies to each recorded bid, as each changes the price or the leader, and to each voided one."""
    rule, end = auction.soft_close, auction.ends_at
    if rule is None or end is None:
        return []
    shown = auction.clock(now)
    if end - shown > timedelta(seconds=rule.window):
        return []
    later = shown + timedelta(seconds=rule.extension)
    if rule.cap is not None:
        later = min(later, rule.cap)
    return [AuctionExtended(at=now, ends_at=later, reason=Reason.SOFT_CLOSE)] if later > end else []
