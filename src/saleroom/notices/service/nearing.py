"""Nearing: which lots of live sales are called soon, and who wants to know."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from saleroom.bidding.domain.block_events import AuctionCalled
from saleroom.notices.domain.causes import Due, Entry
from saleroom.notices.domain.kinds import LOTS_AWAY
from saleroom.notices.storage import causes
from saleroom.sales.storage import lots
from saleroom.storage.database import Transaction


def near_due(tx: Transaction, entries: Sequence[Entry]) -> list[Due]:
    """Return the words that lots are called soon, which follow from the calls of others among these events of the log.

    Nobody hears of a lot twice, though it is skipped and comes near again.
    """
    calls = {one.auction_id: one for one in entries if isinstance(one.event, AuctionCalled)}
    called = lots.of_auctions(tx, calls)
    last = {called[number].sale_id: call for number, call in calls.items() if number in called}
    found: list[Due] = []
    for sale_id, call in last.items():
        here = called[call.auction_id]
        waiting = lots.to_be_called(tx, sale_id, here.rank, LOTS_AWAY + 1)
        near = {
            one.auction_id: one for one in waiting if one.auction_id is not None and one.auction_id != here.auction_id
        }
        sellers = causes.sellers(tx, near) if near else {}
        for number, lot in list(near.items())[:LOTS_AWAY]:
            word = Due(
                kind="near",
                number=call.number,
                auction_id=number,
                gid=lot.gid,
                at=call.event.at,
                receiver=None,
                without=frozenset((sellers[number],)),
                watchers=True,
                key=str(number),
            )
            found += [structs.replace(word, receiver=sellers[number], without=frozenset(), watchers=False), word]
    return found
