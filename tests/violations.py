"""Violations of the rules, counted from the rows of a database, whatever a house has answered."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec import structs
from sqlalchemy import Row, select

from saleroom.bidding.domain.auction import begin
from saleroom.bidding.domain.block_events import AuctionCalled
from saleroom.bidding.domain.events import AuctionCreated, BidPlaced, Event
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.storage import auctions as auction_rows
from saleroom.bidding.storage import event_log
from saleroom.bidding.storage.tables import auctions, bids, events
from saleroom.storage.database import Transaction


def violations(tx: Transaction) -> list[str]:
    """Return every violation of the rules that the rows show, each with its auction; a sound database has none."""
    rows = tx.execute(select(auctions).order_by(auctions.c.id)).all()
    return [f"{row.gid}: {fault}" for row in rows for fault in _of_auction(tx, row)]


def _of_auction(tx: Transaction, row: Row[Any]) -> Iterator[str]:
    history = tx.execute(select(bids).where(bids.c.auction_id == row.id).order_by(bids.c.number)).all()
    logged = tx.execute(select(events).where(events.c.auction_id == row.id).order_by(events.c.position)).all()
    if list(range(1, row.bid_count + 1)) != [bid.number for bid in history]:
        yield f"of {row.bid_count} bids there are {[bid.number for bid in history]}"
    if list(range(1, row.position + 1)) != [event.position for event in logged]:
        yield f"of {row.position} events there are {[event.position for event in logged]}"
    versions = [event.version for event in logged if event.version is not None]
    if list(range(1, row.version + 1)) != versions:
        yield f"of {row.version} versions there are {versions}"
    if all(event.type != AuctionCalled.TYPE for event in logged):
        # On the block asks may fall, and the floor's bidders are named later; the rules decide all of that again in the log.
        yield from _of_history(row, history)
    yield from _of_log(tx, row, history)


def _of_history(row: Row[Any], history: Sequence[Row[Any]]) -> Iterator[str]:
    standing = {bid.bidder_id for bid in history if bid.voided is None and not bid.automatic}
    if len([bid for bid in history if bid.voided is None]) < len(history):
        # After a void, prices are below the amounts that were recorded before it.
        if row.current_bidder_id not in (standing or {None}):
            yield f"{row.current_bidder_id} leads, and only bids of {standing} stand"
        return
    for earlier, later in pairwise(history):
        # Where a bid meets the leader's maximum exactly, the leader's automatic bid stands first, at the same amount.
        if later.amount < earlier.amount or (later.amount == earlier.amount and not earlier.automatic):
            yield f"bid {later.number} of {later.amount} does not rise above {earlier.amount}"
    best = max(history, key=lambda bid: bid.amount, default=None)  # of equal ones the first
    leader = None if best is None else best.bidder_id
    if row.current_bidder_id != leader:
        yield f"{row.current_bidder_id} leads, and {leader} has bid most"
    if row.reserve_price is None and row.current_bid != (None if best is None else best.amount):
        yield f"the price is {row.current_bid}, and the highest bid {None if best is None else best.amount}"


def _of_log(tx: Transaction, row: Row[Any], history: Sequence[Row[Any]]) -> Iterator[str]:
    first, *rest = event_log.read(tx, row.id)
    if not isinstance(first, AuctionCreated):
        yield f"the log begins with {first.TYPE}"
        return
    state = begin(row.id, first)
    for event in rest:
        if isinstance(event, BidPlaced) and state.ends_at is not None and event.at >= state.ends_at:
            yield f"a bid at {event.at}, and the end was at {state.ends_at}"
        state = state.after(event)
    stored = auction_rows.get(tx, row.gid)
    if stored is not None:  # what is beside the log
        hidden = None if stored.withheld else stored.taken_down
        stored = structs.replace(stored, taken_down=hidden, withheld=False, renamed=0, sale_id=None)
    if stored != replay(row.id, [first, *rest]):
        yield "the log does not give the stored auction"
    told = [_facts(event) for event in rest if isinstance(event, BidPlaced)]
    if [(b.bidder_id, b.amount, b.maximum, b.automatic, b.placed_at) for b in history] != told:
        yield "the bids are not those of the log"


def _facts(event: Event) -> tuple[Any, ...]:
    assert isinstance(event, BidPlaced)
    return event.bidder_id, event.amount, event.maximum, event.automatic, event.at
