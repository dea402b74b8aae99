"""Voiding a bid: what stood before it stands again (docs/rules.md, "Voiding a bid")."""

from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.bidding import BidRequest, buy_now, place_bid
from saleroom.bidding.domain.errors import AlreadyVoided, AuctionOver, UnknownBid
from saleroom.bidding.domain.events import AuctionExtended, BidPlaced, BidVoided, Event, MaximumRaised, Reason
from saleroom.bidding.domain.increments import Ladder, Tier
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.domain.retrace import RuleViolation, retrace
from saleroom.bidding.domain.selling import amend, cancel
from saleroom.bidding.domain.voiding import BidBook, void
from tests.bidding.domain.examples import ADA, BOB, CY, DEE, after, eur, said, window
from tests.bidding.domain.oracle import Oracle
from tests.bidding.domain.playing import Game, play
from tests.bidding.domain.test_agreement import told
from tests.bidding.domain.test_retrace import PlayedAuction
from tests.bidding.domain.voids import Void
from tests.histories import History, histories

SLIP = "A slip of the hand: three zeros too many."


class VoidableAuction(PlayedAuction):
    """An auction by ada whose bids can be voided."""

    def void(self, version: int, seconds: float = 1) -> "VoidableAuction":
        """Void the bid at `version`."""
        self.log += void(self.auction, BidBook(self.log), version, SLIP, after(seconds))
        return self

    @property
    def standing(self) -> tuple[str | None, str | None, str | None]:
        """The leader, the price and the leader's maximum."""
        auction = self.auction
        leader = None if auction.leader is None else auction.leader.name
        return leader, _short(auction.current_bid), _short(auction.maximum)


def _short(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}".removesuffix(".000")


def played(*bids: str, **terms: object) -> VoidableAuction:
    """An auction with these bids, one after the other; the first event of the first bid has the version 2."""
    auction = VoidableAuction(**terms)
    auction.bids(*bids)
    return auction


def test_a_bid_too_high_is_voided_and_the_one_before_leads_at_its_price() -> None:
    """A bid of a million by a slip is voided: the leader before leads again at the price before, with the same maximum."""
    game = played("bob up to 250", "cyd 1000000")
    assert ("cyd", "1000000", "1000000") == game.standing
    game.void(4)
    assert ("bob", "100", "250") == game.standing
    assert eur("110") == game.auction.minimum_bid


def test_the_example_of_the_rules_is_right() -> None:
    """docs/rules.md, "Voiding a bid": dee's bid is voided, then bob's."""
    game = played("bob up to 250", "cyd 150", "bob up to 280", "dee up to 300").void(6)
    assert ("bob", "160", "280") == game.standing
    assert ("cyd", "150", "150") == game.void(2).standing


def test_a_voided_challenge_takes_its_automatic_bid_with_it() -> None:
    """A bid that was held off had lifted the price: voided, it lifts nothing, and the answer to it counts no more."""
    game = played("bob up to 250", "cyd 150").void(3)
    assert ("bob", "100", "250") == game.standing
    assert [2, 3] == BidBook(game.log).numbers[3]


def test_a_tie_and_an_exhausted_maximum_give_their_automatic_bid_to_the_bid_that_caused_it() -> None:
    """An automatic bid belongs to the request that it answers, whether it was recorded before or after it."""
    tie = BidBook(played("bob up to 250", "cyd up to 250").log)
    outbid = BidBook(played("bob up to 250", "cyd 150", "dee up to 300").log)
    assert {2: [1], 4: [2, 3]} == tie.numbers
    assert {2: [1], 3: [2, 3], 6: [4, 5]} == outbid.numbers


def test_the_bids_of_others_are_decided_again_without_the_voided_one() -> None:
    """A voided leader leaves those who bid against them: they stand by their maxima, not by the prices of then."""
    game = played("bob up to 250", "cyd 150", "dee up to 300").void(2)
    assert ("dee", "160", "300") == game.standing
    assert ("dee", "100", "300") == game.void(3).standing


def test_a_voided_bid_takes_its_raises_with_it() -> None:
    """A raise goes with the bid whose maximum it raised, not with an earlier bid of the same person."""
    game = played("bob up to 150", "cyd 200", "bob up to 250", "bob up to 1000000", "dee 300")
    assert ("bob", "310", "1000000") == game.standing
    bobs = next(v for v, bid in _public(game.log) if isinstance(bid, BidPlaced) and bid.maximum == eur("250"))
    game.void(bobs)
    assert ("dee", "300", "300") == game.standing


def _public(log: Sequence[Event]) -> list[tuple[int, Event]]:
    return list(enumerate((each for each in log if each.PUBLIC), 1))


def test_a_bidder_who_leads_without_the_rival_keeps_the_higher_maximum() -> None:
    """Bob bid once more only because of cyd: without cyd he leads at his first price, and the limit of both bids counts."""
    game = played("bob 100", "cyd 200", "bob 300").void(3)
    assert ("bob", "100", "300") == game.standing


def test_the_reserve_can_be_unmet_again() -> None:
    """A price that only the voided bid had brought to the reserve is below it again."""
    game = played("bob 150", "cyd up to 900", reserve_price="500")
    assert game.auction.reserve_met
    game.void(3)
    assert ("bob", "150", "150") == game.standing
    assert False is game.auction.reserve_met


def test_after_the_only_bid_was_voided_it_is_as_before_the_first() -> None:
    """Without a bid that stands the lot can be bought, amended and cancelled again, and the next bid starts at S."""
    auction = played("bob 1000000", buy_now_price="500").void(2).auction
    assert (None, None, None, None) == (auction.leader, auction.current_bid, auction.maximum, auction.current_bid_at)
    assert eur("100") == auction.minimum_bid
    assert buy_now(auction, CY, after(2))
    assert amend(auction, ADA, {"name": "Bracket clock"}, after(2))
    assert cancel(auction, ADA, after(2))
    [bid] = place_bid(auction, CY, said("cyd up to 200")[1], after(2))
    assert isinstance(bid, BidPlaced)
    assert eur("100") == bid.amount


def test_the_bid_count_keeps_voided_bids() -> None:
    """The history keeps its numbers: a voided bid is marked, not gone."""
    assert 1 == played("bob 1000000").void(2).auction.bid_count


def test_the_end_is_not_brought_forward_and_moves_as_by_a_bid() -> None:
    """The end that the voided bid had moved stays; within the window the void moves it too, so that all have time to bid."""
    ends_at = after(600)
    game = played(ends_at=ends_at, soft_close=window(120))
    game.bids("bob 100", seconds=590)
    assert after(710) == game.auction.ends_at
    game.void(2, seconds=580)
    assert after(710) == game.auction.ends_at
    assert BidVoided.TYPE == game.log[-1].TYPE
    game.bids("bob 100", seconds=650)
    game.void(5, seconds=700)
    assert [AuctionExtended(at=after(700), ends_at=after(820), reason=Reason.SOFT_CLOSE)] == game.log[-1:]


@pytest.mark.parametrize("version", [0, 1, 3, 5, 6, -2])
def test_only_a_bidders_own_bid_can_be_voided(version: int) -> None:
    """There is nothing to void at another version, not even an automatic bid: that goes with the bid that it answers."""
    game = played("bob up to 250", "dee up to 300")  # 2 bob, 3 bob automatic, 4 dee
    with pytest.raises(UnknownBid):
        game.void(version)


def test_a_bid_is_voided_once() -> None:
    """A second void of the same bid is refused."""
    with pytest.raises(AlreadyVoided):
        played("bob 100").void(2).void(2)


def test_a_bid_of_an_auction_that_is_over_is_not_voided() -> None:
    """At the end the sale is decided, whether the closer has come by or not."""
    game = played("bob 100", ends_at=after(600))
    with pytest.raises(AuctionOver):
        game.void(2, seconds=600)


def test_a_void_is_never_before_the_last_event() -> None:
    """A clock that was set back does not turn the order of events round."""
    game = played("bob 100")
    game.void(2, seconds=-5)
    assert after(1) == game.log[-1].at


def test_with_steps_that_get_smaller_an_accepted_bid_is_still_not_refused() -> None:
    """By a ladder with smaller steps later, the price before could be too near for a bid that was accepted: it stands."""
    ladder = Ladder((Tier(eur("0"), eur("100")), Tier(eur("50"), eur("1"))))
    game = played("bob 50", "cyd 51", "dee 52", starting_price="0", increment=ladder)
    game.void(2)
    assert ("dee", "52", "52") == game.standing
    low = played("bob 49", "cyd up to 200", "dee up to 300", starting_price="0", increment=ladder)
    assert low.void(2).standing[0] == "dee"


def test_the_price_never_falls_while_bids_are_decided_again() -> None:
    """By a ladder with smaller steps later, a bid that is decided again may be below the price: the price stays."""
    ladder = Ladder(tuple(Tier(eur(start), eur(step)) for start, step in (("0", "1"), ("40", "1000"), ("50", "1"))))
    bids = ("bob up to 49", "cyd up to 50", "dee up to 5000", "bob up to 52")
    game = played(*bids, starting_price="0", increment=ladder)
    assert ("dee", "53", "5000") == game.standing
    cyds = next(v for v, bid in _public(game.log) if isinstance(bid, BidPlaced) and bid.bidder == "cyd")
    assert ("dee", "1049", "5000") == game.void(cyds).standing


def test_a_bid_of_an_old_log_counts_by_its_maximum() -> None:
    """Old logs do not say what was asked: the maximum alone counts."""
    game = played("bob 150", "cyd 200")
    game.log = [structs.replace(e, asked=None, received_at=None) if isinstance(e, BidPlaced) else e for e in game.log]
    game.void(3)
    assert ("bob", "100", "150") == game.standing


def test_a_void_that_the_rules_do_not_give_is_noticed() -> None:
    """A house that voids a bid and gives the lot to whom it likes breaks the rules, and so does one without a reason."""
    game = played("bob up to 250", "cyd 150", "dee up to 300").void(3)
    retrace(game.log)
    wrong: list[dict[str, Any]] = [
        {"current_bid": eur("110")},
        {"current_bidder": "bob", "leader_id": BOB.id},
        {"maximum": eur("301")},
        {"voided": 4},
        {"amount": eur("151")},
        {"bidder": "dee"},
        {"reason": ""},
        {"reason": "x" * 501},
        {"reserve_met": True},
        {"minimum_bid": None},
        {"current_bid_at": None},
    ]
    for changes in wrong:
        with pytest.raises(RuleViolation):
            retrace([*game.log[:-1], structs.replace(game.log[-1], **changes)])


def _state(auction: Auction) -> tuple[object, ...]:
    """What bids decide, but for the end and the count of recorded bids."""
    return (
        auction.leader,
        auction.current_bid,
        auction.current_bid_at,
        auction.maximum,
        auction.minimum_bid,
        auction.reserve_met,
    )


def _voided(log: list[Event], auction: Auction, version: int) -> list[Event]:
    return [*log, *void(auction, BidBook(log), version, SLIP, auction.changed_at)]


def _open(history: History) -> tuple[Auction, list[Event], list[int]]:
    """A played history that is still open and has bids, its log, and the versions of its bids."""
    game = play(history)
    auction, log = game.auction, game.log
    end = auction.ends_at
    assume(auction.status == Status.OPEN and auction.leader is not None and (end is None or auction.changed_at < end))
    return auction, log, [version for version, _ in BidBook(log).open_bids()]


@given(histories(), st.lists(st.integers(0, 20), min_size=1, max_size=5), histories())
def test_the_oracle_voids_as_the_rules_do(history: History, versions: list[int], more: History) -> None:
    """Voids between the bids of two histories: rules and oracle have the same refusals, standings and ends."""
    game, oracle = Game(history.lot), Oracle(history.lot)
    now = 0
    for played_now, act in history.acts(oracle):
        now = played_now
        assert oracle.do(act, now) == game.do(act, now)
    for version in versions:
        chosen = [one.version for one in oracle.asked]
        voids = Void(chosen[version % len(chosen)] if chosen and version < 16 else version)
        refused = oracle.do(voids, now)
        event(f"void {refused or 'accepted'}")
        assert refused == game.do(voids, now)
        assert oracle.seen() == told(game)
    for step in more.steps:
        now, act = step.resolve(oracle, now)
        assert oracle.do(act, now) == game.do(act, now)
        assert oracle.seen() == told(game)
    retrace(game.log)


@given(histories())
def test_voiding_the_last_bid_gives_the_state_before_it(history: History) -> None:
    """Voiding the last bid gives leader, price, its instant and maximum as they were before it, and so on to the first.

    A leader who had held off the voided bid and then raised their maximum keeps that raise, which may even meet the reserve.
    """
    auction, log, versions = _open(history)
    event(f"{len(versions)} bids")
    for version in reversed(versions):
        first = _place_of(log, BidBook(log).numbers[version][0])
        before = replay(7, log[:first])
        raised = any(isinstance(each, MaximumRaised) for each in log[first:])
        log = _voided(log, auction, version)
        auction = replay(7, log)
        assert before.leader == auction.leader
        assert raised or _state(before) == _state(auction)
    assert (None, None) == (auction.leader, auction.current_bid)


def _place_of(log: list[Event], number: int) -> int:
    return [index for index, each in enumerate(log) if isinstance(each, BidPlaced)][number - 1]


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_voids_does_not_matter(history: History, chance: Random) -> None:
    """The same bids voided in another order give the same standing, and a void of all leaves none."""
    auction, log, versions = _open(history)
    shuffled = list(versions)
    chance.shuffle(shuffled)
    some = shuffled[: chance.randint(1, len(shuffled))]
    states = []
    for order in (some, sorted(some), sorted(some, reverse=True)):
        now, events = auction, log
        for version in order:
            events = _voided(events, now, version)
            now = replay(7, events)
        states.append(_state(now))
        retrace(events)
        assert now.current_bid is None or (now.maximum is not None and now.current_bid <= now.maximum)
        assert (now.leader is None) == (len(some) == len(versions))
    assert states[0] == states[1] == states[2]


@given(histories(), st.randoms(use_true_random=False))
def test_the_standing_is_that_of_the_bids_that_were_not_voided(history: History, chance: Random) -> None:
    """Voids between bids: in the end the leader has the highest maximum of all bids that stand, the earliest at ties."""
    auction, log, versions = _open(history)
    for _ in range(4):
        book = BidBook(log)
        versions = [version for version, _ in book.open_bids()]
        if versions and chance.random() < 0.6:
            log = _voided(log, auction, chance.choice(versions))
        else:
            least = auction.minimum_bid
            bidder = next(each for each in (BOB, CY, DEE) if each != auction.leader)
            if least is None:
                continue
            log = [*log, *place_bid(auction, bidder, BidRequest(None, least), auction.changed_at)]
        auction = replay(7, log)
        highest = max(_limits(log), key=lambda each: (each[0], -each[1]), default=None)
        assert (None if highest is None else highest[2]) == (None if auction.leader is None else auction.leader.id)
        assert (None if highest is None else highest[0]) == auction.maximum
    retrace(log)


def _limits(log: list[Event]) -> list[tuple[Decimal, int, int]]:
    """Each limit that stands, how early it was named, and by whom: read from the log without the book."""
    found: dict[int, tuple[Decimal, int, int]] = {}
    leader, version = 0, 0
    for position, each in enumerate(log):
        version += each.PUBLIC
        if isinstance(each, BidPlaced):
            if not each.automatic:
                found[version] = (each.maximum, position, each.bidder_id)
            if each.leading:
                leader = each.bidder_id
        elif isinstance(each, MaximumRaised):
            own = max(v for v, bid in found.items() if bid[2] == leader)
            found[own] = (each.maximum, position, leader)
        elif isinstance(each, BidVoided):
            del found[each.voided]
            leader = each.leader_id or 0
    return list(found.values())
