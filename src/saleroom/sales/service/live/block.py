"""The block of a live sale: shown to anyone, and the acts of its clerk, each in one transaction.

An act locks the sale and then the lot, and rests on the state that its sender has seen: of two clerks, the second is told what
the first has done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from saleroom.accounts.domain import audit as audit_words
from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain import bidding, calling, selling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.events import Event
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.service.recording import advance, record, steps
from saleroom.bidding.storage import auctions, bids, event_log
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.money import ZERO
from saleroom.kernel.parties import Party
from saleroom.sales.domain import block
from saleroom.sales.domain.block import Act, BlockAct, CalledLot
from saleroom.sales.domain.block_views import BlockView
from saleroom.sales.domain.errors import NoLotLeft, NoLotOnBlock, OfAuctions, OfNeeds
from saleroom.sales.domain.lots import Lot, refuse_if_withdrawn
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service import clocks, needs
from saleroom.sales.service.access import get_lot, get_one, is_staff, lock_as, refuse_if_gone, viewer_of
from saleroom.sales.service.floor import floor
from saleroom.sales.service.people.paddles import admitted, of_a_paddle, with_paddle
from saleroom.sales.service.reading import shown_as
from saleroom.sales.storage import lots, sales
from saleroom.storage.database import Transaction

NEXT_LOTS = 5
"""How many lots the block shows beside its own."""
_encode = msgspec.json.Encoder().encode


def shown(tx: Transaction, token: str | None, gid: str) -> BlockView:
    """Return the block of a sale as the caller may see it. Raises Unauthenticated or UnknownSale."""
    viewer = viewer_of(tx, token)
    return _view(tx, viewer, get_one(tx, gid, staff=is_staff(viewer)))


def act(tx: Transaction, token: str, gid: str, asked: BlockAct, key: IdempotencyKey | None = None) -> bytes:
    """Do what a clerk asks for, and return the JSON of the block afterwards.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot, UnknownPaddle, NoLotLeft, NoLotOnBlock,
    and as `domain.block`, `domain.clocks`, `bidding.domain.calling` and `bidding.domain.bidding.place_bid` do.
    """
    right = Right.REOPEN_LOTS if asked.act in block.OF_A_LOT else Right.RUN_SALE
    staff, sale = lock_as(tx, token, gid, right)

    def do() -> bytes:
        if asked.act in _CLOCKS:
            return _encode(_view(tx, staff, _turn(tx, staff, sale, asked)))
        if asked.act is not Act.DECIDE or not sale.over:
            block.refuse_unless_live(sale)
        after = _OTHERS.get(asked.act, _on_lot)(tx, sale, asked)
        audit.note(tx, staff, audit_words.Act.BLOCK_ACTED, gid, {}, _facts(asked))
        return _encode(_view(tx, staff, after))

    return once(tx, staff, key, do)


def _turn(tx: Transaction, staff: Holder, sale: Sale, asked: BlockAct) -> Sale:
    """Pause the sale, or let it go on, and note it as from the page of the sale."""
    block.refuse_unless_public(sale)
    if asked.act not in block.UNSEEN:
        block.refuse_unless_seen(_last(tx, sale), asked.seen)
    turn, noted = _CLOCKS[asked.act]
    after = turn(tx, sale)
    clocks.note(tx, staff, noted, sale, after)
    return after


def _call(tx: Transaction, sale: Sale, asked: BlockAct) -> Sale:
    last = _last(tx, sale)
    block.refuse_unless_seen(last, asked.seen)
    if asked.label is not None:
        lot = get_lot(tx, sale, asked.label)
    else:
        after = None if sale.block is None else lots.by_gid(tx, sale.id, sale.block)
        waiting = lots.to_be_called(tx, sale.id, 0 if after is None else after.rank, 2)
        found = next((one for one in waiting if last is None or last.block is None or one.gid != last.gid), None)
        if found is None:
            raise NoLotLeft
        lot = found
    now = tx.now()
    events = block.called(sale, last, lot, now)
    refuse_if_withdrawn(lot)
    if lot.need is not None:
        return needs.call(tx, sale, lot, events)
    auction = _lock(tx, lot)
    advance(tx, auction, calling.call(auction, now))
    return sales.record(tx, sale, events)


def _reopen(tx: Transaction, sale: Sale, asked: BlockAct) -> Sale:
    lot = get_lot(tx, sale, asked.label or "")
    if lot.need is not None:
        return needs.reopen(tx, sale, lot, asked.reason)
    refuse_if_gone(tx, [lot])
    return of_a_lot(
        tx, sale, asked.label, lambda auction: calling.reopen(auction, asked.reason, tx.now()), asked.reason
    )


def _decide(tx: Transaction, sale: Sale, asked: BlockAct) -> Sale:
    return of_a_lot(tx, sale, asked.label, lambda auction: calling.decide(auction, tx.now(), accepted=asked.accepted))


def of_a_lot(
    tx: Transaction, sale: Sale, label: str | None, decide: Callable[[Auction], list[Event]], reason: str = ""
) -> Sale:
    """Do what `decide` says to a lot of the locked sale after its hammer. Raises UnknownLot, OfAuctions or NoLotLeft."""
    lot = get_lot(tx, sale, label or "")
    if lot.need is not None:
        raise OfAuctions
    auction = _lock(tx, lot)
    after = advance(tx, auction, decide(auction))
    _keep_state(tx, auction, after)
    # The log of a sale that is over has ended; the lot's own goes on.
    return sale if sale.over else sales.record(tx, sale, block.moved(lot, auction, after, tx.now(), reason))


def _end(tx: Transaction, sale: Sale, asked: BlockAct) -> Sale:
    last = _last(tx, sale)
    block.refuse_unless_seen(last, asked.seen)
    running = lots.running(tx, sale.id)
    locked = lots.lock_auctions(tx, running)
    now = tx.now()
    events = block.ended(sale, last, [(lot, locked[lot.gid]) for lot in running if lot.need is None], now)
    events = [*needs.end(tx, [lot for lot in running if lot.need is not None]), *events]
    record(tx, [step for one in locked.values() for step in steps(one, _unsold(one, now))])
    return sales.record(tx, sale, events)


def _unsold(auction: Auction, now: datetime) -> list[Event]:
    """Return the end of a lot without bids with its sale. One that is hidden is cancelled, as if the clock had ended it."""
    finish = selling.cancel if auction.is_hidden else selling.close_now
    return finish(auction, auction.author, now)


def _on_lot(tx: Transaction, sale: Sale, asked: BlockAct) -> Sale:
    lot = None if sale.block is None else lots.by_gid(tx, sale.id, sale.block)
    if lot is None:
        raise NoLotOnBlock
    if asked.act is Act.UNDO_PLEDGE and asked.label is not None:
        lot = get_lot(tx, sale, asked.label)
    if asked.act in (Act.BID, Act.PLEDGE) and asked.label is not None:
        block.refuse_another_lot(_last(tx, sale), get_lot(tx, sale, asked.label))
    if lot.need is not None:
        return needs.act(tx, sale, lot, asked)
    if asked.act in needs.ON_NEED:
        raise OfNeeds
    auction = _lock(tx, lot)
    if asked.act not in block.UNSEEN:
        block.refuse_unless_seen(auction, asked.seen)
    if asked.act is Act.UNDO and auction.over:
        refuse_if_gone(tx, [lot])
    after = advance(tx, auction, _decision(tx, auction, asked))
    if asked.act in (Act.UNDO, Act.RETRACT):
        bids.mark(tx, auction.id, BidBook(event_log.read(tx, auction.id)).marks())
        _keep_state(tx, auction, after)
    return sales.record(tx, sale, block.moved(lot, auction, after, tx.now()))


def _decision(tx: Transaction, auction: Auction, asked: BlockAct) -> list[Event]:
    """Return what an act does to the lot that was called last."""
    now = tx.now()
    match asked.act:
        case Act.BID:
            return _bid(tx, auction, asked)
        case Act.NAME:
            return _name(tx, auction, asked)
        case Act.RETRACT:
            return calling.retract(auction, _book(tx, auction), _retracting(tx, auction, asked), now)
        case Act.UNDO:
            return calling.undo(auction, event_log.read(tx, auction.id), now)
        case Act.ASK:
            return calling.ask(auction, asked.amount or ZERO, now)
    return _SIMPLE[asked.act](auction, now)


@of_a_paddle()
def _bid(tx: Transaction, auction: Auction, asked: BlockAct) -> list[Event]:
    now = tx.now()
    calling.refuse_off_block(auction, now)
    request = BidRequest(asked.amount, None, channel=asked.channel)
    if asked.paddle is None:
        return bidding.place_bid(auction, floor(tx), request, now)
    of_lot, party = admitted(tx, auction, asked.paddle)
    made = bidding.place_bid(auction, party, request, now)
    of_lot.take(auction, party, request.limit, auction.after_all(made))
    return made


@of_a_paddle()
def _name(tx: Transaction, auction: Auction, asked: BlockAct) -> list[Event]:
    calling.refuse_off_block(auction, tx.now())
    of_lot, party = admitted(tx, auction, asked.paddle or 0)
    made = calling.name_bidder(auction, _book(tx, auction), party, tx.now())
    of_lot.take(auction, party, auction.maximum or ZERO, auction.after_all(made))
    return made


def _retracting(tx: Transaction, auction: Auction, asked: BlockAct) -> Party:
    """Return the bidder who takes a bid back: the one with the paddle, without a paddle the leader."""
    if asked.paddle is not None:
        return with_paddle(tx, auction, asked.paddle)
    return auction.leader or Party(0, "")


def _book(tx: Transaction, auction: Auction) -> BidBook:
    return BidBook(event_log.read(tx, auction.id))


def _last(tx: Transaction, sale: Sale) -> CalledLot | None:
    """Return what was called last, not locked: only acts on the locked sale take it off the block."""
    return None if sale.block is None else auctions.get(tx, sale.block) or lots.by_gid(tx, sale.id, sale.block)


def _lock(tx: Transaction, lot: Lot) -> Auction:
    if lot.auction_id is None:
        raise NoLotLeft
    return auctions.lock(tx, [lot.gid])[lot.gid]


def _keep_state(tx: Transaction, before: Auction, after: Auction) -> None:
    """Have brokers go on to retain the state of a lot that is open again."""
    if before.over and not after.over:
        event_log.LOG.resume_retention(tx, after.id)


def _view(tx: Transaction, viewer: Holder | None, sale: Sale) -> BlockView:
    last = None if sale.block is None else lots.by_gid(tx, sale.id, sale.block)
    waiting = lots.to_be_called(tx, sale.id, 0 if last is None else last.rank, NEXT_LOTS + 1) if sale.is_public else []
    # The lot and its tag are read together: the hammer may fall between two statements.
    at_head, rest = [] if last is None else lots.with_auctions(tx, [last]), lots.with_auctions(tx, waiting)
    called: CalledLot | None = last
    if last is not None and last.need is None:
        called = at_head[0].auction
    on_block = called is not None and called.block is not None
    is_counted = on_block and not (isinstance(called, Auction) and called.is_hidden)
    following = [one for one in rest if not (on_block and last is not None and one.lot.gid == last.gid)][:NEXT_LOTS]
    shown_lots = shown_as(tx, viewer, [*at_head, *following])
    first = shown_lots[0] if last is not None else None
    return BlockView(
        sale=sale.gid,
        status=sale.status,
        tag=block.tag(called),
        on_block=first if on_block else None,
        last_lot=None if on_block else first,
        next_lots=shown_lots[0 if last is None else 1 :],
        lots_left=(lots.count_to_be_called(tx, sale.id) if sale.is_public else 0) - is_counted,
    )


def _facts(asked: BlockAct) -> Mapping[str, str | int | bool | None]:
    """Return what the audit log says of an act."""
    told = {"act": asked.act.value, "lot": asked.label, "paddle": asked.paddle, "pledge": asked.pledge}
    amount = None if asked.amount is None else str(asked.amount)
    facts = {**told, "amount": amount, "reason": asked.reason or None}
    return {name: value for name, value in facts.items() if value is not None}


_OTHERS: Mapping[Act, Callable[[Transaction, Sale, BlockAct], Sale]] = {
    Act.CALL: _call,
    Act.REOPEN: _reopen,
    Act.DECIDE: _decide,
    Act.END: _end,
}
_CLOCKS = {
    Act.PAUSE: (clocks.stop, audit_words.Act.SALE_PAUSED),
    Act.RESUME: (clocks.go_on, audit_words.Act.SALE_RESUMED),
}
_SIMPLE = {
    Act.WARN: calling.warn,
    Act.SELL: calling.sell,
    Act.SELL_CONDITIONALLY: calling.sell_conditionally,
    Act.PASS: calling.pass_,
    Act.SKIP: calling.skip,
}
