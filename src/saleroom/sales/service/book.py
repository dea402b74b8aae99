"""The book: staff enter absentee bids for paddles, change them, and take them back before the lot is called."""

from __future__ import annotations

from decimal import Decimal

import msgspec
from msgspec import Struct

from saleroom.accounts.domain import audit as audit_words
from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import place_bid
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.service.recording import advance
from saleroom.bidding.storage import bids, event_log
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.page import Page, page_of
from saleroom.kernel.parties import Party
from saleroom.sales.domain import book as rules
from saleroom.sales.domain.book import BookBid, BookLine, BookRow
from saleroom.sales.domain.book_views import line_view
from saleroom.sales.domain.errors import OfAuctions, UnknownLot
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_one
from saleroom.sales.service.people.paddles import admitted, of_a_paddle, with_paddle
from saleroom.sales.storage import book, lots
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


class BookPage(Struct, frozen=True):
    """A page of the book of a sale, the newest line first."""

    sale: Sale
    lines: Page[BookRow, int]


def listed(tx: Transaction, token: str | None, gid: str, limit: int, before: int | None = None) -> BookPage:
    """Return a page of the book of a sale. Raises Unauthenticated, MissingRight or UnknownSale."""
    authenticate(tx, token, Right.RUN_SALE)
    sale = get_one(tx, gid, staff=True)
    return BookPage(sale, page_of(book.page(tx, sale.id, limit + 1, before), limit, lambda line: line.id))


def enter(tx: Transaction, token: str, gid: str, line: BookLine, key: IdempotencyKey | None = None) -> bytes:
    """Do what a line says, and return the JSON of a `BookLineView`. A line that is there already changes nothing.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot, UnknownPaddle, SaleOver, BidsThere,
    NotPublished, OfAuctions of a fund-a-need, and as `domain.book`, `bidding.domain.bidding.place_bid` and the admission of
    the sale do.
    """
    authenticate(tx, token, Right.RUN_SALE)
    sale = get_one(tx, gid, staff=True)
    lot = lots.find(tx, sale.id, line.label)
    locked = {} if lot is None else lots.lock_auctions(tx, [lot])
    staff = authenticate(tx, token, Right.RUN_SALE)  # they may have lost it while others held the lock

    def do() -> bytes:
        rules.refuse_without_book(sale)
        if lot is not None and lot.need is not None:
            raise OfAuctions
        if lot is None or lot.gid not in locked:
            raise UnknownLot
        auction = locked[lot.gid]
        user = with_paddle(tx, auction, line.paddle)
        _change(tx, staff, auction, user, line)
        found = book.last(tx, auction.id, user.id)
        assert found is not None, "a line was entered, or one was taken back"
        return _encode(line_view(found))

    return once(tx, staff, key, do)


def _change(tx: Transaction, staff: Account, auction: Auction, user: Party, line: BookLine) -> None:
    now = tx.now()
    rules.refuse_on_block(auction, now)
    log = BidBook(event_log.read(tx, auction.id))
    before = rules.standing(log, user.id, book.of_lot(tx, auction.id))
    if line.maximum is not None and line.maximum == before.maximum:
        return
    facts: audit_words.Facts = {"lot": line.label, "paddle": line.paddle}
    if rules.takes_back(before, line.maximum):
        log.refuse_bidder(staff.id)
        auction = advance(tx, auction, rules.take_back(auction, log, before, line.reason, now))
        bids.mark(tx, auction.id, log.marks())
        audit.note(tx, staff, audit_words.Act.ABSENTEE_BID_TAKEN_BACK, auction.gid, facts, {}, line.reason)
    if line.maximum is not None:
        _place(tx, staff, auction, line.paddle, line.maximum)
        audit.note(tx, staff, audit_words.Act.ABSENTEE_BID_ENTERED, auction.gid, {}, facts)


@of_a_paddle()
def _place(tx: Transaction, staff: Account, auction: Auction, paddle: int, maximum: Decimal) -> None:
    # The withdrawal is written by now, so that the exposure of the bidder no longer counts it.
    of_lot, party = admitted(tx, auction, paddle)
    now = tx.now()
    made = place_bid(auction, party, rules.request(maximum), now)
    of_lot.take(auction, party, maximum, auction.after_all(made))
    advance(tx, auction, made)
    log = BidBook(event_log.read(tx, auction.id))
    version, _ = log.standing_of(party.id)[-1]
    book.add(tx, auction.id, BookBid(log.own_numbers[version], maximum), staff.id, now)
