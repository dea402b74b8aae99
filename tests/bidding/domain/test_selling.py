"""What an author may do: create, amend, cancel, announce the end, close; and every contradiction."""

from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any

import pytest

from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.closing import close, open_if_due
from saleroom.bidding.domain.errors import TooManyAuctions
from saleroom.bidding.domain.events import (
    AuctionAmended,
    AuctionCancelled,
    AuctionClosed,
    AuctionOpened,
    Outcome,
    SoftClose,
)
from saleroom.bidding.domain.increments import DEFAULT_LADDER
from saleroom.bidding.domain.selling import Draft, refuse_too_many
from saleroom.kernel.errors import Invalid
from saleroom.kernel.parties import Party
from tests.bidding.domain.examples import ADA, BOB, after, an_auction, eur, place, refusal, window
from tests.bidding.domain.playing import T0, refusal_code
from tests.rows import each_of

START, END = after(600), after(3600)


@pytest.mark.parametrize(
    ("starts", "status"),
    [
        (None, "open"),
        (after(microseconds=1), "scheduled"),
        (START, "scheduled"),
        (T0, "open"),
        (after(-60), "open"),
    ],
)
def test_an_auction_begins_scheduled_or_open(starts: datetime | None, status: str) -> None:
    """An auction before its startsAt is scheduled; with a past startsAt or none, it is open from its creation."""
    assert status == an_auction(starts_at=starts).status


def test_terms_have_defaults() -> None:
    """No text, reserve, buy-now price, start or end; the default ladder; a soft close of two minutes for two minutes."""
    auction = an_auction()
    assert "" == auction.description
    assert (None, None, None, None) == (
        *(auction.reserve_price, auction.buy_now_price, auction.starts_at, auction.ends_at),
    )
    assert DEFAULT_LADDER == auction.ladder
    assert SoftClose(120, 120, None) == auction.soft_close
    assert (1, 1, 0, T0) == (auction.version, auction.position, auction.bid_count, auction.created_at)


# Terms that contradict each other or the clock (the starting price is 100): the faults, all at once.
CONTRADICTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({"reserve_price": "100"}, []),
    ({"reserve_price": "99.999"}, ["reserve_price/below_starting_price"]),
    ({"buy_now_price": "100"}, []),
    ({"buy_now_price": "99.999"}, ["buy_now_price/below_starting_price"]),
    ({"reserve_price": "200", "buy_now_price": "200"}, []),
    ({"reserve_price": "200", "buy_now_price": "199.999"}, ["buy_now_price/below_reserve_price"]),
    (
        {"reserve_price": "98", "buy_now_price": "97"},
        [
            "buy_now_price/below_reserve_price",
            "buy_now_price/below_starting_price",
            "reserve_price/below_starting_price",
        ],
    ),
    ({"ends_at": after(microseconds=1)}, []),
    ({"ends_at": T0}, ["ends_at/not_in_future"]),
    ({"ends_at": after(-1)}, ["ends_at/not_in_future"]),
    ({"starts_at": START, "ends_at": after(600, microseconds=1)}, []),
    ({"starts_at": START, "ends_at": START}, ["ends_at/not_after_start"]),
    ({"starts_at": START, "ends_at": after(599)}, ["ends_at/not_after_start"]),
    ({"starts_at": START, "ends_at": after(-1)}, ["ends_at/not_after_start", "ends_at/not_in_future"]),
    ({"ends_at": END, "soft_close": window(120, cap=3600)}, []),
    ({"ends_at": END, "soft_close": window(120, cap=3599.999999)}, ["soft_close/cap_before_end"]),
    ({"soft_close": window(120, cap=-1)}, []),
    (
        {"reserve_price": "1", "ends_at": T0, "starts_at": START, "soft_close": window(120, cap=-1)},
        [
            *("ends_at/not_after_start", "ends_at/not_in_future", "reserve_price/below_starting_price"),
            "soft_close/cap_before_end",
        ],
    ),
]


@pytest.mark.parametrize(("terms", "faults"), CONTRADICTIONS)
def test_contradictions_at_creation(terms: dict[str, Any], faults: list[str]) -> None:
    """Terms that contradict each other or the clock are refused with every fault of every field."""
    refused = refusal(lambda: an_auction(**terms))
    assert faults == ([] if refused is None else refusal_code(refused).split()[1:])


@pytest.mark.parametrize(("terms", "faults"), CONTRADICTIONS)
def test_contradictions_when_amended(terms: dict[str, Any], faults: list[str]) -> None:
    """The same terms are refused in the same way if an author amends an auction into them."""
    money = {name: eur(value) for name, value in terms.items() if name.endswith("_price")}
    changes = {"starts_at": None, **terms, **money}
    refused = refusal(selling.amend, an_auction(starts_at=after(300)), ADA, changes, T0)
    assert faults == ([] if refused is None else refusal_code(refused).split()[1:])


def test_an_end_that_stands_is_not_held_against_the_clock() -> None:
    """Amending another term does not check the end again, which was in the future when it was set."""
    auction = an_auction(ends_at=END)
    [amended] = selling.amend(auction, ADA, {"name": "Bracket clock"}, after(3599))
    assert "Bracket clock" == auction.after(amended).name


def test_amending_tells_all_terms() -> None:
    """An amendment's event has all terms as they are now, the reserve too (kept private), and what follows from them."""
    auction = an_auction(description="walnut", reserve_price="150", ends_at=END)
    [amended] = selling.amend(auction, ADA, {"starting_price": eur("120"), "buy_now_price": eur("500")}, after(1))
    assert (
        AuctionAmended(
            at=after(1),
            name="Longcase clock",
            description="walnut",
            starting_price=eur("120"),
            buy_now_price=eur("500"),
            reserve_price=eur("150"),
            soft_close=SoftClose(120, 120),
            starts_at=None,
            ends_at=END,
            minimum_bid=eur("120"),
            reserve_met=False,
        )
        == amended
    )


def test_no_change_in_effect_is_no_event() -> None:
    """Amending an auction into the terms that it has leaves no trace."""
    auction = an_auction(ends_at=END)
    assert [] == selling.amend(auction, ADA, {"name": "Longcase clock", "ends_at": END}, after(1))
    assert [] == selling.amend(auction, ADA, {}, after(1))


@pytest.mark.parametrize(
    ("starts", "opened"), [(None, True), (after(60), True), (T0, True), (after(60, microseconds=1), False)]
)
def test_a_start_moved_to_the_past_opens_it_now(starts: datetime | None, opened: bool) -> None:
    """If a start is removed, or moved to now or the past, the auction opens at the amendment, not before."""
    auction = an_auction(starts_at=START)
    amended, *opening = selling.amend(auction, ADA, {"starts_at": starts}, after(60))
    assert ([AuctionOpened(at=after(60))] if opened else []) == opening
    assert ("open" if opened else "scheduled") == auction.after_all([amended, *opening]).status


def test_a_start_that_has_come_cannot_be_moved() -> None:
    """Once an auction has started, opened by the closer or not, startsAt is fixed; all else may still be amended."""
    noticed = an_auction(starts_at=START)
    noticed = noticed.after_all(open_if_due(noticed, START))
    for auction in (an_auction(starts_at=START), noticed, an_auction()):
        refused = refusal(selling.amend, auction, ADA, {"starts_at": after(700)}, START)
        assert "auction_started" == (refused and refused.code)
        assert [] != selling.amend(auction, ADA, {"name": "Bracket clock"}, START)


def test_cancelling_keeps_the_auction() -> None:
    """A cancelled auction is over without an outcome, and has no minimum bid."""
    auction = an_auction()
    events = selling.cancel(auction, ADA, after(1))
    assert [AuctionCancelled(at=after(1))] == events
    cancelled = auction.after_all(events)
    assert ("cancelled", None, None, None) == (
        *(cancelled.status, cancelled.outcome, cancelled.minimum_bid, cancelled.due_at),
    )


def test_announcing_the_end() -> None:
    """An auction without an end gets one, even after bids; only the end changes."""
    auction, _ = place(an_auction(), "bob up to 150")
    [announced] = selling.announce_end(auction, ADA, END, after(1))
    assert isinstance(announced, AuctionAmended)
    assert (END, eur("110")) == (announced.ends_at, announced.minimum_bid)
    assert END == auction.after(announced).ends_at


@pytest.mark.parametrize(
    ("terms", "ends", "faults"),
    [
        ({}, T0, "ends_at/not_in_future"),
        ({}, after(-1), "ends_at/not_in_future"),
        ({"starts_at": START}, START, "ends_at/not_after_start"),
        ({"soft_close": window(120, cap=60)}, after(61), "soft_close/cap_before_end"),
    ],
)
def test_an_end_that_contradicts(terms: dict[str, Any], ends: datetime, faults: str) -> None:
    """An announced end must be in the future, after the start, and not after the cap."""
    refused = refusal(selling.announce_end, an_auction(**terms), ADA, ends, T0)
    assert isinstance(refused, Invalid)
    assert f"validation {faults}" == refusal_code(refused)


def test_closing_now() -> None:
    """The author of an auction without an end can close it now, with the outcome by the rules."""
    assert [AuctionClosed(at=after(1), outcome=Outcome.NO_BIDS, winner=None, price=None)] == selling.close_now(
        an_auction(), ADA, after(1)
    )
    auction, _ = place(an_auction(), "bob up to 150")
    [closed] = selling.close_now(auction, ADA, after(1))
    assert AuctionClosed(at=after(1), outcome=Outcome.SOLD, winner="bob", price=eur("100")) == closed


def test_closing_now_after_an_unnoticed_start_opens_first() -> None:
    """If the auction is due to open, closing it opens it first, dated by its start; cancelling does the same."""
    auction = an_auction(starts_at=START)
    for act in (selling.close_now, selling.cancel):
        events = act(auction, ADA, after(601))
        assert [START, after(601)] == [event.at for event in events]
        assert isinstance(events[0], AuctionOpened)


@pytest.mark.parametrize(("reserve", "met"), [(None, None), ("100", False)])
def test_a_new_auction_tells_that_its_reserve_is_not_met(reserve: str | None, met: bool | None) -> None:
    """A new auction tells that its reserve is not met, whatever its amount; without a reserve it tells null."""
    draft = Draft(name="Stool", starting_price=eur("100"), reserve_price=None if reserve is None else eur(reserve))
    assert met is selling.create("gid", ADA, draft, T0).reserve_met


def test_a_refusal_for_its_time_names_the_instant() -> None:
    """A refusal because of a fixed start, a later start or a fixed end has that instant among its facts."""
    started, ahead, ending = an_auction(starts_at=T0), an_auction(starts_at=START), an_auction(ends_at=END)
    refused = [
        refusal(selling.amend, started, ADA, {"starts_at": START}, after(1)),
        refusal(selling.close_now, ahead, ADA, after(1)),
        refusal(selling.close_now, ending, ADA, after(1)),
        refusal(selling.announce_end, ending, ADA, after(9999), after(1)),
    ]
    facts: list[dict[str, datetime]] = [{"starts_at": T0}, {"starts_at": START}, *[{"ends_at": END}] * 2]
    assert facts == [None if one is None else one.facts for one in refused]


def _rearrange(auction: Auction, author: Party, now: datetime) -> object:
    selling.refuse_unless_amendable(auction, author, now)
    return None


def test_its_author_may_rearrange_what_may_be_amended() -> None:
    """The author may change what belongs to an auction until the first bid."""
    assert _rearrange(an_auction(ends_at=END), ADA, after(1)) is None


def _amend(auction: Auction, author: Party, now: datetime) -> object:
    return selling.amend(auction, author, {"name": "Bracket clock"}, now)


def _announce(auction: Auction, author: Party, now: datetime) -> object:
    return selling.announce_end(auction, author, after(9999), now)


def _closed() -> Auction:
    auction = an_auction()
    return auction.after(close(auction, T0))


def _cancelled() -> Auction:
    auction = an_auction()
    return auction.after_all(selling.cancel(auction, ADA, T0))


def _bid_on() -> Auction:
    return place(an_auction(ends_at=END), "bob 100")[0]


Act = Callable[[Auction, Party, datetime], object]
EVERY: tuple[Act, ...] = (_amend, _rearrange, selling.cancel, _announce, selling.close_now)


@each_of(
    *({"act": act, "auction": an_auction, "who": BOB, "now": T0, "code": "not_author"} for act in EVERY),
    *({"act": act, "auction": _closed, "who": BOB, "now": T0, "code": "not_author"} for act in EVERY),
    *({"act": act, "auction": _closed, "who": ADA, "now": T0, "code": "auction_closed"} for act in EVERY),
    *({"act": act, "auction": _cancelled, "who": ADA, "now": T0, "code": "auction_closed"} for act in EVERY),
    *({"act": act, "auction": _bid_on, "who": ADA, "now": END, "code": "auction_closed"} for act in EVERY),
    *({"act": act, "auction": _bid_on, "who": ADA, "now": after(1), "code": "has_bids"} for act in EVERY[:3]),
    *({"act": act, "auction": _bid_on, "who": ADA, "now": after(1), "code": "ends_by_itself"} for act in EVERY[3:]),
    {
        "act": selling.close_now,
        "auction": lambda: an_auction(starts_at=START),
        "who": ADA,
        "now": after(1),
        "code": "auction_not_started",
    },
)
def test_refusals_of_an_author_come_in_order(
    act: Act, auction: Callable[[], Auction], who: Party, now: datetime, code: str
) -> None:
    """Refusals come in order: not the author, auction over, has bids or an end, not yet started."""
    refused = refusal(act, auction(), who, now)
    assert code == (refused and refused.code)


@pytest.mark.parametrize("seed", ["", "5" * 64])
def test_the_first_event_has_the_seed(seed: str) -> None:
    """The seed of an auction's salts is in its first event, as it was drawn."""
    draft = Draft(name="Stool", starting_price=eur("0"))
    created = selling.create("gid", ADA, draft, T0, seed) if seed else selling.create("gid", ADA, draft, T0)
    assert seed == created.seed


def test_a_draft_needs_no_more_than_a_name_and_a_price() -> None:
    """A name and a starting price are enough to sell."""
    created = selling.create("gid", ADA, Draft(name="Stool", starting_price=eur("0")), T0)
    assert ("gid", "ada", 100, eur("0"), None) == (
        *(created.gid, created.author, created.author_id, created.minimum_bid, created.reserve_met),
    )


@pytest.mark.parametrize(
    ("running", "earlier", "refused"),
    [
        (0, None, False),
        (2, None, False),
        (3, None, True),
        (0, T0 - timedelta(hours=24), False),
        (0, T0 - timedelta(hours=23), True),
    ],
)
def test_how_many_auctions_an_author_may_have(running: int, earlier: datetime | None, refused: bool) -> None:
    """With a limit of three, an author may have three auctions running, and create three in a day."""
    with pytest.raises(TooManyAuctions) if refused else nullcontext() as refusal:
        refuse_too_many(running, earlier, 3, T0)
    assert refusal is None or {"limit": 3} == refusal.value.facts
