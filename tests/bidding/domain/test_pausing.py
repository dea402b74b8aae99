"""The clock of an auction stands still and goes on, and ends follow others (docs/rules.md, "Paused", "Ends that follow")."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from saleroom.bidding.domain import moderation, pausing, voiding
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.bidding import PURCHASE, BidRequest, buy_now, place_bid
from saleroom.bidding.domain.closing import follow, open_if_due, reopen_after_outage, settle
from saleroom.bidding.domain.errors import Paused, TakenDown
from saleroom.bidding.domain.events import (
    AuctionClosed,
    AuctionExtended,
    AuctionOpened,
    AuctionPaused,
    AuctionResumed,
    Reason,
    SoftClose,
)
from saleroom.bidding.domain.retrace import RuleViolation, retrace
from saleroom.bidding.domain.selling import amend, announce_end, arrange, cancel, close_now
from saleroom.bidding.domain.views import auction_view
from saleroom.kernel.instants import instant
from tests.bidding.domain.examples import ADA, BOB, CY, after, eur
from tests.bidding.domain.oracle import SECOND, Act, Amend, Announce, Oracle, Outage, Terms
from tests.bidding.domain.playing import Game, at, seen
from tests.bidding.domain.test_moderation import ModeratedAuction
from tests.histories import History, histories

MORE = BidRequest(eur("500"), None)


class PausedGame(ModeratedAuction):
    """An auction whose clock stops and goes on."""

    def pause(self, seconds: float) -> "PausedGame":
        """Stop its clock."""
        self.log += pausing.pause(self.auction, after(seconds))
        return self

    def resume(self, seconds: float) -> "PausedGame":
        """Let its clock go on."""
        self.log += pausing.resume(self.auction, after(seconds))
        return self


def test_a_paused_auction_takes_no_bids_and_no_changes() -> None:
    """Nobody bids, raises or buys, and its author changes nothing; an author may still cancel, and staff hide or void."""
    game = PausedGame(ends_at=after(600), buy_now_price="900").pause(2)
    auction = game.auction
    acts: list[Callable[[], object]] = [
        lambda: buy_now(auction, CY, after(3), PURCHASE),
        lambda: place_bid(auction, BOB, MORE, after(3)),
        lambda: amend(auction, ADA, {"name": "A clock"}, after(3)),
        lambda: arrange(auction, ADA, (), after(3)),
    ]
    for act in acts:
        with pytest.raises(Paused) as refused:
            act()
        assert {"paused_at": after(2)} == refused.value.facts
    assert cancel(auction, ADA, after(3))
    with pytest.raises(TakenDown):
        place_bid(auction.after_all(moderation.hide(auction, "stolen", after(3))), BOB, MORE, after(4))
    endless = PausedGame().pause(2).auction
    with pytest.raises(Paused):
        close_now(endless, ADA, after(3))
    with pytest.raises(Paused):
        announce_end(endless, ADA, after(60), after(3))


def test_the_time_that_was_left_is_given_back() -> None:
    """A paused auction does not end however late it gets; afterwards it has as long as it had, and verifiers know why."""
    game = PausedGame(ends_at=after(600))
    game.bids("bob 100")
    game.pause(590)
    late = after(5_000)
    assert game.auction.due_at is None
    assert [] == settle(game.auction, late) == reopen_after_outage(game.auction, after(550), late)
    assert [AuctionClosed] != [type(each) for each in game.log]
    game.resume(5_000)
    assert after(5_010) == game.auction.ends_at == game.auction.due_at
    assert [] == settle(game.auction, after(5_009))
    game.add(settle(game.auction, after(5_010)))
    assert Status.CLOSED == game.auction.status
    retrace(game.log)


def test_a_start_that_was_ahead_moves_too_and_one_that_was_past_does_not() -> None:
    """So an auction neither opens while it is paused nor begins again; the cap of its soft close moves as its end does."""
    rule = SoftClose(60, 60, after(700))
    scheduled = PausedGame(starts_at=after(60), ends_at=after(600), soft_close=rule).pause(10)
    assert [] == open_if_due(scheduled.auction, after(100))
    scheduled.resume(100)
    assert (after(150), after(690)) == (scheduled.auction.starts_at, scheduled.auction.ends_at)
    assert SoftClose(60, 60, after(790)) == scheduled.auction.soft_close
    begun = PausedGame(starts_at=after(60), ends_at=after(600)).pause(70)
    assert [AuctionOpened, AuctionPaused] == [type(each) for each in begun.log[-2:]]
    begun.resume(100)
    assert (after(60), after(630)) == (begun.auction.starts_at, begun.auction.ends_at)
    for game in (scheduled, begun):
        retrace(game.log)


def test_a_clock_stops_once_and_goes_on_once() -> None:
    """It is not stopped twice, nor goes on if it goes; nor does either happen once the auction has come to its end."""
    game = PausedGame(ends_at=after(600))
    assert [] == pausing.resume(game.auction, after(1)) == pausing.pause(game.auction, after(600))
    game.pause(2)
    assert [] == pausing.pause(game.auction, after(3))
    over = game.add(moderation.cancel(game.auction, "no", after(4))).auction
    assert [] == pausing.pause(over, after(5)) == pausing.resume(over, after(5))
    for told in (AuctionPaused(at=after(5)), AuctionResumed(at=after(5), starts_at=None, ends_at=None)):
        with pytest.raises(RuleViolation):
            retrace([*game.log[:2], told, told])


def test_a_void_while_paused_counts_the_time_that_is_left() -> None:
    """The soft close answers a void by the clock that stands still: everybody has time once it goes on."""
    game = PausedGame(ends_at=after(600), soft_close=SoftClose(60, 60))
    game.bids("bob 100")
    game.pause(590)
    game.add(voiding.void(game.auction, voiding.BidBook(game.log), 2, "A slip.", after(900)))
    game.resume(1_000)
    assert after(1_060) == game.auction.ends_at
    retrace(game.log)


def test_a_verifier_finds_a_bid_or_an_end_during_a_pause() -> None:
    """A pause of which a ledger tells binds: no bid is in it, and no time is lost or gained by it."""
    game = PausedGame(ends_at=after(600))
    bid = place_bid(game.auction, BOB, MORE, after(5))
    paused = pausing.pause(game.auction, after(2))
    with pytest.raises(RuleViolation, match="stands still"):
        retrace([*game.log, *paused, *bid])
    stretched = [AuctionResumed(at=after(10), starts_at=None, ends_at=after(900))]
    with pytest.raises(RuleViolation, match="endsAt"):
        retrace([*game.log, *paused, *stretched])


def test_the_view_says_since_when_it_is_paused() -> None:
    """`pausedAt` is there only while the clock stands still."""
    game = PausedGame(ends_at=after(600)).pause(2)
    assert instant(after(2)) == auction_view(game.auction).paused_at
    assert not isinstance(auction_view(game.resume(3).auction).paused_at, str)


def test_an_end_follows_only_to_later() -> None:
    """It moves to the instant before which it may not come. A paused, endless or finished auction stays as it is."""
    game = PausedGame(ends_at=after(600))
    assert [] == follow(game.auction, after(600), after(1))
    moved = follow(game.auction, after(630), after(1))
    assert [AuctionExtended(at=after(1), ends_at=after(630), reason=Reason.FOLLOWS)] == moved
    retrace([*game.log, *moved])
    with pytest.raises(RuleViolation):
        retrace([*game.log, AuctionExtended(at=after(1), ends_at=after(590), reason=Reason.FOLLOWS)])
    assert [] == follow(game.auction, after(630), after(630)), (
        "the house was away: the lot ends at its own end, in order of time"
    )
    assert [] == follow(PausedGame().auction, after(630), after(1))
    assert [] == follow(PausedGame(ends_at=after(600)).pause(2).auction, after(630), after(3))
    assert [] == follow(game.add(moderation.cancel(game.auction, "no", after(4))).auction, after(630), after(5))


def _later(act: Act, gap: int) -> Act:
    """Return an act with the instants that it names moved by `gap`."""
    match act:
        case Amend(who, changes):
            moved = ((name, _moved(name, value, gap)) for name, value in changes)
            return Amend(who, tuple(moved))
        case Announce(who, ends):
            return Announce(who, ends + gap)
        case Outage(since):
            return Outage(since + gap)
    return act


def _moved(name: str, value: Any, gap: int) -> Any:
    return value + gap if name in ("starts", "ends") and value is not None else value


def _terms(lot: Terms, stopped: int, gap: int) -> Terms:
    """Return terms with what was ahead at the pause moved by its length."""

    def moved(when: int | None) -> int | None:
        return when if when is None or when <= stopped else when + gap

    soft = lot.soft_close
    soft = None if soft is None else replace(soft, cap=moved(soft.cap))
    return replace(lot, starts=moved(lot.starts), ends=moved(lot.ends), soft_close=soft)


@given(histories(), st.integers(0, 12), st.sampled_from((1, SECOND, 90 * SECOND, 86_400 * SECOND)))
def test_a_pause_changes_instants_alone(history: History, index: int, gap: int) -> None:
    """A history with a pause in it is the history without one, later by the pause: the same bids, leaders and outcome."""
    oracle, plain, paused = Oracle(history.lot), Game(history.lot), Game(history.lot)
    stopped: int | None = None
    before = 0
    for step, (now, act) in enumerate(history.acts(oracle)):
        if step == index:
            stopped = before
            assume(not plain.auction.over and (plain.auction.ends_at is None or at(stopped) < plain.auction.ends_at))
            _change(paused, pausing.pause, at(stopped))
            _change(paused, pausing.resume, at(stopped + gap))
        oracle.do(act, now)
        shifted, moved = (act, now) if stopped is None else (_later(act, gap), now + gap)
        assert plain.do(act, now) == paused.do(shifted, moved)
        before = now
    assume(stopped is not None)
    assert stopped is not None
    event(str(plain.auction.outcome))
    one, other = (seen(game.auction, game.rows(), _kinds(game)) for game in (plain, paused))
    assert {**one, "lot": _terms(one["lot"], stopped, gap)} == other
    retrace(paused.log)


def _change(game: Game, what: Callable[[Auction, datetime], list[Any]], now: datetime) -> None:
    for each in what(game.auction, now):
        game.auction = game.auction.after(each)
        game.log.append(each)


def _kinds(game: Game) -> list[str]:
    """Return the types of the events but those of the clock; a pause opens an auction whose start has come."""
    return sorted(each.TYPE for each in game.log if "paused" not in each.TYPE and "resumed" not in each.TYPE)
