"""The bids of one user become those of another who is the same person, as rows.

No name changes: it is the one by which the sale shows them. The hash chain covers names and no numbers of users, so that the
ledger stays what it was to the last byte.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from sqlalchemy import bindparam, case, select, update

from saleroom.bidding.domain.block_events import ActUndone, BidderNamed
from saleroom.bidding.domain.events import BidPlaced, BidVoided
from saleroom.bidding.storage.bidder_names import named_on
from saleroom.bidding.storage.tables import auctions, bids, events
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction

_NUMBERS = ("bidderId", "leaderId")
"""The members of private parts of events that are numbers of bidders."""


def lots_with_bids(tx: Transaction, sale_id: int, user_id: int) -> list[str]:
    """Return the gids of the lots of a sale on which a user has bid, or was named as the bidder of a bid of the floor."""
    found = select(auctions.c.gid).join(bids, bids.c.auction_id == auctions.c.id).distinct()
    mine = (auctions.c.sale_id == sale_id, bids.c.bidder_id == user_id)
    return sorted({*tx.execute(found.where(*mine)).scalars(), *named_on(tx, sale_id, user_id)})


def move(tx: Transaction, auction_ids: Collection[int], source: int, target: int) -> None:
    """Give the bids of the user `source` on these auctions, which are locked, to the user `target`, who has none there."""
    there = among(tx, bids.c.auction_id, auction_ids)
    tx.execute(update(bids).where(there, bids.c.bidder_id == source).values(bidder_id=target))
    # Processes must forget these lots, as after an erasure.
    leader = case((auctions.c.current_bidder_id == source, target), else_=auctions.c.current_bidder_id)
    values = {"current_bidder_id": leader, "renamed": auctions.c.renamed + 1}
    tx.execute(update(auctions).where(among(tx, auctions.c.id, auction_ids)).values(values))
    kinds = events.c.type.in_([BidPlaced.TYPE, BidVoided.TYPE, BidderNamed.TYPE, ActUndone.TYPE])
    logged = select(events.c.id, events.c.private).where(among(tx, events.c.auction_id, auction_ids), kinds)
    changed = [
        {"number": row.id, "moved": msgspec.json.encode(_with_target(private, source, target))}
        for row in tx.execute(logged)
        if source in (private := msgspec.json.decode(row.private)).values()
    ]
    if changed:
        tx.execute(update(events).where(events.c.id == bindparam("number")).values(private=bindparam("moved")), changed)


def _with_target(private: dict[str, Any], source: int, target: int) -> dict[str, Any]:
    return {name: target if name in _NUMBERS and value == source else value for name, value in private.items()}
