"""Causes: which words follow from events of the log, and for whom."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from saleroom.bidding.domain.block_events import (
    ActUndone,
    AuctionCalled,
    AuctionDecided,
    AuctionReopened,
    BidderNamed,
    BidRetracted,
)
from saleroom.bidding.domain.events import (
    AuctionCancelled,
    AuctionClosed,
    AuctionHidden,
    AuctionShown,
    BidPlaced,
    BidVoided,
    Event,
    Outcome,
)
from saleroom.notices.domain.causes import Due, Entry, words_due

AT = datetime(2026, 1, 1, tzinfo=UTC)
SELLER, ADA, BEN, FLOOR = 1, 2, 3, 4


def bid(who: int, amount: int = 10, *, leading: bool = True) -> Event:
    """A bid; one that does not lead is of somebody whom another maximum beat at once."""
    some: dict[str, Any] = {"automatic": False, "minimum_bid": None, "reserve_met": None, "ends_at": None}
    price = Decimal(amount)
    return BidPlaced(at=AT, amount=price, bidder="x", bidder_id=who, leading=leading, maximum=price, **some)


def void(leader: int | None) -> Event:
    """A void after which somebody leads."""
    standing = ("current_bid", "current_bidder", "current_bid_at", "minimum_bid", "reserve_met", "maximum")
    some: dict[str, Any] = dict.fromkeys(standing)
    return BidVoided(at=AT, voided=1, bidder="x", amount=Decimal(10), reason="absurd", leader_id=leader, **some)


def named(who: int) -> Event:
    """The floor's bid has a bidder."""
    return BidderNamed(at=AT, named=1, amount=Decimal(10), bidder="#12", bidder_id=who)


def retracted() -> Event:
    """The leader took the bid back."""
    return BidRetracted(at=AT, retracted=1, bidder="x", amount=Decimal(10), minimum_bid=Decimal(10))


def undone(act: str, leader: int) -> Event:
    """An act is undone, after which somebody leads."""
    standing = ("stage", "current_bid", "current_bidder", "current_bid_at", "minimum_bid", "reserve_met", "maximum")
    some: dict[str, Any] = dict.fromkeys(standing)
    return ActUndone(at=AT, undone=1, act=act, leader_id=leader, **some)


def decided(winner: str) -> Event:
    """The seller accepts a bid below the reserve."""
    return AuctionDecided(at=AT, outcome=Outcome.SOLD, winner=winner, price=Decimal(20))


def close(winner: str | None, how: Outcome | None = None) -> Event:
    """The end of a lot."""
    outcome = how or (Outcome.SOLD if winner else Outcome.NO_BIDS)
    return AuctionClosed(at=AT, outcome=outcome, winner=winner, price=None if winner is None else Decimal(20))


def due(*events: Event, leaders: dict[int, int] | None = None, hidden: bool = False) -> list[Due]:
    """The words that follow from events of one lot."""
    entries = [
        Entry(number=number, auction_id=7, gid="lot", author_id=SELLER, event=event, hidden=hidden)
        for number, event in enumerate(events, 1)
    ]
    return words_due(entries, leaders or {})


@pytest.mark.parametrize(
    ("events", "leaders", "expected"),
    [
        ([bid(ADA)], {}, []),
        ([bid(ADA), bid(BEN)], {}, [("outbid", ADA)]),
        ([bid(ADA), bid(ADA, 20)], {}, []),
        ([bid(BEN)], {7: ADA}, [("outbid", ADA)]),
        ([bid(BEN, leading=False), bid(ADA, 11)], {7: ADA}, []),
        ([bid(BEN)], {8: ADA}, []),
        ([void(ADA)], {7: BEN}, [("leading", ADA), ("voided", None)]),
        ([void(BEN)], {7: BEN}, [("voided", None)]),
        ([void(None), bid(BEN)], {7: ADA}, [("voided", None)]),
        ([bid(ADA), close("ada")], {}, [("won", ADA), ("sold", SELLER), ("not_won", None)]),
        ([bid(ADA), close(None)], {}, [("not_sold", SELLER), ("not_won", None)]),
        ([bid(ADA), close("ada", Outcome.CONDITIONAL)], {}, [("decision_asked", SELLER)]),
        ([AuctionCalled(at=AT, minimum_bid=None)], {7: ADA}, [("called", SELLER), ("called", None)]),
        ([bid(ADA), decided("ada")], {}, [("won", ADA), ("sold", SELLER), ("not_won", None)]),
        ([bid(FLOOR), named(BEN), close("ben")], {}, [("won", BEN), ("sold", SELLER), ("not_won", None)]),
        ([retracted(), bid(BEN)], {7: ADA}, []),
        ([undone("auction.closed", ADA)], {7: ADA}, [("reopened", SELLER), ("reopened", None)]),
        ([undone("bid.placed", ADA), bid(BEN)], {7: BEN}, [("outbid", ADA)]),
        ([AuctionReopened(at=AT, reason="Not seen.")], {7: ADA}, [("reopened", SELLER), ("reopened", None)]),
        ([AuctionHidden(at=AT, hidden_for="stolen")], {}, [("hidden", SELLER), ("hidden", None)]),
        ([AuctionShown(at=AT)], {}, [("shown", SELLER), ("shown", None)]),
        ([AuctionCancelled(at=AT)], {7: ADA}, [("cancelled", None)]),
        ([AuctionCancelled(at=AT, reason="withdrawn")], {}, [("cancelled", SELLER), ("cancelled", None)]),
    ],
)
def test_words_follow_from_events(
    events: list[Event], leaders: dict[int, int], expected: list[tuple[str, int | None]]
) -> None:
    """Who loses or regains the lead, wins, sells or follows is told; None stands for all who have bid."""
    assert expected == [(one.kind, one.receiver) for one in due(*events, leaders=leaders)]


def test_words_for_all_leave_some_out() -> None:
    """The winner is not told that they lost, nor a seller twice; why a lot is hidden is for the seller alone."""
    *_, lost = due(bid(ADA), close("ada"))
    assert (frozenset({ADA}), False) == (lost.without, lost.watchers)
    seller, others = due(AuctionHidden(at=AT, hidden_for="stolen"))
    assert ({"reason": "stolen"}, {}, frozenset({SELLER}), True) == (
        seller.facts,
        others.facts,
        others.without,
        others.watchers,
    )


def test_a_seller_hears_that_a_hidden_lot_was_cancelled() -> None:
    """Who cancels their own lot knows it; of a hidden one it may have been staff."""
    assert ["cancelled", "cancelled"] == [one.kind for one in due(AuctionCancelled(at=AT), hidden=True)]
