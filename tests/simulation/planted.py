"""Faults as people make them, each planted from outside into the code of the house: the simulator has to find every one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from msgspec import structs

from saleroom.accounts.storage import accounts, idempotency
from saleroom.bidding.domain import auction as auctions_as_values
from saleroom.bidding.domain import bidding, closing, pausing, voiding
from saleroom.bidding.domain.errors import AuctionOver
from saleroom.bidding.domain.events import AuctionHidden
from saleroom.bidding.service import bidding as use_cases
from saleroom.bidding.service import closing as closer
from saleroom.bidding.service import desk, moderation, recording
from saleroom.bidding.storage import auctions
from saleroom.bidding.storage import bids as bid_rows
from saleroom.log.store import LoggedEvent
from saleroom.mqtt import outbox
from saleroom.storage import batching
from tests.simulation.world import PROCESS

_FINDERS: dict[str, int] = {}
PLANTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {}
"""By name: each plants its fault for as long as its context lasts."""

SEARCHED = 18
"""How many seeds are tried for each planted fault, and in each run of the tests."""
SHORT = 24
"""A seed with few entries: if it fails, it is shrunk in half the time of others."""


def plant(seed: int) -> Callable[[Callable[[], Any]], Callable[[], AbstractContextManager[Any]]]:
    """Add a plant, under its docstring's first line. This seed is known to find it, and is tried first."""

    def add(make: Callable[[], Any]) -> Callable[[], AbstractContextManager[Any]]:
        planted: Callable[[], AbstractContextManager[Any]] = make
        name = (make.__doc__ or "").strip().rstrip(".")
        PLANTS[name], _FINDERS[name] = planted, seed
        return planted

    return add


def searched(name: str, until: int = SEARCHED) -> list[int]:
    """Return the seeds in which a fault is searched, the one that is known to find it first."""
    return sorted({*range(1, until + 1), _FINDERS[name]}, key=lambda seed: (seed != _FINDERS[name], seed))


@plant(3)
@contextmanager
def published_before_commit() -> Iterator[None]:
    """Events are handed to readers before their commit."""
    record = recording.record

    def early(tx: Any, taken: Any) -> None:
        record(tx, taken)
        process = PROCESS.get()
        for auction, event, entry in taken:
            last = event.TYPE in ("auction.closed", "auction.cancelled")
            for follower in process.feed._by_gid.get(auction.gid, ()) if entry.payload else ():
                follower.push([LoggedEvent(0, auction.gid, auction.version, entry.payload, last)])

    with patch.object(use_cases, "record", early):
        yield


@plant(10)
@contextmanager
def late_by_an_instant() -> Iterator[None]:
    """A bid at the very end is taken: `>` instead of `>=`."""

    def refuse_if_over(auction: Any, now: Any, received_at: Any = None) -> None:
        if auction.over or (auction.ends_at is not None and now > auction.ends_at):
            raise AuctionOver(ends_at=auction.ends_at)

    with patch.object(bidding, "refuse_if_over", refuse_if_over):
        yield


@plant(1)
@contextmanager
def stale_auction() -> Iterator[None]:
    """A locked auction is taken from memory, without a look at its position."""
    lock = auctions.lock

    def from_memory(tx: Any, gids: Any) -> Any:
        wanted = set(gids)
        known = {one.gid: one for one in list(tx.cache[auctions.AUCTIONS]._values.values()) if one.gid in wanted}
        return known | lock(tx, wanted - set(known))

    with patch.object(auctions, "lock", from_memory):
        yield


@plant(1)
@contextmanager
def cached_token() -> Iterator[None]:
    """A process that has seen a token goes on believing it."""
    read = accounts.holders_by_token

    def cached(tx: Any, digests: Any, now: Any) -> Any:
        seen = PROCESS.get().__dict__.setdefault("seen", {})
        seen.update(read(tx, digests, now))
        return {digest: seen[digest] for digest in digests if digest in seen}

    with patch.object(accounts, "holders_by_token", cached):
        yield


@plant(1)
def forgotten_key() -> Any:
    """An Idempotency-Key is not kept."""
    return patch.object(idempotency, "add", lambda tx, accepted, now: None)


@plant(7)
def key_for_anything() -> Any:
    """An Idempotency-Key answers for any request."""
    return patch.object(use_cases, "refuse_another", lambda accepted, key: None)


@plant(6)
@contextmanager
def equal_bid_leads() -> Iterator[None]:
    """A bid at the leader's limit takes the lead: `>=` instead of `>`."""
    held_off = bidding._held_off

    def overtaken(auction: Any, bidder: Any, request: Any, now: Any) -> Any:
        decide = bidding._outbid if request.limit == auction.maximum else held_off
        return decide(auction, bidder, request, now)

    with patch.object(bidding, "_held_off", overtaken):
        yield


@plant(6)
@contextmanager
def past_the_cap() -> Iterator[None]:
    """The soft close goes past its cap."""
    soft_close = bidding.soft_close

    def uncapped(auction: Any, now: Any) -> Any:
        rule = auction.soft_close and structs.replace(auction.soft_close, cap=None)
        return soft_close(structs.replace(auction, soft_close=rule), now)

    with patch.object(bidding, "soft_close", uncapped):
        yield


@plant(6)
@contextmanager
def raise_outlives_its_bid() -> Iterator[None]:
    """A raise outlives the bid whose limit it raised, if that bid is voided."""
    raised = voiding.BidBook._raised

    def apart(self: Any, event: Any) -> None:
        raised(self, event)
        self._accepted[-1] = structs.replace(self._accepted[-1], version=0)

    with patch.object(voiding.BidBook, "_raised", apart):
        yield


@plant(9)
@contextmanager
def void_of_a_rival_changes_nothing() -> Iterator[None]:
    """A void of a bid that does not lead leaves the price as it is."""
    void = voiding.void

    def only_the_leader(auction: Any, book: Any, version: int, reason: str, now: Any) -> Any:
        voided: Any
        voided, *more = void(auction, book, version, reason, now)
        if auction.leader is not None and voided.leader_id == auction.leader.id:
            voided = structs.replace(voided, current_bid=auction.current_bid, minimum_bid=auction.minimum_bid)
        return [voided, *more]

    with patch.object(voiding, "void", only_the_leader):
        yield


@plant(6)
def void_not_marked() -> Any:
    """A voided bid is not marked in the history."""
    return patch.object(bid_rows, "void", lambda tx, auction_id, numbers, reason: None)


@plant(1)
def hidden_lot_takes_bids() -> Any:
    """A hidden lot takes bids."""
    return patch.object(bidding, "refuse_if_taken_down", lambda auction: None)


@plant(1)
@contextmanager
def hidden_lot_is_sold() -> Iterator[None]:
    """A lot that ends while it is hidden is sold all the same."""
    settle = closing.settle

    def sold(auction: Any, now: Any) -> Any:
        return settle(structs.replace(auction, taken_down=None), now)

    with patch.object(closer, "settle", sold):
        yield


@plant(8)
@contextmanager
def hidden_after_its_end() -> Iterator[None]:
    """A lot that is over is hidden by an event, after the last line of its ledger."""

    def by_event(tx: Any, auction: Any, reason: str) -> Any:
        return recording.advance(tx, auction, [AuctionHidden(at=auction.not_before(tx.now()), hidden_for=reason)])

    with patch.object(moderation, "_withhold", by_event):
        yield


@plant(4)
def paused_lot_takes_bids() -> Any:
    """A lot takes bids while its clock stands still."""
    return patch.object(bidding, "refuse_if_paused", lambda auction: None)


@plant(7)
@contextmanager
def time_lost_in_a_pause() -> Iterator[None]:
    """A pause takes the time away that was left."""
    resume = pausing.resume

    def unmoved(auction: Any, now: Any) -> Any:
        return [structs.replace(event, ends_at=auction.ends_at) for event in resume(auction, now)]

    with patch.object(pausing, "resume", unmoved):
        yield


@plant(1)
@contextmanager
def answered_before_commit() -> Iterator[None]:
    """A bid is acknowledged before its commit."""
    take = desk.Desk._take
    batch: list[Any] = []

    def remember(self: desk.Desk) -> Any:
        batch[:] = take(self)
        return batch

    async def decide(self: desk.Desk, commands: Any) -> Any:
        @wraps(use_cases.place_bids)
        def hasty(tx: Any, commands: Any) -> Any:
            answers = use_cases.place_bids(tx, commands)
            batching.tell(batch, answers)
            return answers

        return await self._database.write(hasty, commands)

    with patch.object(desk.Desk, "_take", remember), patch.object(desk.Desk, "_decide", decide):
        yield


@plant(3)
@contextmanager
def marked_before_acknowledged() -> Iterator[None]:
    """The outbox marks what the broker has not acknowledged yet."""

    async def at_once(*messages: Any) -> None:
        for message in messages:
            message.add_done_callback(lambda done: done.cancelled() or done.exception())

    with patch.object(outbox, "acknowledged", at_once):
        yield


@plant(1)
@contextmanager
def closed_late() -> Iterator[None]:
    """The closer closes as of now, and not as of the auction's own end."""
    close = closing.close

    def settle(auction: Any, now: Any) -> Any:
        events = closing.open_if_due(auction, now)
        auction = auction.after_all(events)
        if auction.status == auctions_as_values.Status.OPEN and auction.ends_at is not None and now >= auction.ends_at:
            events.append(close(auction, now))
        return events

    with patch.object(closer, "settle", settle):
        yield


@plant(4)
@contextmanager
def outage_unnoticed() -> Iterator[None]:
    """What is due is closed before the outage is noticed."""
    settle_due = closer.settle_due

    @wraps(settle_due)
    def hasty(tx: Any, *, reopens: bool = True) -> Any:
        due = auctions.lock_due(tx, tx.now(), 1)
        return settle_due(tx, reopens=reopens and not due)

    with patch.object(closer, "settle_due", hasty):
        yield


@plant(12)
@contextmanager
def remembered_before_commit() -> Iterator[None]:
    """A process remembers an auction before its commit, and by its position alone."""
    save, resolve = auctions.save, auctions._resolve

    def early(tx: Any, changed: Any, events: Any) -> None:
        changed = list(changed)
        save(tx, changed, events)
        tx.cache[auctions.AUCTIONS].update({one.id: one for one in changed})

    def by_position(tx: Any, places: Any) -> Any:
        found = []
        for number, position, head, hidden, renamed in places:
            known = tx.cache[auctions.AUCTIONS].get(number)
            chain = known.chain if known is not None and known.position == position else None
            place = (head, hidden) if chain is None else (chain.head, chain.hidden)
            found += resolve(tx, [(number, position, *place, renamed)])
        return found

    with patch.object(auctions, "save", early), patch.object(auctions, "_resolve", by_position):
        yield


@plant(9)
@contextmanager
def states_not_repeated() -> Iterator[None]:
    """A broker that has lost its memory is not given the states again."""

    def done(self: Any, published: Any) -> None:
        self.done = True

    with patch.object(outbox._LostStates, "__init__", done):
        yield
