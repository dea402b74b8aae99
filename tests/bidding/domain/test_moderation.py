"""Staff hide a lot, show it again, and cancel a sale (docs/rules.md, "Hidden or cancelled by the house")."""

import pytest

from saleroom.bidding.domain import moderation
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.bidding import PURCHASE, BidRequest, buy_now, place_bid
from saleroom.bidding.domain.closing import settle
from saleroom.bidding.domain.errors import AlreadyHidden, AuctionOver, NotHidden, TakenDown
from saleroom.bidding.domain.events import AuctionCancelled, AuctionHidden, AuctionOpened, Event
from saleroom.bidding.domain.reasons import conclusion
from saleroom.bidding.domain.retrace import RuleViolation, retrace
from saleroom.bidding.domain.selling import announce_end, cancel, close_now
from saleroom.bidding.domain.views import auction_view, event_parts
from tests.bidding.domain.examples import ADA, BOB, CY, after, an_auction, eur
from tests.bidding.domain.test_retrace import PlayedAuction
from tests.tools.verify.ledgers import lines_of, verified

STOLEN = "It may be stolen."
MORE = BidRequest(eur("500"), None)


class ModeratedAuction(PlayedAuction):
    """An auction by ada that staff moderate."""

    def hide(self, seconds: float = 2) -> "ModeratedAuction":
        """Hide it."""
        self.log += moderation.hide(self.auction, STOLEN, after(seconds))
        return self

    def add(self, events: list[Event]) -> "ModeratedAuction":
        """Let `events` happen."""
        self.log += events
        return self


def test_a_hidden_auction_takes_no_bids() -> None:
    """Nobody bids, raises or buys while it is hidden, and its author does not close it; shown again, it goes on."""
    game = ModeratedAuction(buy_now_price="900").hide()
    with pytest.raises(TakenDown):
        buy_now(game.auction, CY, after(3), PURCHASE)
    game = ModeratedAuction()
    game.bids("bob up to 250")
    game.hide()
    for bidder in (BOB, CY):
        with pytest.raises(TakenDown):
            place_bid(game.auction, bidder, BidRequest(None, eur("500")), after(3))
    with pytest.raises(TakenDown):
        close_now(game.auction, ADA, after(3))
    game.add(moderation.show(game.auction, after(4)))
    assert place_bid(game.auction, CY, MORE, after(5))
    retrace(game.log)


def test_a_hidden_auction_that_ends_is_cancelled() -> None:
    """Its end comes by the clock, dated by itself, and nobody has bought it; a verifier knows why."""
    game = ModeratedAuction(ends_at=after(600))
    game.bids("bob 100")
    game.hide()
    game.add(settle(game.auction, after(700)))
    assert AuctionCancelled(at=after(600)) == game.log[-1]
    assert Status.CANCELLED is game.auction.status
    assert "cancelled at its end, as the house had taken it down" == conclusion(retrace(game.log).auction)
    with pytest.raises(RuleViolation):
        retrace([*game.log[:-2], game.log[-1]])


def test_its_author_may_still_do_what_sells_nothing() -> None:
    """While it is hidden its author may announce its end, and cancel it before the first bid."""
    game = ModeratedAuction().hide()
    assert announce_end(game.auction, ADA, after(900), after(3))
    game.add(cancel(game.auction, ADA, after(3)))
    assert "cancelled by its author before any bid" == conclusion(retrace(game.log).auction)


def test_staff_cancel_a_sale_with_bids() -> None:
    """An auction with bids is cancelled for a reason, which everybody sees and a verifier tells."""
    game = ModeratedAuction()
    game.bids("bob up to 250", "cyd 150")
    game.add(moderation.cancel(game.auction, "The seller has died.", after(3)))
    assert ({"reason": "The seller has died."}, {}) == event_parts(game.log[-1])
    assert "cancelled by the house: The seller has died." == conclusion(retrace(game.log).auction)
    ledger = verified(b"".join(lines_of(game.log)))
    assert ledger.trace is not None and ledger.trace.auction.cancelled_for == "The seller has died."


def test_an_authors_cancellation_is_written_as_ever() -> None:
    """The event of an author has no reason, not even an empty one: ledgers of before stay as they are."""
    assert ({}, {}) == event_parts(AuctionCancelled(at=after(1)))


def test_the_reason_for_hiding_is_in_no_ledger() -> None:
    """The event is public, its reason is not; a ledger with it verifies without the reason."""
    game = ModeratedAuction().hide()
    assert ({}, {"hiddenFor": STOLEN}) == event_parts(game.log[-1])
    game.add(moderation.show(game.auction, after(3)))
    lines = b"".join(lines_of(game.log))
    assert STOLEN.encode() not in lines
    assert verified(lines).gid == "gid"


def test_a_scheduled_auction_opens_before_it_is_hidden() -> None:
    """Events are in order of time: a start that has come is an event before."""
    scheduled = an_auction(starts_at=after(60))
    assert [AuctionHidden] == [type(each) for each in moderation.hide(scheduled, STOLEN, after(30))]
    assert [AuctionOpened, AuctionHidden] == [type(each) for each in moderation.hide(scheduled, STOLEN, after(90))]


def test_refusals() -> None:
    """It is hidden once, shown once, and nothing happens after its end."""
    game = ModeratedAuction(ends_at=after(600)).hide()
    with pytest.raises(AlreadyHidden):
        moderation.hide(game.auction, STOLEN, after(3))
    with pytest.raises(NotHidden):
        moderation.show(ModeratedAuction().auction, after(3))
    with pytest.raises(AuctionOver):
        moderation.show(game.auction, after(600))
    with pytest.raises(AuctionOver):
        moderation.cancel(game.auction, "No.", after(600))
    with pytest.raises(AuctionOver):
        moderation.hide(ModeratedAuction(ends_at=after(600)).auction, STOLEN, after(600))


def test_who_reads_what_of_a_hidden_auction() -> None:
    """All others see neither name nor description nor the reason; its author and staff see all three."""
    auction = ModeratedAuction().hide().auction
    public, own, staff = auction_view(auction), auction_view(auction, own=True), auction_view(auction, staff=True)
    assert ("", "", True, False) == (public.name, public.description, public.hidden, bool(public.hidden_for))
    assert [("Longcase clock", STOLEN)] * 2 == [(view.name, view.hidden_for) for view in (own, staff)]
