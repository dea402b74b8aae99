"""Every line of docs/rules.md, "Properties", over generated histories, without the oracle.

Histories have several bidders with literal amounts, maxima and both, raises by the leader, reserves, buy-now prices,
ladders and fixed steps, soft close with and without a cap, outages, amendments, announced ends, cancels and openings.
"""

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise

from hypothesis import event, given

from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.bidding import BidRequest, place_bid
from saleroom.bidding.domain.errors import AuctionOver
from saleroom.bidding.domain.events import BidPlaced, Outcome
from saleroom.bidding.domain.ledger import replay
from saleroom.kernel.money import LIMIT
from tests.bidding.domain.examples import refusal
from tests.bidding.domain.oracle import AUTHOR, Amend, Announce, Bid, Buy
from tests.bidding.domain.playing import Game, PlayedStep, party, play, request
from tests.histories import History, histories


def steps(history: History) -> list[PlayedStep]:
    """The steps of a history, as played."""
    return play(history).taken


def prices(game: Game) -> list[Decimal]:
    """Every visible price, in order: after every event, not only after every step."""
    auctions = [replay(7, game.log[: position + 1]) for position in range(len(game.log))]
    return [auction.current_bid for auction in auctions if auction.current_bid is not None]


@given(histories())
def test_p_never_falls(history: History) -> None:
    """'P never falls', not even between the events of one bid."""
    for earlier, later in pairwise(prices(play(history))):
        assert earlier <= later


@given(histories())
def test_p_is_within_m(history: History) -> None:
    """'P <= M': nobody ever pays more than they offered."""
    for taken in steps(history):
        if taken.after.current_bid is not None:
            assert taken.after.maximum is not None
            assert taken.after.current_bid <= taken.after.maximum


def limits(taken: list[PlayedStep]) -> Iterator[tuple[PlayedStep, dict[int, tuple[Decimal, int]]]]:
    """Each step with the highest accepted limit of each bidder so far, and how early they named it."""
    highest: dict[int, tuple[Decimal, int]] = {}
    for turn, step in enumerate(taken):
        limit: Decimal | None = None
        if isinstance(step.act, Buy) and step.refusal is None:
            limit = step.before.buy_now_price
        elif step.accepted_bid is not None:
            limit = request(step.accepted_bid).limit
        if limit is not None and isinstance(step.act, Bid | Buy):
            bidder = party(step.act.who).id
            if bidder not in highest or limit > highest[bidder][0]:
                highest[bidder] = (limit, -turn)
        yield step, dict(highest)


@given(histories())
def test_the_highest_maximum_leads(history: History) -> None:
    """'The leader holds the highest maximum, the earliest at ties'."""
    for step, highest in limits(steps(history)):
        leader = max(highest, key=lambda bidder: highest[bidder], default=None)
        assert leader == (None if step.after.leader is None else step.after.leader.id)
        assert (None if leader is None else highest[leader][0]) == step.after.maximum


@given(histories())
def test_p_is_at_most_a_step_above_the_second(history: History) -> None:
    """'P <= second-highest maximum + one step, unless S, R or a literal amount lifted it'."""
    lifted: set[Decimal | None] = set()
    for step, highest in limits(steps(history)):
        auction = step.after
        if step.refusal is None and isinstance(step.act, Bid):
            lifted.add(request(step.act).amount)
        lifted |= {auction.buy_now_price} if isinstance(step.act, Buy) else set()
        if auction.leader is None or auction.current_bid is None:
            continue
        second = max((limit for who, (limit, _) in highest.items() if who != auction.leader.id), default=None)
        within = second is not None and auction.current_bid <= second + auction.ladder.step_at(second)
        event("within a step of the second" if within else "lifted" if second is not None else "alone")
        assert within or auction.current_bid in lifted | {auction.starting_price, auction.reserve_price}


@given(histories())
def test_sold_iff_a_bid_and_the_reserve_met(history: History) -> None:
    """'`sold` iff there is a bid and R is none or final P >= R', and every closed auction has an outcome."""
    auction = play(history).auction
    event(str(auction.outcome))
    assert (auction.status == Status.CLOSED) == (auction.outcome is not None)
    if auction.status != Status.CLOSED:
        return
    price, reserve = auction.current_bid, auction.reserve_price
    sold = price is not None and (reserve is None or price >= reserve)
    assert sold == (auction.outcome is Outcome.SOLD)
    assert (price is None) == (auction.outcome is Outcome.NO_BIDS)


@given(histories())
def test_a_raise_lifts_p_at_most_up_to_r(history: History) -> None:
    """'The leader's own raise changes P at most up to R', and neither the end nor the recorded bids."""
    for step in steps(history):
        before, after = step.before, step.after
        if not step.own_raise:
            continue
        assert after.current_bid in {before.current_bid, before.reserve_price}
        assert (before.ends_at, before.bid_count, before.leader) == (after.ends_at, after.bid_count, after.leader)


@given(histories())
def test_the_end_never_moves_back(history: History) -> None:
    """'`endsAt` never moves back nor past the cap', unless the author amends it before the first bid."""
    for step in steps(history):
        before, after = step.before.ends_at, step.after.ends_at
        rule = step.after.soft_close
        if before is not None and not isinstance(step.act, Amend | Announce):
            assert after is not None
            assert before <= after
        if after is not None and rule is not None and rule.cap is not None:
            assert after <= rule.cap


@given(histories())
def test_a_refused_bid_changes_nothing(history: History) -> None:
    """'A refused bid changes nothing': there is no event, and the auction is the same, bit by bit."""
    for step in steps(history):
        if step.refusal is not None:
            event(step.refusal.split()[0])
            assert () == step.events
            assert step.before == step.after


@given(histories())
def test_no_bid_at_or_after_the_end(history: History) -> None:
    """'No accepted bid is at or after the end', nor before the start; and closed is final."""
    for step in steps(history):
        if isinstance(step.act, Bid | Buy) and step.refusal is None:
            assert step.before.ends_at is None or step.now < step.before.ends_at
            assert step.before.starts_at is None or step.now >= step.before.starts_at
        if step.before.over:
            assert () == step.events


@given(histories())
def test_nobody_leads_their_own_auction(history: History) -> None:
    """'Nobody leads their own auction', and its author is in no recorded bid."""
    game = play(history)
    for step in game.taken:
        assert step.after.leader is None or step.after.leader.id != step.after.author.id
    assert AUTHOR not in {row.who for row in game.rows()}


@given(histories())
def test_replaying_the_events_gives_the_state(history: History) -> None:
    """'Replaying the auction's events from an empty state gives the stored state, bit by bit', after every step."""
    game = play(history)
    assert game.auction == replay(game.auction.id, game.log)
    seen = 1
    for step in game.taken:
        seen += len(step.events)
        assert step.after == replay(step.after.id, game.log[:seen])


@given(histories())
def test_recorded_amounts_rise(history: History) -> None:
    """Rule 4c: 'the recorded amounts of an auction strictly rise', except at a tie: both bids are recorded at M."""
    bids = [happened for happened in play(history).log if isinstance(happened, BidPlaced)]
    for earlier, later in pairwise(bids):
        tie = earlier.automatic and not later.leading and earlier.at == later.at and earlier.maximum == later.maximum
        assert earlier.amount < later.amount or (tie and earlier.amount == later.amount)


@given(histories())
def test_events_are_numbered_and_in_order_of_time(history: History) -> None:
    """Versions number the public events without a gap, positions number all events, and their instants never go back."""
    game = play(history)
    assert len(game.log) == game.auction.position
    assert sum(1 for happened in game.log if happened.PUBLIC) == game.auction.version
    assert sorted(happened.at for happened in game.log) == [happened.at for happened in game.log]


@given(histories())
def test_the_state_that_a_bid_records_comes_true(history: History) -> None:
    """The last bid of a step tells the price, the minimum bid and the reserve's state as they are afterwards."""
    for step in steps(history):
        placed = [happened for happened in step.events if isinstance(happened, BidPlaced)]
        if not placed or step.after.over:
            continue
        assert step.after.minimum_bid == placed[-1].minimum_bid
        assert step.after.reserve_met == placed[-1].reserve_met
        assert step.after.current_bid == max(bid.amount for bid in placed)


@given(histories())
def test_from_its_end_on_it_takes_no_bid(history: History) -> None:
    """At its end an auction accepts no bid, whether it has been closed or not."""
    auction = play(history).auction
    if auction.ends_at is not None:
        most = BidRequest(None, LIMIT)
        refused = refusal(place_bid, auction, party(1), most, auction.ends_at)
        assert isinstance(refused, AuctionOver)
