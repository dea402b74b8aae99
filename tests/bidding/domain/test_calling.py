"""Selling a lot from the block: examples of each rule, and properties of any evening."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from msgspec import structs

from saleroom.bidding.domain import bidding, calling, closing, moderation, pausing
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.block import FLOOR
from saleroom.bidding.domain.block_events import Stage
from saleroom.bidding.domain.errors import (
    AlreadyLeading,
    AskChanged,
    AskTooLow,
    AuctionNotStarted,
    AuctionOver,
    BelowReserve,
    BidStands,
    BuyNowUnavailable,
    EndsByItself,
    NeedsPaddle,
    NoBidStands,
    NotClosed,
    NotConditional,
    NothingToUndo,
    NotLeading,
    NotOfFloor,
    NotOnBlock,
    OnBlock,
    OwnAuction,
    Paused,
    TakenDown,
)
from saleroom.bidding.domain.events import BidPlaced, Channel, Event, Outcome
from saleroom.bidding.domain.retrace import RuleViolation, retrace
from saleroom.kernel.errors import Refusal
from saleroom.kernel.parties import Party
from tests.bidding.domain.examples import ADA, BOB, CY, DEE, after, eur
from tests.bidding.domain.nights import Night, standing, told

HALL = Party(99, FLOOR)


def test_the_book_sets_the_first_ask() -> None:
    """Absentee maxima compete before the call; at a tie the earlier one leads."""
    night = Night()
    night.bid(BOB, maximum="150")
    night.bid(CY, maximum="150")
    assert ("bob", eur("150"), eur("160")) == told(night.call())


def test_a_bid_on_the_block_names_the_ask() -> None:
    """Another amount is refused with the ask, and never rounded; a maximum may come with it, and a leader may raise theirs."""
    night = Night()
    night.call()
    for amount, maximum in (("99", None), ("110", None), (None, "500")):
        with pytest.raises(AskChanged) as caught:
            night.bid(BOB, amount, maximum)
        assert {"minimum_bid": eur("100")} == caught.value.facts
    night.bid(BOB, "100", "300")
    with pytest.raises(AlreadyLeading):
        night.bid(BOB)
    night.bid(BOB, maximum="400")
    night.do(calling.ask, eur("200"))
    assert ("bob", eur("210"), eur("220")) == told(night.take()), "the maximum holds the hall off"


def test_the_floor_bids_after_itself() -> None:
    """The floor is many people: it takes one ask after the other, and pays each."""
    night = Night()
    night.call()
    night.take()
    assert (FLOOR, eur("110"), eur("120")) == told(night.take())


@pytest.mark.parametrize(("price", "leader"), [("500", "#floor"), ("105", "#floor"), ("1", "#floor")])
def test_the_auctioneer_asks_for_any_price_above_the_present_one(price: str, leader: str) -> None:
    """A jump, half a step, or less than the start; after a bid at it the increments go on."""
    night = Night()
    if price == "105":
        night.bid(BOB, maximum="100")
    night.call()
    night.do(calling.ask, eur(price))
    after_bid = night.take()
    assert (leader, eur(price)) == told(after_bid)[:2]
    assert night.auction.ladder.next_above(eur(price)) == after_bid.ask


def test_a_bid_takes_the_warning_back() -> None:
    """So does another ask; a third warning changes nothing."""
    night = Night()
    night.call()
    assert Stage.FAIR_WARNING is night.do(calling.warn).stage
    assert Stage.FINAL_CALL is night.do(calling.warn).stage
    assert [] == calling.warn(night.auction, night.now)
    assert Stage.CALLED is night.take().stage
    night.do(calling.warn)
    assert Stage.CALLED is night.do(calling.ask, eur("300")).stage


def test_a_retraction_revives_no_bid() -> None:
    """No bid stands after it, and its price is asked for again; the clerk's correction does restore what stood."""
    night = Night()
    night.bid(BOB, maximum="150")
    night.call()
    night.do(calling.ask, eur("200"))
    before = standing(night.auction)
    night.take(CY)
    assert (None, None, eur("200")) == told(night.retract(CY))
    assert ("cy", eur("200"), eur("210")) == told(night.undo()) or ("cyd", eur("200"), eur("210")) == told(
        night.auction
    )
    night.undo()
    assert before == standing(night.auction)
    retrace(night.log)


def test_a_bid_in_the_middle_is_corrected() -> None:
    """The hall's bid was a mistake, and somebody online has bid since: without it they have the lot for less."""
    night = Night()
    night.bid(BOB, maximum="100")
    night.call()
    night.take()
    night.bid(CY, "120", "150")
    assert (CY.name, eur("120"), eur("130")) == told(night.undo())
    night.bid(DEE)
    assert (CY.name, eur("140")) == told(night.auction)[:2]
    with pytest.raises(NothingToUndo):
        night.undo()
    retrace(night.log)


def test_a_void_since_an_act_lets_the_ask_follow_the_increments() -> None:
    """The act is undone, and its ask belonged to a bid that no longer stands. A ledger from before that rule verifies."""
    night = Night()
    night.call()
    night.bid(BOB)
    night.bid(CY)
    night.do(calling.warn)
    night.void(4)
    assert (BOB.name, eur("100"), eur("110")) == told(night.undo())
    night.do(calling.ask, eur("500"))
    night.do(calling.skip)
    night.void(3)
    assert (None, None, eur("100")) == told(night.undo())
    retrace(night.log)
    older = structs.replace(night.log[-1], minimum_bid=eur("500"))
    retrace([*night.log[:-1], older])
    with pytest.raises(RuleViolation):
        retrace([*night.log[:-1], structs.replace(older, minimum_bid=eur("400"))])


def test_the_hammer_is_undone_and_taken_back() -> None:
    """Before the next call an undo opens the lot where it was; afterwards a reopening does, with a reason."""
    night = Night(reserve_price="200")
    night.call()
    night.take(BOB)
    night.do(calling.warn)
    before = standing(night.auction)
    with pytest.raises(BelowReserve):
        night.do(calling.sell)
    assert Outcome.CONDITIONAL is night.do(calling.sell_conditionally).outcome
    assert not night.auction.unsold
    night.undo()
    assert before == standing(night.auction)
    night.do(calling.sell_conditionally)
    night.do(calling.reopen, "He was not seen.")
    assert (Status.OPEN, None, None) == standing(night.auction)[:3]
    night.call()
    night.do(calling.sell_conditionally)
    with pytest.raises(TakenDown):
        calling.decide(structs.replace(night.auction, taken_down="Stolen."), night.now, accepted=True)
    assert Outcome.RESERVE_NOT_MET is night.do(calling.decide, accepted=False).outcome
    retrace(night.log)


def test_a_cancelled_lot_stays_cancelled() -> None:
    """Its acts are not undone, and it is not reopened."""
    night = Night()
    night.call()
    night.take(BOB)
    night.do(moderation.cancel, "Broken.")
    with pytest.raises(AuctionOver):
        night.undo()
    with pytest.raises(NotClosed):
        night.do(calling.reopen, "Why.")


def test_acts_that_are_refused() -> None:
    """Each act names what keeps it from being done."""
    night = Night(buy_now_price="900", reserve_price="150")
    acts = (calling.warn, calling.sell, calling.sell_conditionally, calling.pass_, calling.skip)
    refuses(NotOnBlock, night, *acts)
    with pytest.raises(NotOnBlock):
        night.do(calling.ask, eur("500"))
    refuses(NotConditional, night, lambda lot, now: calling.decide(lot, now, accepted=True))
    refuses(NotClosed, night, lambda lot, now: calling.reopen(lot, "Why.", now))
    with pytest.raises(NothingToUndo):
        night.undo()
    night.call()
    refuses(OnBlock, night, calling.call)
    refuses(NoBidStands, night, calling.sell, calling.sell_conditionally)
    refuses(BuyNowUnavailable, night, lambda lot, now: bidding.buy_now(lot, BOB, now))
    with pytest.raises(NotOfFloor):
        night.name(BOB)
    with pytest.raises(NotLeading):
        night.retract(BOB)
    with pytest.raises(OwnAuction):
        night.bid(ADA)
    night.take()
    refuses(NeedsPaddle, night, calling.sell, calling.sell_conditionally, calling.skip)
    with pytest.raises(OwnAuction):
        night.name(ADA)
    with pytest.raises(AskTooLow):
        night.do(calling.ask, eur("100"))
    night.name(BOB)
    with pytest.raises(NotOfFloor):
        night.name(CY)
    night.do(calling.ask, eur("150"))
    night.bid(CY)
    refuses(BidStands, night, calling.pass_)
    with pytest.raises(NotLeading):
        night.retract(BOB)
    night.do(pausing.pause)
    refuses(Paused, night, *acts, calling.call, lambda lot, now: calling.undo(lot, night.log, now))
    night.do(pausing.resume)
    night.do(moderation.hide, "It may be stolen.")
    others = [one for one in acts if one is not calling.skip]
    refuses(TakenDown, night, *others, lambda lot, now: calling.undo(lot, night.log, now))
    night.do(moderation.show)
    night.do(calling.sell)
    refuses(AuctionOver, night, *acts, calling.call)
    retrace(night.log)


def test_a_lot_with_an_end_or_before_its_start_is_not_called() -> None:
    """The clock closes the one; the other opens first."""
    refuses(EndsByItself, Night(ends_at=after(3600)), calling.call)
    refuses(AuctionNotStarted, Night(starts_at=after(3600)), calling.call)
    timed = Night(ends_at=after(10))
    timed.add(closing.settle(timed.auction, after(20)))
    refuses(EndsByItself, timed, lambda lot, now: calling.reopen(lot, "Why.", now))


def refuses(kind: type[Refusal], night: Night, *acts: Callable[[Auction, datetime], list[Event]]) -> None:
    """Each of these acts is refused so."""
    for act in acts:
        with pytest.raises(kind):
            act(night.auction, night.now)


@pytest.mark.parametrize(
    "changes",
    [
        {"undone": 3},
        {"act": "ask.set"},
        {"current_bid": eur("130")},
        {"maximum": eur("900")},
        {"stage": None},
        {"minimum_bid": eur("5")},
    ],
)
def test_an_undoing_that_the_rules_did_not_decide_is_found(changes: dict[str, Any]) -> None:
    """A verifier finds an undone act whose standing was changed."""
    night = Night()
    night.bid(BOB, maximum="150")
    night.call()
    night.take(CY)
    night.undo()
    retrace(night.log)
    with pytest.raises(RuleViolation):
        retrace([*night.log[:-1], structs.replace(night.log[-1], **changes)])


def test_a_bid_of_the_hall_says_so() -> None:
    """Its channel is in the event; a bid online has none."""
    night = Night()
    night.call()
    night.take()
    night.bid(BOB)
    assert [Channel.FLOOR, None] == [one.channel for one in night.log if isinstance(one, BidPlaced)]


def test_the_reserve_lifts_the_price_below_an_ask() -> None:
    """A raised limit may lift the price: an ask that was set stays, one that follows the increments follows; all is told so."""
    night = Night(reserve_price="150")
    night.call()
    night.bid(BOB)
    night.do(calling.ask, eur("300"))
    assert eur("300") == night.bid(BOB, maximum="150").ask
    assert eur("300") == getattr(night.log[-1], "minimum_bid", None)
    night = Night(reserve_price="150")
    night.call()
    night.take()
    night.bid(BOB)
    night.undo()
    assert ("bob", eur("110"), eur("120")) == told(night.auction)
    assert eur("160") == night.bid(BOB, maximum="150").ask
    assert eur("160") == getattr(night.log[-1], "minimum_bid", None)
    retrace(night.log)
