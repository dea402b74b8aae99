"""Preconditions: a request that rests on another state than the present one does nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import BidRequest, buy_now, place_bid
from saleroom.bidding.domain.errors import AuctionChanged, TermsChanged
from saleroom.bidding.domain.events import ShownFile, ShownPhoto, SoftClose
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.domain.preconditions import Precondition, changes, refuse_if_changed
from saleroom.bidding.domain.selling import amend, announce_end, arrange, cancel, close_now
from saleroom.kernel.errors import Change, Refusal
from tests.bidding.domain.examples import ADA, BOB, CY, after, an_auction, eur, place, refusal
from tests.bidding.domain.playing import T0, play
from tests.histories import History, histories

OLD = frozenset({"1-0123456789abcdef"})
"""A tag of a first version."""
PHOTO = ShownPhoto("one", (ShownFile(400, "5a" * 32),))


def refused(action: Callable[..., object], *arguments: Any) -> tuple[str, dict[str, Any]] | None:
    """The code and the facts of a refusal."""
    found = refusal(action, *arguments)
    return None if found is None else (found.code, found.facts)


def ask(seen: Precondition | None, amount: str | None = "100") -> BidRequest:
    """A bid by a user who has seen that."""
    return BidRequest(None if amount is None else eur(amount), None, seen=seen)


def test_a_bid_is_refused_after_new_terms_but_not_after_other_bids() -> None:
    """A bid from before a change of terms or photos is refused, whatever its amount; others' bids are no such change."""
    auction = an_auction()
    assert 1 == auction.terms_version
    amended = auction.after_all(amend(auction, ADA, {"starting_price": eur("500")}, after(1)))
    pictured = amended.after_all(arrange(amended, ADA, [PHOTO], after(2)))
    assert [2, 3] == [amended.terms_version, pictured.terms_version]
    stale = ("terms_changed", {"changes": (), "version": 3})
    for seen in (1, 2, 4):
        assert stale == refused(place_bid, pictured, BOB, ask(Precondition(version=seen)), after(3))
    led, _ = place(pictured, "bob 500", "cyd 550", now=after(3))
    assert (5, 3) == (led.version, led.terms_version)
    for seen in (3, 4, 5):
        assert None is refused(place_bid, led, BOB, ask(Precondition(version=seen), "700"), after(4))


def test_an_announced_end_is_another_offer() -> None:
    """The end is the only term that may change once there are bids; the change refuses earlier bids."""
    led, _ = place(an_auction(), "bob 100")
    ending = led.after_all(announce_end(led, ADA, after(600), after(1)))
    assert "terms_changed" == (refused(place_bid, ending, CY, ask(Precondition(version=2), "200"), after(2)) or "")[0]
    assert None is refused(place_bid, ending, CY, ask(Precondition(version=3), "200"), after(2))


def test_a_price_that_nobody_saw_is_not_paid() -> None:
    """A purchase that names its price, or the version that was seen, does not buy at another price."""
    auction = an_auction(buy_now_price="200")
    dear = auction.after_all(amend(auction, ADA, {"buy_now_price": eur("99999")}, after(1)))
    price = (Change("buy_now_price", eur("200"), eur("99999")),)
    assert ("terms_changed", {"changes": price, "version": 2}) == refused(
        buy_now, dear, BOB, after(2), ask(Precondition(price=eur("200")), None)
    )
    assert "terms_changed" == (refused(buy_now, dear, BOB, after(2), ask(Precondition(version=1), None)) or "")[0]
    assert "precondition_failed" == (refused(buy_now, dear, BOB, after(2), ask(Precondition(tags=OLD), None)) or "")[0]
    good = Precondition(version=2, tags=OLD | {dear.tag}, price=eur("99999"))
    assert None is refused(buy_now, dear, BOB, after(2), ask(good, None))
    assert None is refused(buy_now, dear, BOB, after(2))


def test_a_state_that_was_lost_is_another_one() -> None:
    """After a failover a version may have other contents; its tag differs, because it holds the head of the ledger."""
    created = selling.create("gid", ADA, selling.Draft(name="Clock", starting_price=eur("100")), T0)
    auction = replay(7, [created])
    one, other = (replay(7, [created, *amend(auction, ADA, {"name": name}, after(1))]) for name in "ab")
    assert one.version == other.version
    assert one.tag != other.tag
    assert (
        "precondition_failed"
        == (refused(cancel, one, ADA, after(2), Precondition(tags=frozenset({other.tag}))) or "")[0]
    )


def test_other_reasons_come_before_changed_terms() -> None:
    """A user who could not bid in any case is told the reason for that."""
    seen = Precondition(version=9, tags=frozenset(), price=eur("1"))
    auction = an_auction(buy_now_price="200", ends_at=after(60))
    early = an_auction(buy_now_price="200", starts_at=after(60))
    led, _ = place(an_auction(buy_now_price="200"), "bob 100")
    for expected, lot, who, now in (
        ("auction_closed", auction, BOB, after(60)),
        ("auction_not_started", early, BOB, after(1)),
        ("own_auction", auction, ADA, after(1)),
    ):
        assert expected == (refused(place_bid, lot, who, ask(seen), now) or "")[0]
        assert expected == (refused(buy_now, lot, who, now, ask(seen, None)) or "")[0]
    assert "buy_now_unavailable" == (refused(buy_now, led, CY, after(1), ask(seen, None)) or "")[0]


def test_a_start_that_nobody_has_noticed_is_no_change() -> None:
    """The precondition of a bid that opens the auction is compared with the version before the opening."""
    auction = an_auction(starts_at=after(60))
    assert None is refused(
        place_bid, auction, BOB, ask(Precondition(version=1, tags=frozenset({auction.tag}))), after(61)
    )


ACTS: dict[str, Callable[[Auction, Precondition | None], object]] = {
    "amend": lambda auction, seen: amend(auction, ADA, {"name": "Other"}, after(5), seen),
    "arrange": lambda auction, seen: arrange(auction, ADA, [PHOTO], after(5), seen),
    "cancel": lambda auction, seen: cancel(auction, ADA, after(5), seen),
    "announce": lambda auction, seen: announce_end(auction, ADA, after(600), after(5), seen),
    "close": lambda auction, seen: close_now(auction, ADA, after(5), seen),
    "may": lambda auction, seen: selling.refuse_unless_amendable(auction, ADA, after(5), seen),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_an_act_on_an_older_state_is_refused(act: Callable[[Auction, Precondition | None], object]) -> None:
    """If an author has two tabs, the second is told that the first has changed the lot."""
    auction = an_auction()
    amended = auction.after_all(amend(auction, ADA, {"name": "New"}, after(1)))
    for seen, code in (
        (Precondition(version=1), "terms_changed"),
        (Precondition(tags=OLD), "precondition_failed"),
        (Precondition(tags=frozenset()), "precondition_failed"),
    ):
        assert (code, {"changes": (), "version": 2}) == refused(act, amended, seen)
    for good in (None, Precondition(), Precondition(version=2), Precondition(tags=OLD | {amended.tag})):
        assert None is refused(act, amended, good)


def test_a_strict_close_is_refused_after_another_bid() -> None:
    """The strict version changes with each bid, so an author who closes does not sell to a leader they have not seen."""
    one, _ = place(an_auction(), "bob 100")
    two, _ = place(one, "cyd 150")
    assert (
        "precondition_failed"
        == (refused(close_now, two, ADA, after(1), Precondition(tags=frozenset({one.tag}))) or "")[0]
    )
    assert None is refused(close_now, two, ADA, after(1), Precondition(tags=frozenset({two.tag})))


def test_a_refusal_says_which_version_it_rests_on() -> None:
    """The refusal names the newest of several versions, so that the client can tell what has changed since."""

    def of(seen: Precondition) -> int | None:
        found = refusal(cancel, an_auction(), ADA, after(1), seen)
        assert isinstance(found, AuctionChanged)
        return found.seen

    assert [7, 9, None] == [
        of(seen)
        for seen in (
            Precondition(version=7),
            Precondition(tags=frozenset({"9-aa", "8-bb"})),
            Precondition(tags=frozenset()),
        )
    ]


def test_changes_are_named_without_secrets() -> None:
    """Prices, instants and the name are given with their values; long or secret fields by their names only."""
    before = selling.create("gid", ADA, selling.Draft(name="Clock", starting_price=eur("100")), T0)
    auction = replay(7, [before])
    assert () == changes(before, auction, ([], []))
    terms: dict[str, Any] = {
        "name": "Watch",
        "description": "Old",
        "starting_price": eur("1"),
        "reserve_price": eur("5"),
        "buy_now_price": eur("9"),
        "soft_close": SoftClose(1, 1),
        "ends_at": after(60),
    }
    amended = auction.after_all(amend(auction, ADA, terms, after(1)))
    assert (
        Change("name", "Clock", "Watch"),
        Change("description"),
        Change("starting_price", eur("100"), eur("1")),
        Change("reserve_price"),
        Change("buy_now_price", None, eur("9")),
        Change("soft_close"),
        Change("ends_at", None, after(60)),
        Change("photos"),
    ) == changes(before, amended, (["a", "b"], ["b", "a"]))


@given(histories(), st.integers(1, 40), st.integers(1, 10**6))
def test_a_current_version_makes_no_difference_to_a_bid(history: History, seen: int, amount: int) -> None:
    """A version makes no difference to a bid unless the offer has changed since; then the bid is refused."""
    game = play(history)
    auction, now, limit = game.auction, game.auction.changed_at, eur(f"{amount}")

    def of(version: int | None) -> object:
        request = BidRequest(limit, None, seen=None if version is None else Precondition(version=version))
        try:
            return place_bid(auction, CY, request, now)
        except Refusal as found:
            return found.code

    plain, versioned = of(None), of(seen)
    current = auction.terms_version <= seen <= auction.version
    first = ["auction_closed", "auction_not_started", "own_auction"]
    assert versioned == (plain if current or plain in first else "terms_changed")


def test_another_price_is_told_with_the_version_that_was_seen() -> None:
    """The refusal names the version of the request, from which the changes are found, and the price then and now."""
    auction = an_auction(buy_now_price="200")
    with pytest.raises(TermsChanged) as refused_price:
        refuse_if_changed(auction, Precondition(version=1, price=eur("150")))
    assert 1 == refused_price.value.seen
    assert (Change("buy_now_price", eur("150"), eur("200")),) == refused_price.value.facts["changes"]
