"""Results of lots that were sold by outcry: entered, taken back, and the sheet on which people see them.

A result is one transaction, for all of its lots or for none. It locks the sale, then the lots, as the acts on the block do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain import moderation
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Channel, Event
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.service.admission import Bidders
from saleroom.bidding.service.recording import advance
from saleroom.bidding.storage import auctions, bids, event_log
from saleroom.kernel.errors import Invalid, Refusal, Unauthenticated
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.parties import Party
from saleroom.sales.domain import block
from saleroom.sales.domain import results as rules
from saleroom.sales.domain.errors import LotOnBlock, OfAuctions, UnknownLot
from saleroom.sales.domain.events import LotWithdrawn, SaleEvent
from saleroom.sales.domain.lots import Lot, LotTerms, refuse_if_withdrawn
from saleroom.sales.domain.result_views import Sheet, result_view, sheet_lot
from saleroom.sales.domain.results import Below, Result
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_one, lock_as, refuse_if_gone
from saleroom.sales.service.lots import NewLot, put_in
from saleroom.sales.service.people.paddles import of_a_paddle, with_paddle
from saleroom.sales.storage import lots, participants, sales
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


class ResultLine(Struct, frozen=True, kw_only=True):
    """A result as it arrived: for the lots `labels`, or for a new lot with a `name`; passed without price and paddle.

    `seen` are the tags of the lots, in their order, as the sender saw them; the other members are those of `Result`.
    """

    labels: Sequence[str] = ()
    name: str | None = None
    price: Decimal | None = None
    paddle: int | None = None
    channel: Channel = Channel.FLOOR
    below: Below | None = None
    is_sure: bool = False
    against: Decimal | None = None
    seen: Sequence[str] = ()
    reason: str = ""


class QueuedLine(Struct, frozen=True, kw_only=True):
    """A line that a page kept until it could be sent: who typed it, and whether it enters results or takes them back."""

    user: str
    is_undo: bool
    line: ResultLine


def send(tx: Transaction, token: str, gid: str, typed: QueuedLine, key: IdempotencyKey | None) -> bytes:
    """Enter a line or take one back. Raises Unauthenticated if somebody else is logged in by now, and as these two do."""
    if authenticate(tx, token, Right.RUN_SALE).username != typed.user:
        raise Unauthenticated
    return (take_back if typed.is_undo else enter)(tx, token, gid, typed.line, key)


def sheet(tx: Transaction, token: str | None, gid: str) -> Sheet:
    """Return all lots of a live sale with their results, for those who run it.

    Raises Unauthenticated, MissingRight or UnknownSale.
    """
    viewer = authenticate(tx, token, Right.READ)
    viewer.refuse_without(Right.RUN_SALE)
    sale = get_one(tx, gid, staff=True)
    offered = [(one.lot, one.auction) for one in lots.offered(tx, sale.id) if one.auction is not None]
    paddles = [(one.paddle, one.standing.value) for one in participants.with_paddles(tx, sale.id) if one.paddle]
    return Sheet(
        sale=sale.gid,
        title=sale.terms.title,
        status=sale.status,
        user=viewer.username,
        may_reopen=Right.REOPEN_LOTS in viewer.rights,
        called=next((lot.label for lot, _ in offered if lot.gid == sale.block), None),
        lots=[sheet_lot(lot, auction) for lot, auction in offered],
        paddles=paddles,
    )


def enter(tx: Transaction, token: str, gid: str, line: ResultLine, key: IdempotencyKey | None = None) -> bytes:
    """Enter the result of lots, and return their JSON; a result that they have already changes nothing.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot, UnknownPaddle, LotOnBlock,
    WithdrawnAlready, AlreadyDecided, Invalid, as `block.refuse_unless_live`, `lots.put_in` and `domain.results.decide` do, and
    the reasons why the bidder may not bid or not that much.
    """
    staff, sale = lock_as(tx, token, gid, Right.RUN_SALE)

    def do() -> bytes:
        _refuse_unless_free(tx, sale)
        if line.name is None:
            after, found = sale, _lots(tx, sale, line.labels)
        else:
            new = NewLot(terms=LotTerms(name=line.name, starting_price=line.price or Decimal(1)))
            found = put_in(tx, staff, sale, [new], ())
            after = sales.get(tx, gid) or sale
        after, before = _decided(tx, staff, after, found, line)
        facts = {"lots": ", ".join(lot.label for lot in found), "paddle": line.paddle, "name": line.name}
        price = None if line.price is None else str(line.price)
        said = {name: value for name, value in {**facts, "price": price}.items() if value is not None}
        audit.note(tx, staff, Act.RESULT_ENTERED, gid, before, said, line.reason)
        return _view(tx, after, found)

    return once(tx, staff, key, do)


def take_back(tx: Transaction, token: str, gid: str, line: ResultLine, key: IdempotencyKey | None = None) -> bytes:
    """Take back the results of lots, which are open again, and return their JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot, LotOnBlock, ResultChanged, Invalid, as
    `block.refuse_unless_live` and as `domain.results.take_back`.
    """
    staff, sale = lock_as(tx, token, gid, Right.RUN_SALE)

    def do() -> bytes:
        _refuse_unless_free(tx, sale)
        found = _lots(tx, sale, line.labels)
        locked = lots.lock_auctions(tx, found)
        for lot, seen in zip(found, line.seen, strict=True):
            rules.refuse_if_changed(lot, locked[lot.gid], seen)
        _refuse_to_reopen(staff, sale, found, line.reason)
        refuse_if_gone(tx, found)
        before = _noted(found, locked)
        told: list[SaleEvent] = []
        for lot in found:
            log = event_log.read(tx, locked[lot.gid].id)
            opened, said = _taken_back(tx, lot, locked[lot.gid], line.reason)
            told += said
            if opened.leader is None and rules.made_on_the_spot(log):
                told.append(_withdrawn(tx, lot, opened, line.reason or rules.NO_LOT))
        after = sales.record(tx, sale, told)
        audit.note(tx, staff, Act.RESULT_TAKEN_BACK, gid, before, {"lots": ", ".join(line.labels)}, line.reason)
        return _view(tx, after, _lots(tx, after, line.labels))

    return once(tx, staff, key, do)


class Handover(Struct, frozen=True):
    """A lot that goes to a paddle, or is passed without one, and why.

    One that was sold keeps its price; one that was not goes at the price at which it was `offered`.
    """

    label: str
    paddle: int | None
    reason: str
    offered: Decimal | None = None


def hand_over(tx: Transaction, by: Holder, sale: Sale, to: Handover) -> Sale:
    """Give a lot of a locked sale to a paddle, or pass it without one; return the sale after that.

    A bid that stands against it is retracted: that of the first buyer, or of somebody below them. A bid by telephone stays one,
    as its paddle was misread.

    The sale may have closed. The caller has refused those without the right, and notes the act. Raises UnknownLot,
    UnknownPaddle, LotOnBlock, as `block.refuse_to_correct`, `domain.results.take_back` and `decide` do, and the reasons why
    the bidder may not.
    """
    block.refuse_to_correct(sale)
    _refuse_if_on_block(tx, sale)
    found = _lots(tx, sale, [to.label])
    [auction] = lots.lock_auctions(tx, found).values()
    price = None if to.paddle is None else auction.current_bid
    channel = Channel.FLOOR
    if to.offered is not None:
        price = to.offered
    elif BidBook(event_log.read(tx, auction.id)).leading_channel() is Channel.PHONE:
        channel = Channel.PHONE
    line = ResultLine(
        labels=[to.label],
        price=price,
        paddle=to.paddle,
        channel=channel,
        is_sure=True,
        seen=[auction.tag],
        reason=to.reason,
    )
    return _decided(tx, by, sale, found, line, is_allowed=True)[0]


def refuse_to_sell_after(tx: Transaction, sale: Sale, label: str, paddle: int, price: Decimal) -> None:
    """Raise why a lot of a locked sale that was not sold could not go to a paddle at a price, as `hand_over` would."""
    block.refuse_to_correct(sale)
    _refuse_if_on_block(tx, sale)
    [lot] = _lots(tx, sale, [label])
    [auction] = lots.lock_auctions(tx, [lot]).values()
    log, now = event_log.read(tx, auction.id), tx.now()
    with _named(lot):
        back = rules.take_back(auction, log, now)
        opened = auction.after_all(back)
        bidder = with_paddle(tx, auction, paddle)
        result = Result(price=price, bidder=bidder, is_sure=True, against=opened.maximum)
        rules.decide(lot, opened, [*log, *back], result, now)


def _decided(
    tx: Transaction, staff: Holder, sale: Sale, found: Sequence[Lot], line: ResultLine, *, is_allowed: bool = False
) -> tuple[Sale, Mapping[str, str]]:
    """Record the result of each lot; return the sale after them, and what the replaced results were, for the audit log.

    `is_allowed` tells that the caller has decided for those who may: results are replaced, and bids against them retracted.
    """
    locked = lots.lock_auctions(tx, found)
    result = _result(tx, next(iter(locked.values()), None), line)
    seen = dict(zip((lot.gid for lot in found), line.seen, strict=False))
    due = [lot for lot in found if not rules.stands(locked[lot.gid], result)]
    for lot in due:
        refuse_if_withdrawn(lot)
        rules.refuse_if_decided(lot, locked[lot.gid], seen.get(lot.gid))
    replaced = [lot for lot in due if locked[lot.gid].over]
    if replaced and not is_allowed:
        _refuse_to_reopen(staff, sale, replaced, line.reason)
    refuse_if_gone(tx, replaced)
    before = _noted(replaced, locked)
    told: list[SaleEvent] = []
    for lot in replaced:
        locked[lot.gid], said = _taken_back(tx, lot, locked[lot.gid], line.reason)
        told += said
    # The bidder's exposure is read here: without the results that were taken back, and with each lot of this line.
    admission = _Admission(tx, [locked[lot.gid] for lot in due], result.bidder)
    for lot in due:
        auction = locked[lot.gid]
        with _named(lot), of_a_paddle():
            against = auction.maximum if is_allowed else result.against
            one = msgspec.structs.replace(result, bidder=admission.known_as(auction), against=against)
            log = event_log.read(tx, auction.id)
            # A lot that the line makes is called in the instant in which it is made: by that it is known later.
            now = tx.now() if line.name is None else log[0].at
            events = rules.decide(lot, auction, log, one, now)
            admission.take(auction, line.price, auction.after_all(events))
        told += block.called(_after(sale, told), None, lot, tx.now())
        told += block.moved(lot, auction.after_all(events[:-1]), _recorded(tx, auction, events), tx.now())
    return sales.record(tx, sale, told), before


class _Admission:
    """The bidder of a line, as each of its lots shows them; nobody if its lots are passed."""

    def __init__(self, tx: Transaction, found: Sequence[Auction], bidder: Party | None) -> None:
        self._bidder = bidder
        self._of_lots = Bidders(tx, found, lambda: [] if bidder is None else [(lot, bidder) for lot in found])

    def known_as(self, auction: Auction) -> Party | None:
        return None if self._bidder is None else self._of_lots.known_as(auction, self._bidder)

    def take(self, auction: Auction, price: Decimal | None, after: Auction) -> None:
        if self._bidder is not None and price is not None:
            self._of_lots.take(auction, self._bidder, price, after)


def _taken_back(tx: Transaction, lot: Lot, auction: Auction, reason: str) -> tuple[Auction, list[SaleEvent]]:
    with _named(lot):
        events = rules.take_back(auction, event_log.read(tx, auction.id), tx.now())
    after = _recorded(tx, auction, events)
    event_log.LOG.resume_retention(tx, after.id)  # it is open again, so brokers go on to retain its state
    return after, block.moved(lot, auction, after, tx.now(), reason)


def _withdrawn(tx: Transaction, lot: Lot, auction: Auction, reason: str) -> SaleEvent:
    """Withdraw a lot that its result has made: without that there is nothing to bid on."""
    advance(tx, auction, moderation.cancel(auction, reason, tx.now()))
    lots.save(tx, [msgspec.structs.replace(lot, withdrawn_for=reason)])
    return LotWithdrawn(at=tx.now(), lot=lot.gid, label=lot.label, reason=reason)


@contextmanager
def _named(lot: Lot) -> Iterator[None]:
    """Have a refusal name the lot of the line that it is about."""
    try:
        yield
    except Refusal as refused:
        refused.facts.setdefault("label", lot.label)
        raise


def _recorded(tx: Transaction, auction: Auction, events: Sequence[Event]) -> Auction:
    after = advance(tx, auction, events)
    bids.mark(tx, after.id, BidBook(event_log.read(tx, after.id)).marks())
    return after


def _after(sale: Sale, events: Sequence[SaleEvent]) -> Sale:
    for event in events:
        sale = sale.after(event)
    return sale


def _refuse_unless_free(tx: Transaction, sale: Sale) -> None:
    """Raise as `block.refuse_unless_live`, or LotOnBlock while a clerk sells a lot: the block is one at a time."""
    block.refuse_unless_live(sale)
    _refuse_if_on_block(tx, sale)


def _refuse_if_on_block(tx: Transaction, sale: Sale) -> None:
    last = None if sale.block is None else auctions.get(tx, sale.block) or lots.by_gid(tx, sale.id, sale.block)
    if last is not None and last.block is not None:
        raise LotOnBlock(lot=last.gid)


def _refuse_to_reopen(staff: Holder, sale: Sale, found: Sequence[Lot], reason: str) -> None:
    """Raise MissingRight or Invalid unless the results of these lots may be taken back.

    That of the lot that was called last needs no more than an undoing on the block.
    """
    if [lot.gid for lot in found] == [sale.block]:
        return
    staff.refuse_without(Right.REOPEN_LOTS)
    if not reason:
        raise Invalid.one("reason", "required_to_reopen", "is needed to take back the result of a lot")


def _lots(tx: Transaction, sale: Sale, labels: Sequence[str]) -> list[Lot]:
    found = []
    for label in labels:
        lot = lots.find(tx, sale.id, label)
        if lot is None:
            raise UnknownLot(f"There is no lot {label} in the sale.", label=label)
        if lot.need is not None:
            raise OfAuctions(label=label)
        found.append(lot)
    return found


def _result(tx: Transaction, auction: Auction | None, line: ResultLine) -> Result:
    """Return what a line says of its lots, of which `auction` is one."""
    bidder = None if line.paddle is None or auction is None else with_paddle(tx, auction, line.paddle)
    return Result(
        price=line.price,
        bidder=bidder,
        channel=line.channel,
        below=line.below,
        is_sure=line.is_sure,
        against=line.against,
    )


def _noted(found: Sequence[Lot], locked: Mapping[str, Auction]) -> Mapping[str, str]:
    """Return what the audit log says of results, by lot: no names of users stand there."""
    said = {}
    for lot in found:
        one = locked[lot.gid]
        sold = not one.unsold and one.leader is not None
        said[f"lot {lot.label}"] = (
            f"{one.outcome} {one.current_bid}, user {one.leader.id}" if sold and one.leader else "passed"
        )
    return said


def _view(tx: Transaction, sale: Sale, found: Sequence[Lot]) -> bytes:
    shown = lots.with_auctions(tx, found)
    ready = [sheet_lot(one.lot, one.auction) for one in shown if one.auction is not None]
    return _encode(result_view(sale, ready, lots.count_running(tx, sale.id)))
