"""The receipt book: every receipt that a bidder got is found again in the log."""

from hypothesis import given
from msgspec import json, structs

from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.bidding import buy_now
from saleroom.bidding.domain.closing import settle
from saleroom.bidding.domain.events import AuctionCreated, BidPlaced, BidPrices, Event, MaximumRaised
from saleroom.bidding.domain.ledger import LedgerEvent, enter
from saleroom.bidding.domain.receipt_book import ReceiptBook
from saleroom.bidding.domain.receipts import Receipt, receipt_of
from tests.bidding.domain.examples import BOB, after, an_auction, place
from tests.bidding.domain.oracle import Bid, Buy
from tests.bidding.domain.playing import T0, PlayedStep, party, play, request
from tests.histories import PEOPLE, History, histories


@given(histories())
def test_every_receipt_is_found_again(history: History) -> None:
    """For each bidder the book gives the receipts that the bids were answered with, whatever else happened around them."""
    game = play(history)
    log, given_out = _issued(game.log, game.taken)
    for name in PEOPLE:
        book = ReceiptBook("gid", name)
        for event in log:  # a page may end anywhere
            book.read([event])
        assert [one for one in given_out if one.bidder == name] == book.receipts


def _issued(events: list[Event], taken: list[PlayedStep]) -> tuple[list[LedgerEvent], list[Receipt]]:
    """Return the log as it is stored, and every receipt in order; each request was received when it was decided."""
    first = events[0]
    assert isinstance(first, AuctionCreated)
    auction, entry = enter(begin(7, first), first)
    log = [LedgerEvent(first.TYPE, first.at, entry.payload, json.decode(entry.private))]
    receipts = []
    for step in taken:
        made = [_received(event) for event in step.events]
        for event in made:
            auction, entry = enter(auction.after(event), event)
            log.append(LedgerEvent(event.TYPE, event.at, entry.payload, json.decode(entry.private)))
        if made and isinstance(step.act, Bid | Buy):
            receipts.append(_receipt(auction, step.act, made))
    return log, receipts


def _receipt(auction: Auction, act: Bid | Buy, made: list[Event]) -> Receipt:
    """Return the receipt as the house signs it for `act`; of a raise it can give again only the maximum."""
    bidder = party(act.who)
    own = next((e for e in reversed(made) if isinstance(e, BidPlaced) and e.bidder_id == bidder.id), None)
    asked = None if isinstance(act, Buy) else request(act).asked
    if own is None:
        assert asked is not None
        asked = BidPrices(None, asked.maximum)
    said = structs.replace(request(Bid(act.who, None, None)), received_at=made[-1].at)
    said = said if asked is None else structs.replace(said, amount=asked.amount, maximum=asked.maximum)
    return receipt_of(auction, bidder, said, own, made[-1].at)


def _received(event: Event) -> Event:
    if isinstance(event, MaximumRaised) or (isinstance(event, BidPlaced) and not event.automatic):
        return structs.replace(event, received_at=event.at)
    return event


def test_a_purchase_stands_where_it_closed_the_auction() -> None:
    """The receipt of a purchase names the close, which came with it; that of a bid does not name a later close."""
    bought = buy_now(an_auction(buy_now_price="200"), BOB, T0)
    assert [3] == _sequences(an_auction(buy_now_price="200"), "bob", bought)
    lot = an_auction(ends_at=after(60), soft_close=None)
    led, made = place(lot, "bob 100")
    assert [2] == _sequences(lot, "bob", [*made, *settle(led, after(60))])


def test_a_bid_that_was_held_off_stands_at_the_answer_to_it() -> None:
    """The leader's answer came with the bid; a later automatic bid of the leader came with the bid of somebody else."""
    lot = an_auction()
    _, made = place(lot, "dee up to 200", "bob 120", "cyd up to 300")
    assert ["dee", "bob", "dee", "dee", "cyd"] == [bid.bidder for bid in made if isinstance(bid, BidPlaced)]
    assert [4] == _sequences(lot, "bob", made)


def _sequences(lot: Auction, bidder: str, made: list[Event]) -> list[int]:
    """Return the events that the receipts of a bidder name, of bids that follow the creation of `lot`."""
    book, auction = ReceiptBook("gid", bidder), lot
    for event in map(_received, made):
        auction, entry = enter(auction.after(event), event)
        book.read([LedgerEvent(event.TYPE, event.at, entry.payload, json.decode(entry.private))])
    return [receipt.sequence for receipt in book.receipts]
