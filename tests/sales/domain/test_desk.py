"""The clerk's desk: how bids came, which lots are closed, and the pace of the sale."""

from datetime import UTC, datetime, timedelta

from saleroom.bidding.domain.block_events import AuctionCalled
from saleroom.bidding.domain.events import BidPlaced, Channel, Event
from saleroom.sales.domain.desk import PACE_LOTS, BlockMove, channels, closed, per_hour
from tests.bidding.domain.examples import eur

T0 = datetime(2026, 11, 25, 20, tzinfo=UTC)


def moved(kind: str, lot: str, minutes: float = 0) -> BlockMove:
    """A lot that moved so many minutes after the beginning."""
    return BlockMove(f"lot.{kind}", lot, T0 + timedelta(minutes=minutes))


def bid(*, automatic: bool = False, channel: Channel | None = None) -> Event:
    """A bid that came in one way."""
    return BidPlaced(
        at=T0,
        amount=eur("10"),
        bidder="ada",
        bidder_id=1,
        automatic=automatic,
        leading=True,
        minimum_bid=eur("11"),
        reserve_met=None,
        ends_at=None,
        maximum=eur("10"),
        channel=channel,
    )


def test_a_bid_is_absentee_until_the_lot_is_called() -> None:
    """Afterwards one that the house places for an earlier maximum is absentee too, and the clerk's have their channels."""
    called = AuctionCalled(at=T0, minimum_bid=eur("10"))
    log = [bid(), called, bid(), bid(automatic=True), bid(channel=Channel.FLOOR), bid(channel=Channel.PHONE)]
    assert ["absentee", "online", "absentee", "floor", "phone"] == channels(log)


def test_a_lot_that_comes_back_is_not_closed() -> None:
    """An undone hammer and a reopened lot do not count, until they are closed again."""
    moves = [moved("called", "a"), moved("closed", "a"), moved("called", "b"), moved("closed", "b")]
    assert ["a", "b"] == [one.lot for one in closed(moves)]
    assert ["a"] == [one.lot for one in closed([*moves, moved("called", "b")])]
    again = [*moves, moved("reopened", "a"), moved("called", "a"), moved("closed", "a")]
    assert ["b", "a"] == [one.lot for one in closed(again)]


def test_the_pace_is_that_of_the_last_lots() -> None:
    """A slow beginning is forgotten; before the fifth lot there is none."""
    assert None is per_hour([moved("closed", "a")])
    assert None is per_hour([moved("closed", "a"), moved("closed", "b")])
    slow = [moved("closed", str(number), number * 10 - 1000) for number in range(5)]
    assert None is per_hour(slow[:4])
    fast = [moved("closed", str(number), number / 2) for number in range(PACE_LOTS)]
    assert 6 == per_hour(slow)
    assert 120 == per_hour([*slow, *fast])
