"""The words for a log that does not follow from the rules: the place, the event there, and what the rules say."""

from decimal import Decimal
from typing import Any

import pytest
from msgspec import structs

from saleroom.bidding.domain.closing import open_if_due, reopen_after_outage, settle
from saleroom.bidding.domain.events import AuctionCreated, Outcome, SoftClose
from saleroom.bidding.domain.increments import Tier
from saleroom.bidding.domain.retrace import RuleViolation, retrace
from saleroom.bidding.domain.selling import cancel, close_now
from tests.bidding.domain.examples import ADA, after, eur
from tests.bidding.domain.test_retrace import PlayedAuction, broken


def test_a_break_names_its_event_from_one() -> None:
    """People count from 1, programs from 0."""
    error = RuleViolation(3, "it is odd")
    assert ("event 4: it is odd", 3, "it is odd") == (str(error), error.index, error.reason)


def test_a_refusal_is_told_with_its_facts() -> None:
    """A step that the rules refuse is told with all facts of the refusal."""
    story = PlayedAuction().bids("bob 100").bids("cyd 120", seconds=2)
    low = structs.replace(story.log[2], amount=eur("101"), maximum=eur("101"), asked=None, received_at=None)
    assert (
        2,
        "the rules refuse it: The bid is too low; bid at least the minimum bid. (minimum bid 110.000)",
    ) == broken([*story.log[:2], low])
    closed = PlayedAuction(ends_at=after(60), soft_close=None).bids("bob 100", seconds=1)
    late = structs.replace(closed.log[1], at=after(61), received_at=None)
    facts = "ends at 2026-11-21T12:01:00.000000Z, closed at 2026-11-21T12:01:00.000000Z, received at none"
    facts += ", decided at 2026-11-21T12:01:01.000000Z"
    assert (1, f"the rules refuse it: The auction is over. ({facts}, late microseconds 1000000)") == broken(
        [closed.log[0], late]
    )
    bid = PlayedAuction().bids("bob 100").log[1]
    author = structs.replace(bid, bidder="ada", bidder_id=ADA.id)
    assert (1, "the rules refuse it: Nobody may bid in their own auction.") == broken([PlayedAuction().log[0], author])


CHANGED: list[tuple[str, dict[str, Any], str]] = [
    (
        "opened",
        {"at": after(61)},
        "its time is 2026-11-21T12:01:01.000000Z, but by the rules 2026-11-21T12:01:00.000000Z",
    ),
    ("closed", {"outcome": Outcome.SOLD}, "its outcome is 'sold', but by the rules 'no_bids'"),
    ("closed", {"winner": "bob"}, "its winner is 'bob', but by the rules none"),
    ("closed", {"price": eur("1")}, "its price is 1.000, but by the rules none"),
]


@pytest.mark.parametrize(("which", "members", "why"), CHANGED)
def test_a_member_is_told_as_it_is_written(which: str, members: dict[str, Any], why: str) -> None:
    """Instants, amounts, words and missing values are shown as on the wire, by the names that they have there."""
    story = PlayedAuction(starts_at=after(60), ends_at=after(90))
    story.then(open_if_due, after(60)).then(settle, after(100))
    created, opened, closed = story.log
    log = [created, structs.replace(opened, **members)] if which == "opened" else [created, opened]
    log += [] if which == "opened" else [structs.replace(closed, **members)]
    assert (len(log) - 1, why) == broken(log)


def test_another_event_than_the_rules_have_is_told() -> None:
    """If the log has another event than the one that comes next by the rules, both are named."""
    story = PlayedAuction(ends_at=after(60), soft_close=SoftClose(120, 120)).bids("bob 100")
    created, bid, _ = story.log
    cancelled = PlayedAuction().then(cancel, ADA, after(1)).log[1]
    assert (2, "it is auction.cancelled, but by the rules auction.extended comes next") == broken(
        [created, bid, cancelled]
    )


def test_an_outage_may_be_as_short_as_nothing() -> None:
    """An outage may begin when it ends, but such an outage reopens nothing."""
    story = PlayedAuction(ends_at=after(1000)).then(reopen_after_outage, after(900), after(1100))
    created, extended = story.log
    assert (1, "by the rules nothing has brought auction.extended about") == broken(
        [created, structs.replace(extended, down_since=after(1100))]
    )


def test_a_log_without_its_beginning_breaks_at_its_first_event() -> None:
    """An empty log, and a log without its beginning, break at the first event."""
    why = "an auction begins with auction.created"
    assert (0, why) == broken([]) == broken(PlayedAuction().bids("bob 100").log[1:])


def test_a_trace_has_the_seed_and_no_number() -> None:
    """The seed comes from the log, as no rule draws it; the number is the database's, and in no log."""
    created = PlayedAuction().log[0]
    auction = retrace([structs.replace(created, seed="5" * 64)]).auction
    assert (0, "5" * 64) == (auction.id, auction.chain.seed)


def test_an_automatic_bid_stands_beside_the_one_that_it_answers() -> None:
    """An automatic bid cannot answer a bid two places later."""
    story = PlayedAuction().bids("bob up to 150").bids("cyd 120", seconds=2)
    created, first, challenge, answer = story.log
    assert (2, "an automatic bid answers somebody's, and here is none") == broken(
        [created, first, answer, answer, challenge]
    )


def test_an_amount_may_be_as_high_as_its_limit() -> None:
    """A bid whose amount is its limit is a bid like any other, and may be decided at the instant of its arrival."""
    story = PlayedAuction().bids("bob 100 up to 100")
    created, bid = story.log
    assert broken([created, structs.replace(bid, received_at=bid.at)]) is None


def test_an_old_bid_in_the_instant_of_its_authors_close_is_no_purchase() -> None:
    """In old logs, a bid and a close at one instant may be a purchase, or a bid and then its author's close."""
    story = PlayedAuction().bids("bob 100").then(close_now, ADA, after(1))
    created, bid, closed = story.log
    old = structs.replace(bid, asked=None, received_at=None)
    assert broken([created, old, closed]) is None
    # A bid that nobody could have placed is told as a purchase, which is tried first.
    low = structs.replace(old, amount=eur("1"), maximum=eur("1"))
    where = broken([created, low, closed])
    assert where is not None
    assert where[1].startswith("the rules refuse it: The auction cannot be bought now")


@pytest.mark.parametrize(("seconds", "good"), [(0, False), (1, True), (86_400, True), (86_401, False)])
def test_a_soft_close_has_a_day_at_most(seconds: int, good: bool) -> None:
    """Window and extension are each from a second to a day."""
    for rule in (SoftClose(seconds, 1), SoftClose(1, seconds)):
        assert (None if good else (0, "a soft close has 1 to 86400 seconds")) == broken(
            PlayedAuction(soft_close=rule).log
        )


def test_amounts_deep_within_are_amounts() -> None:
    """A step within the ladder must have three decimals, too."""
    created = PlayedAuction().log[0]
    assert isinstance(created, AuctionCreated)
    odd = structs.replace(created, increment=(Tier(eur("0"), Decimal("1.5")),))
    assert (0, "1.5 is no amount with three decimals") == broken([odd])
