"""Why a bid was decided as it was: every member of the reason, not only its words."""

from datetime import timedelta

from saleroom.bidding.domain.reasons import BidReason, conclusion
from saleroom.bidding.domain.retrace import retrace
from saleroom.bidding.domain.selling import cancel
from tests.bidding.domain.examples import ADA, after, eur
from tests.bidding.domain.test_retrace import PlayedAuction


def test_a_bid_is_told_with_all_that_it_was() -> None:
    """A bid and the automatic bid that answers it each have a place, amount and limit, and the instant of the request."""
    story = PlayedAuction().bids("bob up to 150").bids("cyd 120", seconds=2)
    [first, challenge, answer] = retrace(story.log).bids
    asked, decided = after(2) - timedelta(microseconds=1), after(2)
    assert (1, 2, 3) == (first.index, challenge.index, answer.index)
    assert (
        BidReason(
            index=2,
            at=decided,
            received_at=asked,
            bidder="cyd",
            amount=eur("120"),
            limit=eur("120"),
            automatic=False,
            leading=False,
            words=("held off by bob's automatic bid at ", eur("130")),
        )
        == challenge
    )
    assert (
        BidReason(
            index=3,
            at=decided,
            received_at=None,
            bidder="bob",
            amount=eur("130"),
            limit=eur("150"),
            automatic=True,
            leading=True,
            words=("holds off cyd's ", eur("120")),
        )
        == answer
    )


def test_a_raise_that_nobody_saw_is_told_with_all_that_it_was() -> None:
    """A raise has no amount, leads, is the leader's own, and has the instant of its request."""
    story = PlayedAuction().bids("bob up to 150").bids("bob up to 200", seconds=2)
    assert (
        BidReason(
            index=2,
            at=after(2),
            received_at=after(2) - timedelta(microseconds=1),
            bidder="bob",
            amount=None,
            limit=eur("200"),
            automatic=False,
            leading=True,
            words=("raises the own maximum from ", eur("150")),
        )
        == retrace(story.log).bids[-1]
    )


def test_a_cancelled_auction_says_so() -> None:
    """The ending of a cancelled auction says that its author cancelled it."""
    story = PlayedAuction().then(cancel, ADA, after(1))
    assert "cancelled by its author before any bid" == conclusion(retrace(story.log).auction)
