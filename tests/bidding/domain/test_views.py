"""What everyone sees of an auction and its events, and what stays private."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import buy_now
from saleroom.bidding.domain.block import Block
from saleroom.bidding.domain.block_events import Stage
from saleroom.bidding.domain.closing import settle
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.events import BidPlaced, Event, SoftClose
from saleroom.bidding.domain.increments import fixed
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.domain.selling import cancel, close_now
from saleroom.bidding.domain.views import (
    BidView,
    auction_view,
    cloud_event,
    event_from_parts,
    event_parts,
    is_tied,
    last_amount,
    leader_first,
    view_after_bid,
    with_whole_ties,
)
from saleroom.kernel.instants import instant
from saleroom.kernel.money import LIMIT
from tests.bidding.domain.examples import ADA, CY, NEW_AUCTION, after, an_auction, eur, place
from tests.bidding.domain.playing import play
from tests.histories import History, histories


def seen(auction: Auction, *, own: bool = False) -> dict[str, Any]:
    """An auction as JSON."""
    shown: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(auction_view(auction, own=own)))
    return shown


def test_a_new_auction_is_the_contracts_example() -> None:
    """An auction is shown as in docs/api.md, member by member and in its order."""
    assert list(NEW_AUCTION.items()) == list(seen(an_auction()).items())


def test_the_reserve_is_hidden_from_unknown_readers() -> None:
    """A reserve is shown only to its author, and to nobody if the reader is not known."""
    auction = an_auction(reserve_price="300")
    assert "reservePrice" not in msgspec.json.decode(msgspec.json.encode(auction_view(auction)))
    assert "300.000" == seen(auction, own=True)["reservePrice"]
    assert "reservePrice" not in seen(an_auction(), own=True)


def test_an_auction_that_is_over_shows_how() -> None:
    """An auction that is over shows its status and its outcome, and no minimum bid."""
    auction = an_auction(ends_at=after(60))
    over = seen(auction.after_all(settle(auction, after(60))))
    assert ("closed", "no_bids", None) == (over["status"], over["outcome"], over["minimumBid"])


def test_how_the_price_and_the_end_move_is_shown_as_it_was_asked_for() -> None:
    """A fixed step is shown as a step, tiers as tiers; a soft close is shown with its cap, or as null."""
    shown = seen(an_auction(increment=fixed(eur("5")), soft_close=SoftClose(60, 30, after(90))))
    assert ("5.000", {"window": 60, "extension": 30, "cap": "2026-11-21T12:01:30.000000Z"}) == (
        *(shown["increment"], shown["softClose"]),
    )
    assert seen(an_auction(soft_close=None))["softClose"] is None


@pytest.mark.parametrize(
    ("over", "at"),
    [
        (lambda auction: settle(auction, after(999)), "2026-11-21T12:01:00.000000Z"),
        (lambda auction: buy_now(auction, CY, after(10)), "2026-11-21T12:00:10.000000Z"),
        (lambda auction: cancel(auction, ADA, after(20)), "2026-11-21T12:00:20.000000Z"),
    ],
    ids=["by its end", "bought", "cancelled"],
)
def test_an_auction_tells_since_when_it_is_over(over: Callable[[Auction], list[Event]], at: str) -> None:
    """`closedAt` is when it was closed, bought or cancelled, whatever end was announced; before that it is null."""
    auction = an_auction(ends_at=after(60), buy_now_price="500")
    assert (None, at) == (seen(auction)["closedAt"], seen(auction.after_all(over(auction)))["closedAt"])


def test_an_auction_that_its_author_closed_tells_since_when() -> None:
    """The `closedAt` of an auction without an end is when its author closed it."""
    auction = an_auction()
    closed = seen(auction.after_all(close_now(auction, ADA, after(5))))
    assert (None, "2026-11-21T12:00:05.000000Z") == (closed["endsAt"], closed["closedAt"])


@given(history=histories())
def test_the_last_event_is_the_one_that_ends_it(history: History) -> None:
    """In every sale `closedAt` is the instant of the event that ended it, because no event follows that."""
    game = play(history)
    ends = [event.at for event in game.log if event.TYPE in ("auction.closed", "auction.cancelled")]
    assert ends == ([] if game.auction.closed_at is None else [game.auction.closed_at])
    assert not ends or game.log[-1].at == ends[0]


@given(history=histories())
def test_a_view_is_moved_on_by_each_bid(history: History) -> None:
    """In every sale the view after a bid follows from the one before: no bid changes anything else."""
    game = play(history)
    auctions = [replay(7, game.log[: position + 1]) for position in range(len(game.log))]
    for before, after_it, last in zip(auctions, auctions[1:], game.log[1:], strict=False):
        if isinstance(last, BidPlaced):
            assert auction_view(after_it) == view_after_bid(auction_view(before), after_it)


def test_a_view_is_moved_on_by_a_bid_on_the_block() -> None:
    """A bid takes a warning back, so the stage follows it too, and so does the price that is asked for."""
    block = Block(Stage.FINAL_CALL, eur("200"), 0)
    warned = structs.replace(an_auction(), block=block)
    bid, _ = place(warned, "bob 200")
    assert Stage.CALLED == view_after_bid(auction_view(warned), bid).stage
    assert auction_view(bid) == view_after_bid(auction_view(warned), bid)


@given(history=histories())
def test_the_parts_of_an_event_are_ready_for_json(history: History) -> None:
    """In the parts of every kind of event are only values that JSON has: no instants and no tuples."""

    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(map(plain, value.values()))
        return all(map(plain, value)) if type(value) is list else value is None or type(value) in (str, int, bool)

    for event in play(history).log:
        assert all(map(plain, event_parts(event)))


def test_an_auction_with_bids() -> None:
    """Price, leader, instants and the reserve's state are shown; the reserve, limits and users' numbers never are."""
    auction = an_auction(reserve_price="300", starts_at=after(-60), ends_at=after(3600), buy_now_price="900")
    auction, _ = place(auction, "bob up to 250", "cyd 120", now=after(1))
    expected = {
        "currentBid": "130.000",
        "currentBidder": "bob",
        "currentBidAt": "2026-11-21T12:00:01.000000Z",
        "minimumBid": "140.000",
        "bidCount": 3,
        "reserveMet": False,
        "buyNowPrice": "900.000",
        "startsAt": "2026-11-21T11:59:00.000000Z",
        "endsAt": "2026-11-21T13:00:00.000000Z",
        "version": 4,
    }
    shown = seen(auction)
    assert expected == {name: shown[name] for name in expected}
    assert "250" not in str(shown)
    assert "300" not in str(shown)


@pytest.mark.parametrize(("own", "expected"), [(True, "150.000"), (False, None)])
def test_the_reserve_is_for_its_author(own: bool, expected: str | None) -> None:
    """The author sees `reservePrice`; for all others it is absent, not null."""
    shown = seen(an_auction(reserve_price="150"), own=own)
    assert expected == shown.get("reservePrice")
    assert own == ("reservePrice" in shown)


def test_without_a_reserve_nobody_sees_one() -> None:
    """An auction without a reserve has no `reservePrice`, even for its author."""
    assert "reservePrice" not in seen(an_auction(), own=True)


def test_there_is_no_minimum_bid_once_it_is_over() -> None:
    """`minimumBid` is null when the auction is closed or cancelled."""
    ended = an_auction(ends_at=after(60))
    closed = ended.after_all(settle(ended, after(60)))
    cancelled = ended.after_all(cancel(ended, ADA, after(1)))
    assert [("closed", None), ("cancelled", None)] == [
        (shown["status"], shown["minimumBid"]) for shown in (seen(closed), seen(cancelled))
    ]


def test_there_is_no_minimum_bid_beyond_20_digits() -> None:
    """`minimumBid` is null once no higher amount can be written; the last amount that can be written is shown."""
    auction = an_auction(starting_price="99999999999999999.998", increment=fixed(eur("0.001")))
    auction, _ = place(auction, "bob 99999999999999999.998")
    assert str(LIMIT) == seen(auction)["minimumBid"]
    auction, _ = place(auction, f"cyd {LIMIT}")
    assert (str(LIMIT), None) == (seen(auction)["currentBid"], seen(auction)["minimumBid"])


@given(st.datetimes(timezones=st.just(UTC)))
def test_instants_have_six_decimals(at: datetime) -> None:
    """Every instant is written in UTC with `Z` and six decimals, and is the same when read back."""
    text = instant(at)
    assert len("2026-11-21T12:00:00.000000Z") == len(text)
    assert at == datetime.fromisoformat(text)


@given(histories())
def test_events_survive_being_taken_apart(history: History) -> None:
    """The public and the private part together, through JSON, give back the same event."""
    for event in play(history).log:
        public, private = (msgspec.json.decode(msgspec.json.encode(part)) for part in event_parts(event))
        assert event == event_from_parts(event.TYPE, event.at, public, private)


@given(histories())
def test_nothing_private_is_in_the_wire_form(history: History) -> None:
    """Reserve, limits and users' numbers are in no public part, and a raise has no public part."""
    for event in play(history).log:
        public, private = event_parts(event)
        assert set() == set(public) & {"reservePrice", "maximum", "bidderId", "authorId", "asked", "seed", "category"}
        known = {"reserve_price", "maximum", "bidder_id", "author_id", "asked", "seed", "received_at", "category"}
        assert known >= event.PRIVATE
        assert len(event.PRIVATE - event.OPTIONAL) == len(private), "no auction here has a category"
        assert (event.TYPE != "maximum.raised") == event.PUBLIC


def test_every_event_has_a_type_of_its_own() -> None:
    """Every event of the domain is found by its type, so that each can be read back."""

    def kinds(kind: type[Event]) -> set[type[Event]]:
        return {kind}.union(*(kinds(sub) for sub in kind.__subclasses__()))

    typed = {kind for kind in kinds(Event) if "TYPE" in vars(kind)}
    assert typed == set(EVENTS.values())
    assert len(typed) == len(EVENTS)


def test_the_wire_form_is_a_cloud_event() -> None:
    """An event goes out as a CloudEvents 1.0 JSON object, numbered by the auction's version."""
    soft = SoftClose(60, 30, after(9000))
    auction = an_auction(ends_at=after(3600), soft_close=soft, reserve_price="100")
    auction, [bid] = place(auction, "bob up to 150", now=after(1.5))
    public, _ = event_parts(bid)
    assert {
        "specversion": "1.0",
        "id": "gid/2",
        "source": "/auctions/gid",
        "type": "bid.placed",
        "time": "2026-11-21T12:00:01.500000Z",
        "datacontenttype": "application/json",
        "sequence": 2,
        "data": {
            "amount": "100.000",
            "bidder": "bob",
            "automatic": False,
            "leading": True,
            "minimumBid": "110.000",
            "reserveMet": True,
            "endsAt": "2026-11-21T13:00:00.000000Z",
            "receivedAt": None,
        },
    } == msgspec.to_builtins(cloud_event("gid", auction.version, bid, public))


def test_the_leader_stands_first() -> None:
    """Bids are shown from the highest down; of two equal ones the earlier stands first, as it leads."""
    newest = [
        _bid(bidder, amount)
        for bidder, amount in (("cy", "150.000"), ("bo", "150.000"), ("cy", "99.000"), ("bo", "12.500"))
    ]
    shown = leader_first(newest)
    assert [("bo", "150.000"), ("cy", "150.000"), ("cy", "99.000"), ("bo", "12.500")] == [
        (bid.bidder, bid.amount) for bid in shown
    ]


def test_equal_bids_stay_on_one_page() -> None:
    """A page ends before two equal bids that it would part, unless it has one bid only."""
    bids = [_bid("cy", "150.000"), _bid("bo", "150.000"), _bid("cy", "99.000"), _bid("bo", "99.000")]
    assert [1, 2, 2, 4, 4] == [len(with_whole_ties(bids, count)) for count in (1, 2, 3, 4, 5)]
    assert bids[:2] == with_whole_ties(bids, 3)
    assert bids[1:2] == with_whole_ties([bids[1], *bids[2:]], 2)


def test_a_bidder_with_an_equal_later_bid_is_tied() -> None:
    """A bidder is tied whose last bid equals that of another one who leads."""
    auction, _ = place(an_auction(), "bob 150")
    view = auction_view(auction)
    assert is_tied(view, "cy", "150.000")
    assert not is_tied(view, "cy", None)
    assert not is_tied(view, "cy", "140.000")
    assert not is_tied(view, "bob", "150.000")
    assert not is_tied(auction_view(an_auction()), "cy", None)


def test_the_last_bid_of_a_bidder() -> None:
    """It is the newest of the bidder's own."""
    bids = [_bid("cy", "150.000"), _bid("bob", "150.000"), _bid("cy", "140.000")]
    assert ["150.000", "150.000", None] == [last_amount(bids, bidder) for bidder in ("cy", "bob", "dee")]


def _bid(bidder: str, amount: str) -> BidView:
    return BidView(amount=amount, bidder=bidder, received_at=None, placed_at="", automatic=False)


def test_a_category_is_shown() -> None:
    """Everybody sees the category of an auction."""
    assert "Clocks" == auction_view(an_auction(category="Clocks")).category
